package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// transport carries HTTP/1.1 calls in the goroutine of the caller: no goroutine belongs to a connection, and a call that is
// given up wakes its reader by a deadline. Messages are written and read by net/http's own functions. Hosts that choose
// HTTP/2, and everything that goes through a forward proxy, are left to net/http's transport, which shares the dialer.
type transport struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config
	connect time.Duration // for the TLS handshake
	perHost int           // connections per host; 0 for no cap
	pool    *pool
	classic *http.Transport // the settings of the transports in http2
	proxied bool

	mu    sync.Mutex
	http2 map[string]*http.Transport // by hosts that have chosen HTTP/2 or are behind a proxy; replaced when a connection stalls
	caps  map[string]chan struct{}
}

func newLean(o Options, d *dialer, classic *http.Transport) *transport {
	config := classic.TLSClientConfig.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	return &transport{
		dial: d.dial, tls: config, connect: connectTimeout(o), perHost: o.MaxConnsPerHost, pool: newPool(classic.MaxIdleConnsPerHost),
		classic: classic, proxied: o.Proxy != nil, http2: map[string]*http.Transport{}, caps: map[string]chan struct{}{},
	}
}

// CloseIdleConnections closes connections that no call uses, now and when those that run have ended.
func (t *transport) CloseIdleConnections() {
	t.pool.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.http2 {
		h.CloseIdleConnections()
	}
}

// RoundTrip makes one call.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key := req.URL.Scheme + "|" + req.URL.Host
	if t.proxied {
		t.replaceHTTP2(key, nil)
	}
	if h := t.http2Of(key); h != nil {
		return t.callHTTP2(h, key, req)
	}
	release, err := t.enter(req.Context(), key)
	if err != nil {
		return nil, unsent(req, err)
	}
	c, err := t.connection(req, key)
	if err != nil {
		release()
		return nil, unsent(req, err)
	}
	if c == nil {
		release()
		return t.callHTTP2(t.http2Of(key), key, req)
	}
	c.release = release
	resp, err := c.exchange(req)
	if err != nil {
		c.end(false)
		if cause := req.Context().Err(); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	return resp, nil
}

// unsent closes the body of a request that was not written, as every transport owes its caller.
func unsent(req *http.Request, err error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return err
}

// http2Of returns the transport of a host that has chosen HTTP/2, else nil.
func (t *transport) http2Of(key string) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.http2[key]
}

// callHTTP2 makes one call over HTTP/2. If its connection stalls, later calls get a new transport and so a new connection, while the
// calls on the old one give up each in its own time.
func (t *transport) callHTTP2(h *http.Transport, key string, req *http.Request) (*http.Response, error) {
	return roundTripWatched(h, Traced(req), func() { t.replaceHTTP2(key, h) })
}

// replaceHTTP2 gives the host a new transport in the place of old, which is nil for a host that has none yet.
func (t *transport) replaceHTTP2(key string, old *http.Transport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.http2[key] == old {
		t.http2[key] = t.classic.Clone()
	}
	if old != nil {
		old.CloseIdleConnections()
	}
}

// enter waits for one of the host's places, where their number is bounded.
func (t *transport) enter(ctx context.Context, key string) (release func(), err error) {
	if t.perHost <= 0 {
		return func() {}, nil
	}
	t.mu.Lock()
	places := t.caps[key]
	if places == nil {
		places = make(chan struct{}, t.perHost)
		t.caps[key] = places
	}
	t.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connection is one that idles, or else a new one. It is nil where the host turns out to choose HTTP/2.
func (t *transport) connection(req *http.Request, key string) (*conn, error) {
	if c := t.pool.take(key); c != nil {
		timing(req.Context()).gotConn(true)
		return c, nil
	}
	raw, err := t.dial(req.Context(), "tcp", address(req.URL))
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, raw: raw, pool: t.pool, key: key}
	if req.URL.Scheme == "https" {
		secure, err := t.handshake(req.Context(), raw, req.URL.Hostname())
		if err != nil {
			_ = raw.Close() // it was no use
			return nil, err
		}
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			_ = raw.Close() // once for each host: net/http makes its own
			t.replaceHTTP2(key, nil)
			return nil, nil
		}
		c.Conn = secure
	}
	c.bare = bareOf(c)
	timing(req.Context()).gotConn(false)
	return c, nil
}

func (t *transport) handshake(ctx context.Context, raw net.Conn, host string) (*tls.Conn, error) {
	config := t.tls.Clone()
	config.ServerName = host
	ctx, cancel := context.WithTimeout(ctx, t.connect)
	defer cancel()
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("secure the connection: %w", err)
	}
	return secure, nil
}

// address is where to connect: the port is always there.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

const (
	readBuffer  = 2 << 10 // for headers and the lengths of chunks; larger reads go past it
	writeBuffer = 64 << 10
)

// readers are those of connections that have nothing to read at the moment.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

// writers are large because a request is written in one go, and few because only those that write need one.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, writeBuffer) }}
