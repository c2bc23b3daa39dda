package blackbox

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/test/harness"
)

const password = "canary-correct-horse-battery"

// person is a signed-in user of the dashboard.
type person struct {
	gateway   *harness.Gateway
	cookie    *http.Cookie
	workspace string
}

// register creates an account with its own workspace and signs in.
func register(t *testing.T, g *harness.Gateway, email string) person {
	t.Helper()
	g.CreateAccount(t, email, password)
	answer := g.Call(t, harness.Request{
		Path: "/api/v1/session", Body: `{"email":` + quote(email) + `,"password":` + quote(password) + `}`,
	})
	if answer.Status != http.StatusCreated {
		t.Fatalf("sign in: %d\n%s", answer.Status, answer.Body)
	}
	return signedIn(t, g, answer)
}

func signedIn(t *testing.T, g *harness.Gateway, answer harness.Answer) person {
	t.Helper()
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	session := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == "fairlead_session" })
	if session < 0 {
		t.Fatalf("no session cookie in %v", cookies)
	}
	var view struct{ Workspaces []struct{ ID string } }
	harness.Decode(t, answer.Body, &view)
	if len(view.Workspaces) != 1 {
		t.Fatalf("the account has %d workspaces, want 1\n%s", len(view.Workspaces), answer.Body)
	}
	return person{g, cookies[session], view.Workspaces[0].ID}
}

func (p person) call(t *testing.T, method, path, body string) harness.Answer {
	t.Helper()
	return p.gateway.Call(t, harness.Request{
		Method: method, Path: "/api/v1" + path, Body: body, Header: http.Header{"Cookie": {p.cookie.Name + "=" + p.cookie.Value}},
	})
}

func TestFirstAccountOwnsKeysCreatedByTheCommandLine(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := newKey(t, g)
	served := wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))
	g.Entry(t, served.Header.Get("X-Request-Id"))

	p := register(t, g, "ann@example.com")

	var keys struct{ Keys []key }
	harness.Decode(t, wantOK(t, p.call(t, "GET", "/keys", "")).Body, &keys)
	found := false
	for _, one := range keys.Keys {
		found = found || one.ID == k.ID
	}
	if !found {
		t.Errorf("GET /keys lists %+v, want the key %s", keys.Keys, k.ID)
	}
	wantOK(t, p.call(t, "GET", "/requests/"+served.Header.Get("X-Request-Id"), ""))
	wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))
}

func TestSessionCookieAndSignIn(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	p := register(t, g, "ann@example.com")
	if !p.cookie.HttpOnly || p.cookie.SameSite != http.SameSiteLaxMode || p.cookie.Path != "/" || p.cookie.Secure {
		t.Errorf("the cookie over plain HTTP is %+v, want HttpOnly, SameSite=Lax, Path=/ and not Secure", p.cookie)
	}

	signed := g.Call(t, harness.Request{Path: "/api/v1/session", Body: `{"email":"ann@example.com","password":` + quote(password) + `}`})
	if signed.Status != http.StatusCreated {
		t.Fatalf("sign-in: %d\n%s", signed.Status, signed.Body)
	}
	again := signedIn(t, g, signed)
	if again.cookie.Value == p.cookie.Value {
		t.Error("the second sign-in returned the same session")
	}
	if again.workspace != p.workspace {
		t.Errorf("the second sign-in has the workspace %s, want %s", again.workspace, p.workspace)
	}

	for _, body := range []string{
		`{"email":"ann@example.com","password":"wrong-password-here"}`, `{"email":"unknown@example.com","password":"wrong-password-here"}`,
	} {
		f := wantError(t, g.Call(t, harness.Request{Path: "/api/v1/session", Body: body}), http.StatusUnauthorized, "WRONG_CREDENTIALS")
		delete(f.Details, "request_id")
		delete(f.Details, "doc_url")
		if diff := cmp.Diff(map[string]any{"origin": "client", "retryable": false}, f.Details); diff != "" {
			t.Errorf("details (-want +got):\n%s", diff)
		}
	}

	if out := p.call(t, "DELETE", "/session", ""); out.Status != http.StatusNoContent {
		t.Errorf("sign out: status %d, want 204", out.Status)
	}
	wantError(t, p.call(t, "GET", "/keys", ""), http.StatusUnauthorized, "SIGN_IN_REQUIRED")
}

func TestSessionCookieIsSecureBehindATrustedBalancer(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]bool{"trust_proxy: true": true, "trust_proxy: false": false} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			g := harness.Start(t, harness.Options{Config: setting})
			register(t, g, "ann@example.com")
			signed := g.Call(t, harness.Request{
				Path: "/api/v1/session", Body: `{"email":"ann@example.com","password":` + quote(password) + `}`,
				Header: http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-For": {"203.0.113.7"}},
			})
			if signed.Status != http.StatusCreated {
				t.Fatalf("sign-in: %d\n%s", signed.Status, signed.Body)
			}
			if p := signedIn(t, g, signed); p.cookie.Secure != want {
				t.Errorf("Secure = %v, want %v", p.cookie.Secure, want)
			}
		})
	}
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	here := register(t, g, "ann@example.com")
	elsewhere := signedIn(t, g, g.Call(t, harness.Request{Path: "/api/v1/session", Body: `{"email":"ann@example.com","password":` + quote(password) + `}`}))
	wantOK(t, elsewhere.call(t, "GET", "/keys", ""))

	changed := here.call(t, "POST", "/account/password", `{"old_password":`+quote(password)+`,"new_password":"another-long-password-7"}`)

	if changed.Status >= 300 {
		t.Fatalf("change the password: status %d\n%s", changed.Status, changed.Body)
	}
	wantError(t, elsewhere.call(t, "GET", "/keys", ""), http.StatusUnauthorized, "SIGN_IN_REQUIRED")
}

// claims lists requests as a reverse proxy on this machine forwards them, and requests of clients that claim to be local.
var claims = map[string]harness.Request{
	"direct":                {},
	"Host: localhost":       {Host: "localhost"},
	"Host: 127.0.0.1":       {Host: "127.0.0.1:8080"},
	"public host":           {Host: "gateway.example"},
	"X-Forwarded-For":       {Header: http.Header{"X-Forwarded-For": {"127.0.0.1"}}},
	"X-Forwarded-Host":      {Header: http.Header{"X-Forwarded-Host": {"localhost"}}},
	"X-Real-Ip":             {Header: http.Header{"X-Real-Ip": {"127.0.0.1"}}},
	"Forwarded":             {Header: http.Header{"Forwarded": {"for=127.0.0.1;host=localhost"}}},
	"several proxy headers": {Host: "localhost", Header: http.Header{"X-Forwarded-For": {"203.0.113.7"}, "Via": {"1.1 proxy"}}},
}

func TestRegistrationRequiresTheSetupCodeThenAnInvitation(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			g := harness.Start(t, harness.Options{Listen: listen})
			attempt := func(claim harness.Request, email, code string) harness.Answer {
				claim.Path, claim.Body = "/api/v1/registration", `{"email":`+quote(email)+`,"password":`+quote(password)+`,"setup_code":`+quote(code)+`}`
				return g.Call(t, claim)
			}
			for name, claim := range claims {
				t.Log(name)
				wantError(t, attempt(claim, "ann@example.com", ""), http.StatusUnauthorized, "WRONG_CREDENTIALS")
				wantError(t, attempt(claim, "ann@example.com", "AAAA-AAAA-AAAA-AAAA"), http.StatusUnauthorized, "WRONG_CREDENTIALS")
			}
			code := g.SetupCode(t)
			if first := attempt(harness.Request{}, "ann@example.com", code); first.Status != http.StatusCreated {
				t.Fatalf("register with the setup code: status %d, want 201\n%s", first.Status, first.Body)
			}
			for name, claim := range claims {
				t.Log(name)
				wantError(t, attempt(claim, "bob@example.com", code), http.StatusForbidden, "PERMISSION_DENIED")
			}
			g.Restart(t)
			if n := strings.Count(g.Log(), "welcome#"); n != 1 {
				t.Errorf("%d setup codes were printed, want 1: none after the first account exists", n)
			}
		})
	}
}

func TestCrossOriginChangesAreRejected(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	p := register(t, g, "ann@example.com")
	cookie := p.cookie.Name + "=" + p.cookie.Value
	for _, h := range []http.Header{
		{"Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"null"}},
	} {
		h.Set("Cookie", cookie)
		answer := g.Call(t, harness.Request{Path: "/api/v1/keys", Body: `{"name":"x"}`, Header: h})
		wantError(t, answer, http.StatusForbidden, "CROSS_ORIGIN")
		if origin := answer.Header.Get("Access-Control-Allow-Origin"); origin != "" {
			t.Errorf("Access-Control-Allow-Origin = %q, want none", origin)
		}
	}
	same := g.Call(t, harness.Request{Path: "/api/v1/keys", Body: `{"name":"x"}`, Header: http.Header{"Cookie": {cookie}, "Origin": {g.URL()}}})
	if same.Status != http.StatusCreated {
		t.Errorf("same-origin request: status %d, want 201\n%s", same.Status, same.Body)
	}
}

func TestReadScopeAllowsOnlyReads(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	reader, plain := newKey(t, g, "--scopes", "read"), newKey(t, g)
	for _, path := range []string{"/requests", "/keys", "/models", "/overview"} {
		wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/api/v1" + path, Key: reader.Text}))
		wantError(t, g.Call(t, harness.Request{Method: "GET", Path: "/api/v1" + path, Key: plain.Text}), http.StatusForbidden, "SCOPE_DENIED")
	}
	for _, r := range []harness.Request{
		{Method: "POST", Path: "/api/v1/keys", Body: `{"name":"x"}`},
		{Method: "DELETE", Path: "/api/v1/keys/" + plain.ID},
		{Method: "PATCH", Path: "/api/v1/keys/" + plain.ID, Body: `{"name":"x"}`},
		{Method: "DELETE", Path: "/api/v1/requests?to=now"},
	} {
		r.Key = reader.Text
		wantError(t, g.Call(t, r), http.StatusForbidden, "SCOPE_DENIED")
	}
	wantOK(t, g.Call(t, harness.Request{Key: plain.Text, Body: chat(small)}))
}

func TestForeignIDsLookUnknown(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	ann := register(t, g, "ann@example.com")
	bob := register(t, g, "bob@example.com")
	if ann.workspace == bob.workspace {
		t.Fatal("two accounts share a workspace")
	}
	var made struct{ ID, Secret string }
	harness.Decode(t, ann.call(t, "POST", "/keys", `{"name":"hers"}`).Body, &made)
	served := wantOK(t, g.Call(t, harness.Request{Key: made.Secret, Body: chat(small)}))
	request := served.Header.Get("X-Request-Id")
	harness.Eventually(t, "the entry is stored", func() bool { return ann.call(t, "GET", "/requests/"+request, "").Status == http.StatusOK })

	for _, c := range []struct{ method, foreign, unknown, body string }{
		{"GET", "/requests/" + request, "/requests/req_01AAAAAAAAAAAAAAAAAAAAAAAA", ""},
		{"GET", "/requests/" + request + "/body", "/requests/req_01AAAAAAAAAAAAAAAAAAAAAAAA/body", ""},
		{"GET", "/keys/" + made.ID, "/keys/key_01AAAAAAAAAAAAAAAAAAAAAAAA", ""},
		{"PATCH", "/keys/" + made.ID, "/keys/key_01AAAAAAAAAAAAAAAAAAAAAAAA", `{"name":"mine"}`},
		{"POST", "/keys/" + made.ID + "/rotate", "/keys/key_01AAAAAAAAAAAAAAAAAAAAAAAA/rotate", `{}`},
		{"DELETE", "/keys/" + made.ID, "/keys/key_01AAAAAAAAAAAAAAAAAAAAAAAA", ""},
		{"GET", "/requests?workspace=" + ann.workspace, "/requests?workspace=ws_01AAAAAAAAAAAAAAAAAAAAAAAA", ""},
	} {
		foreign, unknown := bob.call(t, c.method, c.foreign, c.body), bob.call(t, c.method, c.unknown, c.body)
		if diff := cmp.Diff(comparableResponse(t, unknown), comparableResponse(t, foreign)); diff != "" {
			t.Errorf("%s %s differs from an unknown id (-unknown +foreign):\n%s", c.method, c.foreign, diff)
		}
		if foreign.Status != http.StatusNotFound {
			t.Errorf("%s %s: status %d, want 404", c.method, c.foreign, foreign.Status)
		}
	}
	var list struct{ Requests []json.RawMessage }
	harness.Decode(t, wantOK(t, bob.call(t, "GET", "/requests", "")).Body, &list)
	if len(list.Requests) != 0 {
		t.Errorf("the other account lists %d requests, want 0", len(list.Requests))
	}
	wantOK(t, g.Call(t, harness.Request{Key: made.Secret, Body: chat(small)}))
}

// comparableResponse returns a response without the values that are different in every response, such as its ID.
func comparableResponse(t *testing.T, a harness.Answer) map[string]any {
	t.Helper()
	h := a.Header.Clone()
	h.Del("X-Request-Id")
	h.Del("Date")
	var f failure
	harness.Decode(t, a.Body, &f)
	delete(f.Details, "request_id")
	return map[string]any{"status": a.Status, "header": h, "error": f.Error, "code": f.Code, "details": f.Details}
}
