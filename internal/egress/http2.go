package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Many calls share an HTTP/2 connection, so a dead link stops all of them, and every new call would queue on it. A silent connection
// is pinged after pingAfter, so a live one is never silent for stallAfter. After that time a call fails, and later calls use a new
// connection. The limit varies from call to call, so that waiting calls do not fail together.
const (
	pingAfter   = time.Second      // silence before a ping
	pingTimeout = 10 * time.Second // after which an unanswered ping closes the connection
	stallAfter  = 3 * time.Second  // average silence before a call fails
	stallJitter = 0.25             // maximum deviation from stallAfter, as a fraction
)

// errStalled is the error of a connection on which no data arrived, not even a ping acknowledgement.
var errStalled = errors.New("the connection stopped responding")

// watchedConn is a connection that records when bytes last arrived.
type watchedConn struct {
	net.Conn
	opened  time.Time
	arrived atomic.Int64 // nanoseconds after opened
	stalled atomic.Bool
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.arrived.Store(int64(time.Since(c.opened)))
	}
	return n, err
}

// watched dials connections that record arrivals.
func watched(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: c, opened: time.Now()}, nil
	}
}

// http2Conn returns the connection below c if c carries HTTP/2, else nil: other connections are not pinged and may be silent.
func http2Conn(c net.Conn) *watchedConn {
	secure, ok := c.(*tls.Conn)
	if !ok || secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil
	}
	for {
		switch below := secure.NetConn().(type) {
		case *watchedConn:
			return below
		case *tls.Conn: // a forward proxy with TLS
			secure = below
		default:
			return nil
		}
	}
}

// stallWatch ends one call when its HTTP/2 connection has stalled.
type stallWatch struct {
	limit   time.Duration
	cancel  context.CancelCauseFunc
	onStall func() // called once per connection

	mu      sync.Mutex
	conn    *watchedConn
	from    time.Time // when the request was written, before which silence is not counted; zero until then
	timer   *time.Timer
	stopped bool
}

// roundTripWatched makes the call with rt. onStall is called when the call is the first to find its connection stalled.
func roundTripWatched(rt http.RoundTripper, req *http.Request, onStall func()) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &stallWatch{
		limit:  time.Duration((1 + stallJitter*(2*rand.Float64()-1)) * float64(stallAfter)),
		cancel: cancel, onStall: onStall,
	}
	timing := timingOf(ctx)
	var body *sentBody
	// One trace serves both: net/http combines two traces by reflection.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			timing.gotConn(info)
			w.begin(http2Conn(info.Conn))
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			timing.mark(&timing.wrote)
			w.wrote()
			body.wrote()
		},
		GotFirstResponseByte: func() { timing.mark(&timing.firstByte) },
	})
	req = req.WithContext(ctx)
	body = holdBody(req)
	resp, err := rt.RoundTrip(req)
	body.responded()
	if err != nil {
		w.stop()
		return nil, w.explain(ctx, err)
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, ctx: ctx, watch: w}
	return resp, nil
}

// begin watches the connection of the call. net/http may retry the call on another connection.
func (w *stallWatch) begin(c *watchedConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn, w.from = c, time.Time{}
	switch {
	case w.stopped || c == nil:
	case w.timer == nil:
		w.timer = time.AfterFunc(w.limit, w.check)
	default:
		w.timer.Reset(w.limit)
	}
}

// wrote starts measuring silence. Before that, a large request may delay pings.
func (w *stallWatch) wrote() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from = time.Now()
}

// check ends the call if its connection has been silent for the limit, and otherwise waits for the remaining time.
func (w *stallWatch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.conn == nil {
		return
	}
	silence := time.Duration(0)
	if !w.from.IsZero() {
		arrived := w.conn.opened.Add(time.Duration(w.conn.arrived.Load()))
		silence = min(time.Since(w.from), time.Since(arrived))
	}
	if silence < w.limit {
		w.timer.Reset(w.limit - silence)
		return
	}
	w.stopped = true
	if w.conn.stalled.CompareAndSwap(false, true) {
		w.onStall()
	}
	w.cancel(errStalled)
}

// stop ends the watch and releases the call's context.
func (w *stallWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}

// explain returns errStalled for an error of a call that the watch ended, and other errors as they are.
func (w *stallWatch) explain(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// watchedBody is the body of a response whose connection is watched until it is closed or ends.
type watchedBody struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // its cause explains why a read failed
	watch *stallWatch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	err = b.watch.explain(b.ctx, err)
	b.watch.stop()
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.stop()
	return err
}
