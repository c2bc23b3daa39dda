package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOnlyTheMachineItselfIsSignedIn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		remote, host string
		header       http.Header
		want         bool
	}{
		"at the machine":                       {"127.0.0.1:5000", "localhost:8080", nil, true},
		"from elsewhere":                       {"192.0.2.7:5000", "localhost:8080", nil, false},
		"a name that was bent to this machine": {"127.0.0.1:5000", "rebind.example", nil, false},
		"through a proxy here":                 {"127.0.0.1:5000", "localhost:8080", http.Header{"X-Forwarded-For": {"198.51.100.1"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.RemoteAddr, r.Host, r.Header = tc.remote, tc.host, tc.header
			w := httptest.NewRecorder()
			(&App{devToken: "token"}).signIn(w, r)
			if got := w.Header().Get("Set-Cookie") != ""; got != tc.want {
				t.Errorf("signed in: %v", got)
			}
		})
	}
}
