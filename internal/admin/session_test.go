package admin

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/admin/adminapi"
)

func TestSessionDescribesAccountAndServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var anonymous accounts.SessionView
	s.call("GET", "/session", "").want(200).into(&anonymous)
	if anonymous.Account != nil || len(anonymous.Workspaces) != 0 || anonymous.Server.Version != "1.2.3" {
		t.Errorf("%+v", anonymous)
	}
	var over accounts.SessionView
	s.call("GET", "/session", "", header("Cookie", "fairlead_session=over")).want(200).into(&over)
	if over.Account != nil {
		t.Errorf("%+v", over)
	}
	var viewer accounts.SessionView
	s.call("GET", "/session", "", as("acc_viewer")).want(200).into(&viewer)
	if viewer.Account.Email != "viewer@example.com" || len(viewer.Workspaces) != 1 {
		t.Fatalf("%+v", viewer)
	}
	w := viewer.Workspaces[0]
	if w.ID != home || w.Role != "viewer" || !slices.Contains(w.Permissions, "read_requests") || slices.Contains(w.Permissions, "read_bodies") {
		t.Errorf("%+v", w)
	}
}

// localClaims are requests that a reverse proxy on this machine, or a client that claims to be local, may send. None of them
// authenticates the client.
var localClaims = map[string]with{
	"another machine":          func(r *http.Request) { r.RemoteAddr = "192.0.2.1:9" },
	"loopback peer":            func(r *http.Request) { r.RemoteAddr, r.Host = "127.0.0.1:9", "gateway.example" },
	"loopback peer and host":   func(r *http.Request) { r.RemoteAddr, r.Host = "127.0.0.1:9", "localhost" },
	"IPv6 loopback":            func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:9", "[::1]:8080" },
	"Host: localhost":          func(r *http.Request) { r.RemoteAddr, r.Host = "192.0.2.1:9", "localhost:8080" },
	"X-Forwarded-For loopback": header("X-Forwarded-For", "127.0.0.1"),
	"X-Forwarded-Host":         header("X-Forwarded-Host", "localhost"),
	"X-Real-Ip":                header("X-Real-Ip", "127.0.0.1"),
	"Forwarded":                header("Forwarded", "for=127.0.0.1;host=localhost"),
}

func TestLoopbackIsNotAuthenticated(t *testing.T) {
	t.Parallel()
	for claim, from := range localClaims {
		for _, empty := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, empty store %v", claim, empty), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, func(p *Parts) { p.Server.TrustProxy = true })
				s.fake.noPeople = empty
				var got accounts.RegistrationState
				s.call("GET", "/registration", "", from).want(200).into(&got)
				want := accounts.RegistrationState{SetupNeeded: empty, SetupCodeNeeded: empty, InvitationNeeded: !empty, Mode: "invitation", MinPasswordLength: 10}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				for _, op := range s.api.Operations() {
					if op.Permission == adminapi.Public {
						continue
					}
					path := regexp.MustCompile(`{[^}]*}`).ReplaceAllString(op.Path, "x")
					if response := s.call(op.Method, path, "", from); response.Code != http.StatusUnauthorized {
						t.Errorf("%s %s: status %d, want 401", op.Method, op.Path, response.Code)
					}
				}
			})
		}
	}
}

func TestRegisteringSignsIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"email":"new@example.com","password":"long enough","setup_code":"AAAA-BBBB","invitation":"tok"}`
	got := s.call("POST", "/registration", body, header("User-Agent", "test/1")).want(http.StatusCreated)
	if cookies := got.Result().Cookies(); len(cookies) == 0 || cookies[0].Name != adminapi.SessionCookie {
		t.Errorf("cookies %v, want a session cookie", cookies)
	}
	r := s.fake.registered
	if r.Email != "new@example.com" || r.SetupCode != "AAAA-BBBB" || r.Invitation != "tok" || r.Client != "test/1" || r.IP != "192.0.2.1" {
		t.Errorf("%+v", r)
	}
}

func TestOpenRegistrationDoesNotSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := s.call("POST", "/registration", `{"email":"new@example.com","password":"long enough"}`).want(http.StatusCreated)
	var view accounts.SessionView
	got.into(&view)
	if view.Account != nil || len(view.Workspaces) != 0 || len(got.Result().Cookies()) != 0 {
		t.Errorf("%+v, cookies %v", view, got.Result().Cookies())
	}
}

func TestDeviceCookieIsPassedOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := s.call("POST", "/session", `{"email":"owner@example.com","password":"correct horse"}`, header("Cookie", adminapi.DeviceCookie+"=known")).want(http.StatusCreated)
	if c := got.Result().Cookies(); len(c) != 2 || c[1].Value != "known" {
		t.Errorf("cookies %v", c)
	}
}

func TestAccountIsReadAndChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	me := as("acc_viewer")
	var got accounts.AccountView
	s.call("PATCH", "/account", `{"time_zone":"Europe/Paris"}`, me).want(200).into(&got)
	if got.TimeZone != "Europe/Paris" || got.Name != "acc_viewer" {
		t.Errorf("%+v", got)
	}
	wrong := s.call("POST", "/account/password", `{"old_password":"x","new_password":"y"}`, me).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	if wrong.Details.Param != "old_password" {
		t.Errorf("%+v", wrong)
	}
	if c := s.call("POST", "/account/password", `{"old_password":"correct horse","new_password":"y"}`, me).want(200).Result().Cookies(); len(c) == 0 || c[0].Name != adminapi.SessionCookie {
		t.Errorf("cookies %v after a password change, want a new session cookie", c)
	}
	var list accounts.BrowserSessionList
	s.call("GET", "/account/sessions", "", me).want(200).into(&list)
	if len(list.Sessions) != 1 || !list.Sessions[0].Current {
		t.Fatalf("%+v", list)
	}
	s.call("DELETE", "/account/sessions/"+list.Sessions[0].ID, "", me).want(http.StatusNoContent)
	s.call("DELETE", "/account/sessions/nothing", "", me).rejected(http.StatusNotFound, "NOT_FOUND")
	s.call("POST", "/account/delete", `{"password":"x"}`, me).want(http.StatusNoContent)
}

func TestAllOtherSessionsAreEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, token := range []string{"1-another", "2-another"} {
		s.fake.sessions[token] = account.Session{TokenHash: []byte(token), AccountID: "acc_viewer"}
	}
	var got accounts.EndedSessions
	s.call("DELETE", "/account/sessions", "", as("acc_viewer")).want(200).into(&got)
	slices.Sort(s.fake.ended)
	if diff := cmp.Diff([]string{"1-another", "2-another"}, s.fake.ended); diff != "" || got.Ended != 2 {
		t.Errorf("%d ended: %s", got.Ended, diff)
	}
	s.call("DELETE", "/account/sessions", "", key("fl_manage")).rejected(http.StatusForbidden, "SCOPE_DENIED")
}

func TestWrongPasswordsHaveField(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old := s.call("POST", "/account/password", `{"old_password":"x","new_password":"correct battery"}`, as("acc_viewer")).rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS")
	want := []adminapi.Problem{{In: "body", Param: "old_password", Message: "The current password is incorrect."}}
	if diff := cmp.Diff(want, old.Details.Problems); diff != "" || old.Details.Param != "old_password" {
		t.Errorf("%q: %s", old.Details.Param, diff)
	}
	got := s.call("POST", "/session", `{"email":"viewer@example.com","password":"x"}`)
	if login := got.rejected(http.StatusUnauthorized, "WRONG_CREDENTIALS"); login.Details.Param != "" || login.Details.Problems != nil {
		t.Errorf("the error reveals whether the email or the password is wrong: %+v", login.Details)
	}
	if got.Header().Get("Set-Cookie") != "" {
		t.Error("a rejected sign-in set a cookie")
	}
}
