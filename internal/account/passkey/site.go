package passkey

import (
	"net/netip"
	"net/url"
	"strings"
)

// Reasons why passkeys are not available.
const (
	NoPublicURL = "no_public_url" // public_url is not configured, and the browser does not use localhost
	NotHTTPS    = "not_https"     // public_url begins with http:// and is not localhost
	IPAddress   = "ip_address"    // the host of public_url is an IP address
)

// Site is the address that passkeys are bound to, the relying party of WebAuthn.
type Site struct {
	ID          string // host name; browsers use a passkey only on this host and its subdomains
	Origin      string // address of the dashboard, such as https://models.example.com
	Unavailable string // reason why passkeys cannot be used; empty if they can
}

// siteOf derives the site from the configured public URL. Without one, the address of the request is used if its host is localhost,
// because the Host header of other requests is not trusted.
func siteOf(publicURL, requestURL string) Site {
	address := publicURL
	if address == "" {
		address = requestURL
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return Site{Unavailable: NoPublicURL}
	}
	host := strings.ToLower(u.Hostname())
	site := Site{ID: host, Origin: strings.ToLower(u.Scheme + "://" + u.Host)}
	_, notIP := netip.ParseAddr(host)
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	switch {
	case local:
	case publicURL == "":
		site.Unavailable = NoPublicURL
	case notIP == nil:
		site.Unavailable = IPAddress
	case u.Scheme != "https":
		site.Unavailable = NotHTTPS
	}
	return site
}
