package ingress_test

import (
	"crypto/tls"
	"net/http"
	"testing"

	"fairlead.dev/internal/ingress"
)

func TestPublicURL(t *testing.T) {
	t.Parallel()
	forwarded := http.Header{"X-Forwarded-Proto": {"https"}}
	for name, tc := range map[string]struct {
		public ingress.PublicURL
		r      http.Request
		want   string
	}{
		"configured":                {ingress.PublicURL{Configured: "https://models.example.com/"}, http.Request{Host: "10.0.0.1:8080"}, "https://models.example.com"},
		"host of the request":       {ingress.PublicURL{}, http.Request{Host: "127.0.0.1:8080"}, "http://127.0.0.1:8080"},
		"IPv6":                      {ingress.PublicURL{}, http.Request{Host: "[::1]:8080"}, "http://[::1]:8080"},
		"TLS":                       {ingress.PublicURL{}, http.Request{Host: "example.com", TLS: &tls.ConnectionState{}}, "https://example.com"},
		"trusted proxy with TLS":    {ingress.PublicURL{TrustProxy: true}, http.Request{Host: "example.com", Header: forwarded}, "https://example.com"},
		"untrusted forwarded proto": {ingress.PublicURL{}, http.Request{Host: "example.com", Header: forwarded}, "http://example.com"},
		"no host":                   {ingress.PublicURL{}, http.Request{}, ""},
		"host with a path":          {ingress.PublicURL{}, http.Request{Host: "example.com/x"}, ""},
		"host with a user":          {ingress.PublicURL{}, http.Request{Host: "user@example.com"}, ""},
		"host with a space":         {ingress.PublicURL{}, http.Request{Host: "exa mple.com"}, ""},
	} {
		if got := tc.public.For(&tc.r); got != tc.want {
			t.Errorf("%s: For = %q, want %q", name, got, tc.want)
		}
	}
}
