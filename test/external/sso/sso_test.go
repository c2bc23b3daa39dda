package sso

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// browser is a browser with cookies.
type browser struct {
	t *testing.T
	*http.Client
	gateway string
}

func newBrowser(t *testing.T, g *harness.Gateway) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return browser{t, &http.Client{Jar: jar, Transport: transport, Timeout: 20 * time.Second}, g.URL()}
}

// read returns the final address and the body of a response.
func (b browser) read(resp *http.Response, err error) (*url.URL, string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.Request.URL, string(body)
}

var formAction = regexp.MustCompile(`<form method="post" action="([^"]+)"`)

// signIn signs in with the form of Dex and returns the final address after all redirects.
func (b browser) signIn(password string) *url.URL {
	b.t.Helper()
	at, page := b.read(b.Get(b.gateway + "/api/v1/sso/sign-in?return=/settings/keys"))
	action := formAction.FindStringSubmatch(page)
	if action == nil {
		return at
	}
	target, err := at.Parse(strings.ReplaceAll(action[1], "&amp;", "&"))
	if err != nil {
		b.t.Fatal(err)
	}
	at, _ = b.read(b.PostForm(target.String(), url.Values{"login": {UserName}, "password": {password}}))
	return at
}

type session struct {
	Account    *struct{ ID, Email string }
	Workspaces []struct{ ID, Role string }
}

func (b browser) session() session {
	b.t.Helper()
	_, body := b.read(b.Get(b.gateway + "/api/v1/session"))
	var s session
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		b.t.Fatalf("decode the session: %v: %s", err, body)
	}
	return s
}

// post calls the admin API and returns the status and the body.
func (b browser) post(path, body string) (int, string) {
	b.t.Helper()
	resp, err := b.Post(b.gateway+"/api/v1"+path, "application/json", strings.NewReader(body))
	_, text := b.read(resp, err)
	return resp.StatusCode, text
}

// The gateway starts while Dex is down. A user signs in at Dex and creates a key. After the user's group is removed, the session, the
// membership and the key become invalid within a minute.
func TestSignInWithDex(t *testing.T) {
	t.Parallel()
	address, dexAddress := harness.FreeAddress(t), harness.FreeAddress(t)
	g := harness.Start(t, harness.Options{Listen: address, Config: fmt.Sprintf(`
sso:
  name: Dex
  issuer: http://%s/dex
  client_id: %s
  client_secret: %s
  scopes: [openid, email, profile, groups, offline_access]
  groups:
    - {name: platform, workspace: operator, role: developer}
  sign_in: sso_only
  recheck: 5s
`, dexAddress, ClientID, ClientSecret)})
	b := newBrowser(t, g)
	if at := b.signIn(Password); at.RequestURI() != "/sign-in?sso=provider_unavailable" {
		t.Errorf("sign-in without Dex ended at %s, want the sign-in page with provider_unavailable", at)
	}
	dex, err := Start(t.Context(), dexAddress, g.URL()+"/api/v1/sso/callback", "platform", "other")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dex.Stop)
	harness.Eventually(t, "the gateway finds Dex", func() bool { return b.signIn("wrong password").Path != "/sign-in" })
	if b.session().Account != nil {
		t.Fatal("signed in with a wrong password")
	}
	if at := b.signIn(Password); at.RequestURI() != "/settings/keys" {
		t.Fatalf("sign-in ended at %s, want /settings/keys", at)
	}
	s := b.session()
	if s.Account == nil || s.Account.Email != Email || len(s.Workspaces) != 1 || s.Workspaces[0].Role != "developer" {
		t.Fatalf("the session is %+v, want the account %s with one workspace as developer", s, Email)
	}
	status, body := b.post("/keys", `{"name":"agent","scopes":["inference"]}`)
	var made struct{ Secret string }
	if err := json.Unmarshal([]byte(body), &made); status != http.StatusCreated || err != nil {
		t.Fatalf("create a key: status %d, want 201 (%v): %s", status, err, body)
	}
	if a := g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models", Key: made.Secret}); a.Status != http.StatusOK {
		t.Fatalf("list models with the key: status %d, want 200: %s", a.Status, a.Body)
	}
	if status, body := b.post("/session", `{"email":"ann@example.com","password":"correct horse battery"}`); status != http.StatusForbidden {
		t.Errorf("sign in with a password and sso_only: status %d, want 403: %s", status, body)
	}

	second := newBrowser(t, g) // Dex invalidates the refresh token of the first sign-in
	if at := second.signIn(Password); at.RequestURI() != "/settings/keys" {
		t.Fatalf("sign-in of the second browser ended at %s, want /settings/keys", at)
	}
	harness.Eventually(t, "the gateway checks the user again", func() bool { return dex.Refreshed() >= 1 })
	if b.session().Account == nil || second.session().Account == nil {
		t.Fatal("a session ended although the group is unchanged")
	}

	dex.SetGroups("other")
	removed := time.Now()
	harness.Eventually(t, "the session ends", func() bool { return b.session().Account == nil })
	harness.Eventually(t, "the key is rejected", func() bool {
		return g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models", Key: made.Secret}).Status == http.StatusUnauthorized
	})
	t.Logf("access ended %s after the group was removed", time.Since(removed).Round(100*time.Millisecond))
	if second.session().Account != nil {
		t.Error("the second browser is still signed in")
	}
	if at := b.signIn(Password); at.RequestURI() != "/sign-in?sso=no_group" {
		t.Errorf("sign-in without a group ended at %s, want the sign-in page with no_group", at)
	}
}
