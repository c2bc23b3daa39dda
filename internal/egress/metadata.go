package egress

import (
	"net/http"
	"net/netip"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
)

// metadataConnect is short because metadata services are on the same machine or network segment.
const metadataConnect = 2 * time.Second

// metadataRange contains the addresses of metadata services. A host name such as metadata.google.internal resolves to one of them.
var metadataRange = netip.MustParsePrefix("169.254.0.0/16")

// NewMetadata returns a transport for cloud metadata services. It calls only the given hosts ("host:port"), never uses a proxy and keeps no
// connections. A Client reaches these addresses only if its Options allow them.
func NewMetadata(hosts ...string) http.RoundTripper {
	s := newSettings(Options{Connect: metadataConnect, AllowHosts: hosts, AllowPrivate: []netip.Prefix{metadataRange}})
	s.transport.settings.DisableKeepAlives = true
	allowed := make([]string, len(hosts))
	for i, h := range hosts {
		allowed[i] = normalHost(h)
	}
	return metadata{hosts: allowed, settings: s}
}

type metadata struct {
	hosts    []string
	settings *settings
}

// RoundTrip implements http.RoundTripper.
func (m metadata) RoundTrip(r *http.Request) (*http.Response, error) {
	if !slices.Contains(m.hosts, hostPort(r.URL)) {
		return nil, llm.Errorf(llm.UpstreamConnect, "%s is not one of the allowed metadata hosts.", r.URL.Hostname())
	}
	return Send(m.settings.transport, r)
}
