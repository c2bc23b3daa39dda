package ingress

import (
	"net/http"
	"net/url"
	"strings"
)

// PublicURL determines the address at which clients reach the server, for links in responses.
type PublicURL struct {
	Configured string // public URL; empty to derive the address from the request
	TrustProxy bool   // whether to trust X-Forwarded-Proto
}

// For returns the address without a trailing slash. It is empty when neither the configuration nor the request has a valid host.
func (p PublicURL) For(r *http.Request) string {
	if p.Configured != "" {
		return strings.TrimSuffix(p.Configured, "/")
	}
	scheme := "http"
	if r.TLS != nil || (p.TrustProxy && r.Header.Get("X-Forwarded-Proto") == "https") {
		scheme = "https"
	}
	base := scheme + "://" + r.Host
	if parsed, err := url.Parse(base); err != nil || r.Host == "" || parsed.Host != r.Host {
		return ""
	}
	return base
}
