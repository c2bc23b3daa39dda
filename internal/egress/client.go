// Package egress is the one way out: every call to a provider over the network goes through its Client. It judges each
// address at the moment of connecting, follows no redirects, decompresses nothing, keeps no cookies, bounds connections,
// and turns transport failures into llm errors. What a request says (headers, credentials, body) is not its matter.
package egress

import (
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fairlead/internal/llm"
)

// Together with userTimeout these find a dead connection within 15 seconds, whether it is idle, waits for an answer or
// has unacknowledged data on the way.
const (
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = 3 * time.Second
	keepAliveCount    = 3
)

const (
	defaultConnect        = 5 * time.Second
	defaultMaxIdlePerHost = 64
	// Load balancers in front of providers commonly drop idle connections after 60 s; leaving first avoids writing
	// a request into a connection that is just being closed.
	idleTimeout    = 50 * time.Second
	maxHeaderBytes = 128 << 10
)

// Options are the settings of a Client. The zero value is safe: public addresses only.
type Options struct {
	Connect         time.Duration  // name resolution and TCP together, and again TLS; 5 s when zero
	AllowPrivate    []netip.Prefix // special-purpose ranges that may be called all the same
	AllowHosts      []string       // "host:port" that the configuration file names itself: may be on a private network
	MaxIdlePerHost  int            // idle connections kept per host; 64 when zero
	MaxConnsPerHost int            // connections per host; 0 for no cap
	RootCAs         *x509.CertPool // nil for the system's
	Resolver        *net.Resolver  // nil for the system's

	// Proxy is the forward proxy to use; nil for none. The environment (HTTPS_PROXY) is never read: behind a proxy only
	// the proxy sees the resolved address, so the guard can judge literal addresses alone. That must be chosen, not met.
	Proxy *url.URL
}

// Client makes the calls. It is safe for concurrent use.
type Client struct {
	current atomic.Pointer[settings]
}

// settings is one immutable set of options with the connections made under it.
type settings struct {
	options   Options
	guard     guard
	transport *transport
}

// New returns a client with these options.
func New(o Options) *Client {
	c := &Client{}
	c.current.Store(newSettings(o))
	return c
}

// Update replaces the options for later calls. Running calls end under the old ones; idle connections made under them
// are closed, so that nothing stays connected to a host that is no longer configured.
func (c *Client) Update(o Options) {
	if c.current.Load().options.equal(o) {
		return
	}
	old := c.current.Swap(newSettings(o))
	old.transport.CloseIdleConnections()
}

// Close closes idle connections. Running calls are not disturbed.
func (c *Client) Close() { c.current.Load().transport.CloseIdleConnections() }

// Do makes one call. A redirect is an answer like any other. A context that was cancelled comes back as its error
// (errors.Is context.Canceled); every other failure is an *llm.Error of kind UpstreamConnect or UpstreamTimeout.
// The caller closes the answer's body.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	s := c.current.Load()
	if err := s.admit(req.URL); err != nil {
		return nil, err
	}
	return Send(s.transport, req)
}

// Send makes one call through rt with the errors of Client.Do. It serves providers that live inside the process.
func Send(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	// RoundTrip instead of http.Client: no redirects, no cookies, and no error text with the URL, which may hold a key.
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, failure(req, err)
	}
	return resp, nil
}

// admit refuses what can be refused before connecting.
func (s *settings) admit(u *url.URL) error {
	if u.Scheme != "https" && u.Scheme != "http" {
		return llm.Errorf(llm.UpstreamConnect, "The provider's address must begin with https:// or http://, not %q.", u.Scheme)
	}
	if s.options.Proxy == nil {
		return nil // the guard runs on the resolved address
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		if err := s.guard.judge(hostPort(u), addr); err != nil {
			return refusal(u.Hostname(), err)
		}
	}
	return nil
}

func newSettings(o Options) *settings {
	o.AllowPrivate = slices.Clone(o.AllowPrivate)
	o.AllowHosts = slices.Clone(o.AllowHosts)
	g := newGuard(o)
	d := &dialer{guard: g, timeout: connectTimeout(o), resolver: o.Resolver}
	return &settings{options: o, guard: g, transport: newTransport(o, d)}
}

func connectTimeout(o Options) time.Duration {
	if o.Connect <= 0 {
		return defaultConnect
	}
	return o.Connect
}

func (o Options) equal(p Options) bool {
	return o.Connect == p.Connect &&
		slices.Equal(o.AllowPrivate, p.AllowPrivate) &&
		slices.Equal(o.AllowHosts, p.AllowHosts) &&
		o.MaxIdlePerHost == p.MaxIdlePerHost &&
		o.MaxConnsPerHost == p.MaxConnsPerHost &&
		o.RootCAs == p.RootCAs &&
		o.Resolver == p.Resolver &&
		proxyText(o.Proxy) == proxyText(p.Proxy)
}

func proxyText(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

// hostPort is how a URL's host is written in AllowHosts: lower case, the port always there.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return normalHost(net.JoinHostPort(u.Hostname(), port))
}

func normalHost(hostPort string) string {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return strings.ToLower(hostPort)
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), port)
}
