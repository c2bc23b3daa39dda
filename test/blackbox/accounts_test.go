package blackbox

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

const password = "canary-correct-horse-battery"

// register creates an account with its own workspace and returns its session cookie.
func register(t *testing.T, g *harness.Gateway, email string) *http.Cookie {
	t.Helper()
	g.CreateAccount(t, email, password)
	answer := g.Call(t, harness.Request{Path: "/api/v1/session", Body: `{"email":` + quote(email) + `,"password":` + quote(password) + `}`})
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	session := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == "fairlead_session" })
	if session < 0 {
		t.Fatalf("sign in: status %d, want 201 and the session cookie\n%s", answer.Status, answer.Body)
	}
	return cookies[session]
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
