// Package ingress answers HTTP/1.1: the serving side of net/http for many short requests and many open streams at a time.
// A connection has one goroutine and holds no buffer while its answer is open; that a client has left is seen by one watcher
// for all connections. Handlers are those of net/http. It is stricter about what a request is: lines end with CRLF, a
// request has one length, no folded lines. Clients that choose HTTP/2 are left to net/http.
package ingress

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how a server bounds its clients.
type Options struct {
	Handler http.Handler
	// Refuse answers what is no request, in the form that callers know.
	Refuse func(w http.ResponseWriter, status int, why string)
	// Context is what every request's own comes from.
	Context func() context.Context
	// HeaderSize and HeaderTime bound the head of a request.
	HeaderSize int
	HeaderTime time.Duration
	// BodyTime is for the rest of it, where the handler sets no deadline of its own.
	BodyTime time.Duration
	// IdleTime is how long a connection may wait for its next request.
	IdleTime time.Duration
	// ReadPause is how long a client may stop reading an answer before its connection, or its stream of HTTP/2, is reset; 0 for no
	// limit. A handler may set a write deadline of its own instead.
	ReadPause time.Duration
	// Unread is how much of an answer the system takes for a client that does not read, sent and unsent; a quarter of it may be unsent.
	// By default it would take megabytes, and what it has taken counts as delivered and is kept for the log.
	Unread int
	Logger *slog.Logger
}

// Server answers on one listener.
type Server struct {
	Options
	date  date
	http2 http2
	ticks atomic.Int64 // of the watcher

	mu       sync.Mutex
	listener net.Listener
	conns    map[*conn]struct{}
	stopping atomic.Bool
	empty    chan struct{} // closed when the last connection has gone, once stopping
}

// New makes a server that answers once Serve is called.
func New(o Options) *Server {
	s := &Server{Options: o, conns: map[*conn]struct{}{}, empty: make(chan struct{})}
	s.http2 = newHTTP2(o)
	return s
}

// Serve answers what the listener accepts until the server is stopped. It always returns an error: http.ErrServerClosed
// after Shutdown or Close.
func (s *Server) Serve(ln net.Listener) error {
	if !s.open(ln) {
		_ = ln.Close() // nobody has heard of it
		return http.ErrServerClosed
	}
	done := make(chan struct{})
	defer close(done)
	go s.watch(done)
	go s.http2.serve()
	for pause := time.Duration(0); ; {
		raw, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.accept(raw)
		case s.stopping.Load():
			return http.ErrServerClosed
		case passing(err):
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.Logger.Warn("a connection was not accepted", "error", err.Error(), "again_in", pause)
			time.Sleep(pause)
		default:
			return err
		}
	}
}

// passing reports errors of a single connection, or of a moment without room for one.
func passing(err error) bool {
	var timeout interface{ Temporary() bool } // what net.Error once promised still tells these from a broken listener
	return errors.As(err, &timeout) && timeout.Temporary()
}

func (s *Server) open(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = ln
	return !s.stopping.Load()
}

func (s *Server) accept(raw net.Conn) {
	c := newConn(s, raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		_ = raw.Close() // it came too late
		return
	}
	s.conns[c] = struct{}{}
	go c.serve()
}

// forget is told when a connection has ended, or is another server's now.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.checkEmpty()
}

// checkEmpty needs the lock.
func (s *Server) checkEmpty() {
	if !s.stopping.Load() || len(s.conns) > 0 {
		return
	}
	select {
	case <-s.empty:
	default:
		close(s.empty)
	}
}

// Shutdown accepts nothing more, closes connections that idle, and waits for those that answer until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop(func(c *conn) { c.closeIdle() })
	err := s.http2.server.Shutdown(ctx)
	select {
	case <-s.empty:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends every connection at once.
func (s *Server) Close() error {
	s.stop(func(c *conn) { _ = c.raw.Close() }) // it is the end of it either way
	err := s.http2.server.Close()
	<-s.empty
	return err
}

func (s *Server) stop(end func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	if s.listener != nil {
		_ = s.listener.Close() // a listener that is closed already accepts nothing either
	}
	for c := range s.conns {
		end(c)
	}
	s.checkEmpty()
}
