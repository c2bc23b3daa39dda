package access

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Sessions is fault case F53: every sign-in creates a new session, which scripts and other sites cannot access and which ends when
// the password changes.
func Sessions(t *testing.T, size scenario.Size) string {
	g, _ := scenario.Single(t)
	ann := scenario.Register(t, g, "ann@example.com")

	// A planted session cookie has no effect.
	planted := strings.Repeat("A", len(ann.Token))
	a := g.Call(t, harness.Request{
		Path: "/api/v1/session", Body: `{"email":"ann@example.com","password":` + scenario.Quote(scenario.Password) + `}`,
		Header: http.Header{"Cookie": {scenario.CookieName + "=" + planted}},
	})
	c := scenario.SessionCookie(t, a)
	if c.Value == planted || c.Value == ann.Token || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie of a new session is %v, want a new value, HttpOnly, SameSite=Lax, Path=/ and no domain", c)
	}
	if got := (scenario.Person{Gateway: g, Token: planted}).Call(t, http.MethodGet, "/keys", ""); got.Status != http.StatusUnauthorized {
		t.Errorf("request with the planted session: status %d, want 401", got.Status)
	}

	// Changing the password ends every session and its live views.
	others := []scenario.Person{scenario.SignedIn(t, g, a)}
	for range 3 {
		others = append(others, scenario.SignedIn(t, g, scenario.SignIn(t, g, ann.Email, scenario.Password)))
	}
	watching := g.Open(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/requests/tail", Header: others[0].Cookie()})
	defer watching.Body.Close()
	changed := ann.Call(t, http.MethodPost, "/account/password", `{"old_password":`+scenario.Quote(scenario.Password)+`,"new_password":"another-long-password-7"}`)
	at := time.Now()
	if changed.Status >= 300 {
		t.Fatalf("change the password: status %d: %s", changed.Status, changed.Body)
	}
	for i, p := range append(others, ann) {
		if got := p.Call(t, http.MethodGet, "/keys", ""); got.Status != http.StatusUnauthorized {
			t.Errorf("session %d after the password change: status %d, want 401", i, got.Status)
		}
	}
	ended := time.Since(at)
	now := scenario.SignedIn(t, g, g.Call(t, harness.Request{Path: "/api/v1/session", Body: `{"email":"ann@example.com","password":"another-long-password-7"}`}))
	received := watch(t, g, now, watching)
	if ended > size.Limit(time.Second) {
		t.Errorf("sessions ended after %s, want at most %s", ended, size.Limit(time.Second))
	}
	refused := otherSites(t, g, now)
	return fmt.Sprintf("5 sessions ended within %s, a live view received %d requests after that; %d changes from other sites rejected, 0 by GET", ended.Round(time.Millisecond), received, refused)
}

// watch sends requests more than a second after a session ended. It returns the number of these requests that the live view of the
// session still received.
func watch(t *testing.T, g *harness.Gateway, p scenario.Person, watching *http.Response) int {
	t.Helper()
	k := p.Key(t).Text
	time.Sleep(1100 * time.Millisecond) // the time limit for ending a live view
	began := time.Now()
	for range 5 {
		g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
	}
	received, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(watching.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "event: requests") {
				received++
			}
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Errorf("the live view of an ended session is still open after %s", time.Since(began))
		return 0
	}
	if received > 0 {
		t.Errorf("a live view of an ended session received requests %d times", received)
	}
	return received
}

// otherSites sends every request that changes data as a page of another site would send it.
func otherSites(t *testing.T, g *harness.Gateway, p scenario.Person) int {
	t.Helper()
	n := 0
	for _, op := range operations(t, g) {
		if op.method == http.MethodGet {
			continue
		}
		path := "/api/v1" + pathParam.ReplaceAllString(op.path, "1") + "?nonsense=1"
		for _, from := range []http.Header{
			{"Origin": {"https://evil.example"}},
			{"Origin": {"null"}},
			{"Sec-Fetch-Site": {"cross-site"}},
			{"Sec-Fetch-Site": {"same-site"}},
			{"Origin": {"http://127.0.0.1:1"}},
			{"Origin": {g.URL() + ".evil.example"}},
			{"Origin": {"https" + strings.TrimPrefix(g.URL(), "http") + "@evil.example"}},
		} {
			n++
			from.Set("Cookie", scenario.CookieName+"="+p.Token)
			a := g.Call(t, harness.Request{Method: op.method, Path: path, Body: "{}", Header: from})
			scenario.WantError(t, op.method+" "+op.path+" from another site", a, http.StatusForbidden, "CROSS_ORIGIN")
			if origin := a.Header.Get("Access-Control-Allow-Origin"); origin != "" {
				t.Errorf("%s: Access-Control-Allow-Origin is %q, want none", op.path, origin)
			}
		}
		// A GET request with a method override header is still handled as GET.
		before := p.Call(t, http.MethodGet, "/audit", "").Body
		h := p.Cookie()
		for _, name := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
			h.Set(name, op.method)
		}
		g.Call(t, harness.Request{Method: http.MethodGet, Path: strings.TrimSuffix(path, "?nonsense=1"), Header: h, Body: "{}"})
		if after := p.Call(t, http.MethodGet, "/audit", "").Body; string(before) != string(after) {
			t.Errorf("GET %s with a method override added an audit entry", op.path)
		}
	}
	return n
}

// PageSecurity is fault case F54: no URL redirects to another site, and every page has its security headers.
func PageSecurity(t *testing.T, _ scenario.Size) string {
	g := harness.Start(t, harness.Options{})
	c := scenario.Client(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	corpus := []string{
		"https://evil.example", "//evil.example", "///evil.example", `/\evil.example`, `\\evil.example`, "/%2f/evil.example", "/%5cevil.example", "https:evil.example", "http:/evil.example",
		"javascript:alert(1)", "data:text/html,x", "/\tevil.example", "/\n/evil.example", "%0d%0aLocation:%20https://evil.example", "/@evil.example", "//evil.example/%2e%2e", "/..//evil.example", "https://localhost@evil.example", "\u2025//evil.example",
	}
	asked, pages := 0, 0
	check := func(raw string) {
		asked++
		u, err := url.Parse(g.URL())
		if err != nil {
			t.Fatal(err)
		}
		u.Opaque = raw
		resp, err := c.Do((&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, Host: u.Host}).WithContext(t.Context()))
		if err != nil {
			t.Fatalf("request %q: %v", raw, err)
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 300 && resp.StatusCode < 400 || resp.Header.Get("Location") != "" || resp.Header.Get("Refresh") != "" {
			t.Errorf("%q: status %d, Location %q, Refresh %q; want no redirect",
				raw, resp.StatusCode, resp.Header.Get("Location"), resp.Header.Get("Refresh"))
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q: X-Content-Type-Options is %q, want nosniff (status %d)",
				raw, resp.Header.Get("X-Content-Type-Options"), resp.StatusCode)
		}
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			return
		}
		pages++
		checkPageHeaders(t, raw, resp.Header)
	}
	for _, page := range []string{"/", "/sign-in", "/register", "/welcome", "/requests", "/settings", "/playground", "/quickstart", "/routing", "/providers", "/requests/req_1", "/nothing", "/favicon.svg", "/api/v1/session", "/api/openapi.json"} {
		check(page)
		for _, next := range corpus {
			for _, name := range []string{"next", "redirect", "return_to", "url"} {
				check(page + "?" + name + "=" + url.QueryEscape(next))
			}
		}
	}
	for _, raw := range []string{"//evil.example", "//evil.example/%2f..", "/%2f%2fevil.example", "/%5cevil.example", "/requests//evil.example", "/requests/../..//evil.example", "/api//evil.example", "/.//evil.example"} {
		check(raw)
	}
	return fmt.Sprintf("%d addresses, no open redirect; %d pages with all security headers", asked, pages)
}

func checkPageHeaders(t *testing.T, page string, h http.Header) {
	t.Helper()
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "connect-src 'self'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s: the Content-Security-Policy lacks %s: %s", page, part, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
		t.Errorf("%s: the Content-Security-Policy allows unsafe sources: %s", page, policy)
	}
	if h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%s: X-Frame-Options is %q and Referrer-Policy %q, want DENY and no-referrer",
			page, h.Get("X-Frame-Options"), h.Get("Referrer-Policy"))
	}
}
