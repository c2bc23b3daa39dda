// Package egress provides the HTTP client for all calls to providers. It checks each address when connecting, follows no
// redirects, decompresses nothing, keeps no cookies, limits connections, and converts transport failures to llm errors. It does
// not change headers, credentials or bodies.
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

	"fairlead.dev/internal/llm"
)

// Together with userTimeout, the keep-alive settings detect a dead connection within 15 seconds, whether it is idle, waiting for
// a response or has unacknowledged data.
const (
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = 3 * time.Second
	keepAliveCount    = 3
)

const (
	defaultConnect        = 5 * time.Second
	defaultMaxIdlePerHost = 64
	// Load balancers in front of providers commonly drop idle connections after 60 s. Closing them earlier avoids sending a
	// request on a connection that is being closed.
	idleTimeout    = 50 * time.Second
	maxHeaderBytes = 128 << 10
	// Every open HTTP/1.1 stream has two buffers of this size. Headers and stream events are smaller, and larger bodies do not
	// pass through the buffers.
	bufferSize = 2 << 10
)

// Options configures a Client. The zero value allows only public addresses.
type Options struct {
	Connect         time.Duration  // time limit for name resolution plus TCP connect, and the same limit for the TLS handshake; default 5 s
	AllowPrivate    []netip.Prefix // special-purpose address ranges that may be called
	AllowHosts      []string       // hosts ("host:port") in the configuration file, which may be on a private network
	MaxIdlePerHost  int            // maximum idle connections per host; default 64
	MaxConnsPerHost int            // maximum connections per host; 0 for no limit
	RootCAs         *x509.CertPool // trusted root certificates; nil for the system's certificates
	Resolver        *net.Resolver  // name resolver; nil for the system's resolver

	// Proxy is the forward proxy; nil for none. The environment variable HTTPS_PROXY is not used. With a proxy, only the proxy
	// resolves names, so the guard can check only literal addresses. Using a proxy must therefore be an explicit choice.
	Proxy *url.URL
}

// Client calls providers. It is safe for concurrent use.
type Client struct {
	current atomic.Pointer[settings]
}

// settings holds the options of a client and the transport that uses them. It is immutable.
type settings struct {
	options   Options
	guard     guard
	transport *transport
}

// New returns a client with the given options.
func New(o Options) *Client {
	c := &Client{}
	c.current.Store(newSettings(o))
	return c
}

// Update replaces the options for later calls. Running calls keep the old options. Idle connections are closed, so that no
// connection stays open to a host that was removed from the configuration.
func (c *Client) Update(o Options) {
	if c.current.Load().options.equal(o) {
		return
	}
	old := c.current.Swap(newSettings(o))
	old.transport.CloseIdleConnections()
}

// WithHosts returns a client with the options of c, except that AllowHosts contains only the given hosts.
func (c *Client) WithHosts(hosts ...string) *Client {
	o := c.current.Load().options
	o.AllowHosts = hosts
	return New(o)
}

// Close closes idle connections. Running calls continue.
func (c *Client) Close() { c.current.Load().transport.CloseIdleConnections() }

// Do makes one call. Redirects are returned like any other response. If the context is cancelled, the error matches context.Canceled. Every
// other failure is an *llm.Error of kind UpstreamConnect or UpstreamTimeout. The caller closes the response body. The body of a 101
// response is the connection, which stays open after the context is cancelled.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	s := c.current.Load()
	u := req.URL
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, llm.Errorf(llm.UpstreamConnect, "The provider's address must start with https:// or http://, not %q.", u.Scheme)
	}
	// With a proxy, a literal address is checked here. Without a proxy, the guard checks the resolved address when connecting.
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && s.options.Proxy != nil {
		if err := s.guard.check(hostPort(u), addr); err != nil {
			return nil, rejection(u.Hostname(), err)
		}
	}
	return Send(s.transport, req)
}

// Send makes one call through rt and returns the same errors as Client.Do. It is used for providers that run in this process.
func Send(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	// RoundTrip is used instead of http.Client, which follows redirects, keeps cookies and puts the URL, which may contain a key,
	// into errors.
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, failure(req, err)
	}
	return resp, nil
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

// hostPort returns the host of a URL in the form of AllowHosts: lower case and with a port.
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
