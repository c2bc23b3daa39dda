package scenario

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

// Password is the password of every account that a case creates.
const Password = "canary-correct-horse-battery"

// Person is a signed-in user of the dashboard.
type Person struct {
	Gateway   *harness.Gateway
	ID        string
	Email     string
	Token     string // token of the session
	Workspace string
}

// Register creates an account with its own workspace and signs in.
func Register(t testing.TB, g *harness.Gateway, email string) Person {
	t.Helper()
	g.CreateAccount(t, email, Password)
	return SignedIn(t, g, SignIn(t, g, email, Password))
}

// SignIn sends a sign-in request and returns the response.
func SignIn(t testing.TB, g *harness.Gateway, email, secret string) harness.Answer {
	t.Helper()
	return g.Call(t, harness.Request{Path: "/api/v1/session", Body: `{"email":` + Quote(email) + `,"password":` + Quote(secret) + `}`})
}

// SignedIn returns the user that a response has signed in.
func SignedIn(t testing.TB, g *harness.Gateway, a harness.Answer) Person {
	t.Helper()
	cookie := SessionCookie(t, a)
	var view struct {
		Account    struct{ ID, Email string }
		Workspaces []struct{ ID string }
	}
	harness.Decode(t, a.Body, &view)
	if len(view.Workspaces) == 0 {
		t.Fatalf("the account has no workspace: %s", a.Body)
	}
	return Person{g, view.Account.ID, view.Account.Email, cookie.Value, view.Workspaces[0].ID}
}

// SessionCookie returns the session cookie that a response sets.
func SessionCookie(t testing.TB, a harness.Answer) *http.Cookie {
	t.Helper()
	cookies := (&http.Response{Header: a.Header}).Cookies()
	session := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == CookieName })
	if session < 0 {
		t.Fatalf("no session cookie in %v", cookies)
	}
	return cookies[session]
}

// CookieName is the name of the session cookie.
const CookieName = "fairlead_session"

// Cookie returns a header with the session cookie.
func (p Person) Cookie() http.Header { return http.Header{"Cookie": {CookieName + "=" + p.Token}} }

// Call sends a request to the admin API with the session cookie.
func (p Person) Call(t testing.TB, method, path, body string) harness.Answer {
	t.Helper()
	return p.Gateway.Call(t, harness.Request{Method: method, Path: "/api/v1" + path, Body: body, Header: p.Cookie()})
}

// Key creates an API key through the admin API; members are added to the request body.
func (p Person) Key(t testing.TB, members ...string) harness.Key {
	t.Helper()
	members = append([]string{`"name":"made in the dashboard"`}, members...)
	a := p.Call(t, http.MethodPost, "/keys", "{"+strings.Join(members, ",")+"}")
	if a.Status != http.StatusCreated {
		t.Fatalf("create a key: status %d, want 201: %s", a.Status, a.Body)
	}
	var made struct{ ID, Name, Secret string }
	harness.Decode(t, a.Body, &made)
	return harness.Key{ID: made.ID, Name: made.Name, Text: made.Secret}
}

// Join adds an account to the person's workspace.
func (p Person) Join(t testing.TB, email, role string) Person {
	t.Helper()
	a := p.Call(t, http.MethodPost, "/workspace/invitations", `{"role":`+Quote(role)+`}`)
	var made struct{ Token string }
	if harness.Decode(t, a.Body, &made); made.Token == "" {
		t.Fatalf("create an invitation: status %d: %s", a.Status, a.Body)
	}
	body := `{"email":` + Quote(email) + `,"password":` + Quote(Password) + `,"invitation":` + Quote(made.Token) + `}`
	if a := p.Gateway.Call(t, harness.Request{Path: "/api/v1/registration", Body: body}); a.Status != http.StatusCreated {
		t.Fatalf("register %s: status %d, want 201: %s", email, a.Status, a.Body)
	}
	return SignedIn(t, p.Gateway, SignIn(t, p.Gateway, email, Password))
}

// Quote encodes text as a JSON string.
func Quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(data)
}
