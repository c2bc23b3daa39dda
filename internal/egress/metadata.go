package egress

import (
	"net/http"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
)

// metadataConnect is short because metadata services are on the same machine or network segment.
const metadataConnect = 2 * time.Second

// NewMetadata returns a transport for cloud metadata services. It calls only the given hosts ("host:port"), never uses a proxy and keeps no
// connections. No other client can reach these addresses.
func NewMetadata(hosts ...string) http.RoundTripper {
	s := newSettings(Options{Connect: metadataConnect, AllowHosts: hosts})
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
