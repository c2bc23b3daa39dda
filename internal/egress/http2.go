package egress

import (
	"bytes"
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

// Many calls share an HTTP/2 connection, so a dead connection stalls all of them, and every new call would queue on it. A
// connection is pinged after pingAfter without data, so a live connection is never silent for stallAfter. After stallAfter a call
// fails, and later calls use a new connection. The limit varies from call to call, so that waiting calls do not all fail at the
// same time.
const (
	pingAfter   = time.Second      // time without data before a ping
	pingTimeout = 10 * time.Second // time after which a ping without a reply closes the connection
	stallAfter  = 3 * time.Second  // average time without data before a call fails
	stallJitter = 0.25             // maximum deviation from stallAfter, as a fraction
)

// errStalled is returned when no data arrived on a connection, not even the reply to a ping.
var errStalled = errors.New("the connection stopped responding")

// watchedConn is a connection that records when bytes last arrived.
type watchedConn struct {
	net.Conn
	opened  time.Time
	arrived atomic.Int64 // time from opened to the latest received data, in nanoseconds
	stalled atomic.Bool
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.arrived.Store(int64(time.Since(c.opened)))
	}
	return n, err
}

// ReadFrom implements io.ReaderFrom. net/http calls it with the body of a request. A body in memory is written without a copy.
func (c *watchedConn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(*bytes.Reader); ok && int64(body.Len()) <= limited.N {
			n, err := body.WriteTo(c.Conn)
			limited.N -= n
			return n, err
		}
	}
	return io.Copy(c.Conn, r)
}

// watched wraps dial so that its connections record when bytes last arrived.
func watched(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: c, opened: time.Now()}, nil
	}
}

// http2Conn returns the connection underlying c if c uses HTTP/2, and otherwise nil. Other connections are not pinged and may be silent.
func http2Conn(c net.Conn) *watchedConn {
	secure, ok := c.(*tls.Conn)
	if !ok || secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil
	}
	for {
		switch below := secure.NetConn().(type) {
		case *watchedConn:
			return below
		case *tls.Conn: // TLS to a forward proxy
			secure = below
		default:
			return nil
		}
	}
}

// stallWatch cancels a call when its HTTP/2 connection has stalled.
type stallWatch struct {
	limit   time.Duration
	cancel  context.CancelCauseFunc
	onStall func() // called once per stalled connection

	mu      sync.Mutex
	conn    *watchedConn
	from    time.Time // time at which the request was written; zero before that
	timer   *time.Timer
	stopped bool
}

// roundTripWatched makes the call with rt. onStall is called if this call is the first to detect that its connection has stalled.
func roundTripWatched(rt http.RoundTripper, req *http.Request, onStall func()) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &stallWatch{
		limit:  time.Duration((1 + stallJitter*(2*rand.Float64()-1)) * float64(stallAfter)),
		cancel: cancel, onStall: onStall,
	}
	timing, ok := ctx.Value(timingKey{}).(*Timing)
	if !ok {
		timing = &Timing{} // the caller did not request the timing, so it is discarded
	}
	var body *sentBody
	// One trace serves the timing and the stall watch, because net/http combines two traces by reflection, which is slow.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			timing.gotConn(info)
			w.begin(http2Conn(info.Conn))
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			w.mu.Lock()
			w.from = time.Now() // measured from here, because sending a large body may delay pings
			w.mu.Unlock()
			body.recordWritten()
		},
	})
	req = req.WithContext(ctx)
	body = holdBody(req)
	resp, err := rt.RoundTrip(req)
	body.recordResponse()
	if err != nil {
		w.stop()
		return nil, w.explain(ctx, err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		w.stop() // the caller now reads from and writes to the connection through the body
		return resp, nil
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, ctx: ctx, watch: w}
	return resp, nil
}

// begin watches the connection of the call. It is called again if net/http retries the call on another connection.
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

// check cancels the call if its connection has received no data for w.limit since the request was written. Otherwise it checks again
// after the remaining time.
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

// explain returns errStalled if the watch cancelled the call, and otherwise err.
func (w *stallWatch) explain(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// watchedBody is a response body whose connection is watched until the body ends or is closed.
type watchedBody struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // the cause of the context explains why a read failed
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
