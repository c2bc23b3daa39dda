package egress

import (
	"crypto/tls"
	"net/http"
	"sync"
)

// transport sends calls with net/http. It has one http.Transport per host. If the HTTP/2 connection of a host stalls, new calls to
// this host use a new http.Transport, while the calls on the old connection finish.
type transport struct {
	settings *http.Transport // template that is cloned for each host

	mu    sync.Mutex
	hosts map[string]*http.Transport // transports by scheme and host
}

func newTransport(o Options, d *dialer) *transport {
	t := &http.Transport{
		DialContext:            watched(d.dial),
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    connectTimeout(o),
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    o.MaxIdlePerHost,
		MaxConnsPerHost:        o.MaxConnsPerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         bufferSize,
		WriteBufferSize:        bufferSize,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	if t.MaxIdleConnsPerHost == 0 {
		t.MaxIdleConnsPerHost = defaultMaxIdlePerHost
	}
	if o.Proxy != nil {
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	return &transport{settings: t, hosts: map[string]*http.Transport{}}
}

// RoundTrip implements http.RoundTripper. It returns errStalled if the HTTP/2 connection of the call stalls.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key := req.URL.Scheme + "|" + req.URL.Host
	t.mu.Lock()
	host := t.hosts[key]
	if host == nil {
		host = t.settings.Clone()
		t.hosts[key] = host
	}
	t.mu.Unlock()
	return roundTripWatched(host, req, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.hosts[key] == host {
			t.hosts[key] = t.settings.Clone()
		}
		host.CloseIdleConnections()
	})
}

// CloseIdleConnections closes idle connections immediately. Connections in use are closed when their calls end.
func (t *transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, host := range t.hosts {
		host.CloseIdleConnections()
	}
}
