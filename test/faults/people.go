package faults

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fairlead/test/harness"
)

const password = "canary-correct-horse-battery"

// person is a signed-in user of the dashboard.
type person struct {
	gateway   *harness.Gateway
	id        string
	email     string
	token     string // of the session
	workspace string
}

// register creates an account with a workspace of its own and signs in.
func register(t testing.TB, g *harness.Gateway, email string) person {
	t.Helper()
	g.CreateAccount(t, email, password)
	return signedIn(t, g, signIn(t, g, email, password))
}

func signIn(t testing.TB, g *harness.Gateway, email, secret string) harness.Answer {
	t.Helper()
	return g.Call(t, harness.Request{Path: "/api/v1/session", Body: `{"email":` + quote(email) + `,"password":` + quote(secret) + `}`})
}

// signedIn reads who an answer has signed in.
func signedIn(t testing.TB, g *harness.Gateway, a harness.Answer) person {
	t.Helper()
	cookie := sessionCookie(t, a)
	var view struct {
		Account    struct{ ID, Email string }
		Workspaces []struct{ ID string }
	}
	harness.Decode(t, a.Body, &view)
	if len(view.Workspaces) == 0 {
		t.Fatalf("the account has no workspace: %s", a.Body)
	}
	return person{g, view.Account.ID, view.Account.Email, cookie.Value, view.Workspaces[0].ID}
}

func sessionCookie(t testing.TB, a harness.Answer) *http.Cookie {
	t.Helper()
	cookies := (&http.Response{Header: a.Header}).Cookies()
	session := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == cookieName })
	if session < 0 {
		t.Fatalf("no session cookie in %v", cookies)
	}
	return cookies[session]
}

const cookieName = "fairlead_session"

func (p person) cookie() http.Header { return http.Header{"Cookie": {cookieName + "=" + p.token}} }

// call sends a request to the admin API with the session cookie.
func (p person) call(t testing.TB, method, path, body string) harness.Answer {
	t.Helper()
	return p.gateway.Call(t, harness.Request{Method: method, Path: "/api/v1" + path, Body: body, Header: p.cookie()})
}

// key creates an API key through the admin API; members are added to the request body.
func (p person) key(t testing.TB, members ...string) key {
	t.Helper()
	members = append([]string{`"name":"made in the dashboard"`}, members...)
	a := p.call(t, http.MethodPost, "/keys", "{"+strings.Join(members, ",")+"}")
	if a.Status != http.StatusCreated {
		t.Fatalf("make a key: %d %s", a.Status, a.Body)
	}
	var made struct{ ID, Name, Secret string }
	harness.Decode(t, a.Body, &made)
	return key{ID: made.ID, Name: made.Name, Text: made.Secret}
}

// join adds an account to the person's workspace.
func (p person) join(t testing.TB, email, role string) person {
	t.Helper()
	a := p.call(t, http.MethodPost, "/workspace/invitations", `{"role":`+quote(role)+`}`)
	var made struct{ Token string }
	if harness.Decode(t, a.Body, &made); made.Token == "" {
		t.Fatalf("invite: %d %s", a.Status, a.Body)
	}
	body := `{"email":` + quote(email) + `,"password":` + quote(password) + `,"invitation":` + quote(made.Token) + `}`
	if a := p.gateway.Call(t, harness.Request{Path: "/api/v1/registration", Body: body}); a.Status != http.StatusCreated {
		t.Fatalf("register %s: %d %s", email, a.Status, a.Body)
	}
	return signedIn(t, p.gateway, signIn(t, p.gateway, email, password))
}

func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(data)
}
