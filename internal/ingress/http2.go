package ingress

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// http2 is net/http's server, for connections whose client has chosen HTTP/2.
type http2 struct {
	server *http.Server
	conns  handed
}

func newHTTP2(o Options) http2 {
	return http2{
		server: &http.Server{
			Handler:           limitPauses(o.Handler, o.ReadPause),
			BaseContext:       func(net.Listener) context.Context { return o.Context() },
			ReadHeaderTimeout: o.HeaderTime,
			ReadTimeout:       o.BodyTime,
			IdleTimeout:       o.IdleTime,
			MaxHeaderBytes:    o.HeaderSize,
			HTTP2:             &http.HTTP2Config{WriteByteTimeout: o.ReadPause}, // a client that reads nothing at all
			ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		},
		conns: handed{conns: make(chan net.Conn), closed: make(chan struct{})},
	}
}

func (h *http2) serve() { _ = h.server.Serve(&h.conns) } // it ends with the server, and nobody waits for a reason

// handed is a listener of connections that were accepted elsewhere.
type handed struct {
	conns  chan net.Conn
	closed chan struct{}
}

// hand passes a connection on, or closes it when nobody listens any more.
func (l *handed) hand(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.closed:
		_ = c.Close() // the server has ended
	}
}

// Accept waits for a connection.
func (l *handed) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. The server calls it once.
func (l *handed) Close() error {
	close(l.closed)
	return nil
}

// Addr is of no use to anybody here.
func (l *handed) Addr() net.Addr { return &net.TCPAddr{} }

// limitPauses resets streams whose client grants no room for more of an answer for longer than pause. The server's own timeout would
// limit the whole answer.
func limitPauses(h http.Handler, pause time.Duration) http.Handler {
	if pause <= 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pauseWriter{ResponseWriter: w, control: http.NewResponseController(w), pause: pause}
		defer p.end()
		h.ServeHTTP(p, r)
	})
}

// pauseWriter is the writer of one answer over HTTP/2. A write deadline there ends the stream also while the handler has nothing to
// write, so it is set only once a write has taken too long.
type pauseWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pause   time.Duration

	mu    sync.Mutex
	timer *time.Timer
	over  bool // the handler has returned
}

// Unwrap lets response controllers reach the writer below.
func (p *pauseWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *pauseWriter) Write(data []byte) (n int, err error) {
	if len(data) == 0 {
		return p.ResponseWriter.Write(nil) // sends the headers
	}
	for piece := range slices.Chunk(data, sendSize) {
		p.begin()
		m, err := p.ResponseWriter.Write(piece)
		p.timer.Stop()
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// FlushError sends what has been written.
func (p *pauseWriter) FlushError() error {
	p.begin()
	defer p.timer.Stop()
	return p.control.Flush()
}

// Flush sends what has been written.
func (p *pauseWriter) Flush() { _ = p.FlushError() } // callers that need the error use FlushError

func (p *pauseWriter) begin() {
	if p.timer == nil {
		p.timer = time.AfterFunc(p.pause, p.reset)
		return
	}
	p.timer.Reset(p.pause)
}

// reset ends the stream. The writer below must not be used once the handler has returned.
func (p *pauseWriter) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		_ = p.control.SetWriteDeadline(time.Unix(1, 0))
	}
}

// end gives the client its time for the rest of the answer, which the server sends after the handler has returned.
func (p *pauseWriter) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	_ = p.control.SetWriteDeadline(time.Now().Add(p.pause))
}
