package adminapi

import (
	"net/http/httptest"
	"testing"
)

func TestVisitorAddressTrustsOnlyConfiguredProxies(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, remote string
		hops         []string
		trust        bool
		ip           string
	}{
		{"direct", "127.0.0.1:5000", nil, false, "127.0.0.1"},
		{"IPv6", "[::1]:5000", nil, false, "::1"},
		{"IPv4 mapped to IPv6", "[::ffff:127.0.0.1]:5000", nil, false, "127.0.0.1"},
		{"untrusted proxy", "127.0.0.1:5000", []string{"198.51.100.1"}, false, "127.0.0.1"},
		{"trusted proxy", "127.0.0.1:5000", []string{"10.9.9.9, 198.51.100.1"}, true, "198.51.100.1"},
		{"trusted proxy that adds a header", "127.0.0.1:5000", []string{"10.9.9.9", "198.51.100.1"}, true, "198.51.100.1"},
		{"empty header", "127.0.0.1:5000", []string{""}, true, "127.0.0.1"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.RemoteAddr = tc.remote
			if tc.hops != nil {
				r.Header["X-Forwarded-For"] = tc.hops
			}
			s := &Server{Options: Options{TrustProxy: tc.trust}}
			if got := s.visitor(r); got.IP != tc.ip {
				t.Errorf("visitor %+v, want IP %s", got, tc.ip)
			}
		})
	}
}
