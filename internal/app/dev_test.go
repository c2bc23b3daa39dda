package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestDevModeServesOnlyDirectLoopbackRequests(t *testing.T) {
	t.Parallel()
	const peer, host = "127.0.0.1:5000", "localhost:8080"
	for name, tc := range map[string]struct {
		remote, host string
		header       http.Header
		want         bool
	}{
		"direct":                        {peer, host, nil, true},
		"direct, IPv6":                  {"[::1]:5000", "[::1]:8080", nil, true},
		"direct, subdomain":             {peer, "app.LOCALHOST:8080", nil, true},
		"another machine":               {"192.0.2.7:5000", host, nil, false},
		"name that resolves to us":      {peer, "rebind.example", nil, false},
		"no host":                       {peer, "", nil, false},
		"X-Forwarded-For":               {peer, host, http.Header{"X-Forwarded-For": {"198.51.100.1"}}, false},
		"X-Forwarded-For of loopback":   {peer, host, http.Header{"X-Forwarded-For": {"127.0.0.1"}}, false},
		"empty X-Forwarded-For":         {peer, host, http.Header{"X-Forwarded-For": {""}}, false},
		"X-Forwarded-Host":              {peer, host, http.Header{"X-Forwarded-Host": {"gateway.example"}}, false},
		"X-Forwarded-Proto":             {peer, host, http.Header{"X-Forwarded-Proto": {"https"}}, false},
		"Forwarded":                     {peer, host, http.Header{"Forwarded": {"for=198.51.100.1"}}, false},
		"Via":                           {peer, host, http.Header{"Via": {"1.1 proxy"}}, false},
		"X-Real-Ip":                     {peer, host, http.Header{"X-Real-Ip": {"198.51.100.1"}}, false},
		"remote address without a port": {"127.0.0.1", host, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/", "/requests", "/api/v1/session", "/proxy/v1/models"} {
				r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
				r.RemoteAddr, r.Host, r.Header = tc.remote, tc.host, tc.header
				w := httptest.NewRecorder()
				h := edge{devToken: "token"}
				h.devOnly(http.HandlerFunc(h.signIn)).ServeHTTP(w, r)
				if got := w.Header().Get("Set-Cookie") != ""; got != tc.want || tc.want == (w.Code == http.StatusForbidden) {
					t.Errorf("%s: signed in %v, status %d", path, got, w.Code)
				}
			}
		})
	}
}

func TestOutsideDevModeRequestsAreNeitherRejectedNorSignedIn(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	w := httptest.NewRecorder()
	h := edge{}
	h.devOnly(http.HandlerFunc(h.signIn)).ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("status %d, cookie %q", w.Code, w.Header().Get("Set-Cookie"))
	}
}
