package ingress

import (
	"context"
	"log/slog"
	"net"
	"net/http"
)

// http2 is net/http's server, for connections whose client has chosen HTTP/2.
type http2 struct {
	server *http.Server
	conns  handed
}

func newHTTP2(o Options) http2 {
	return http2{
		server: &http.Server{
			Handler:           o.Handler,
			BaseContext:       func(net.Listener) context.Context { return o.Context() },
			ReadHeaderTimeout: o.HeaderTime,
			ReadTimeout:       o.BodyTime,
			IdleTimeout:       o.IdleTime,
			MaxHeaderBytes:    o.HeaderSize,
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
