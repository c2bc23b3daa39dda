// Package ingress configures the HTTP server: limits on slow and idle clients, rejection of ambiguous requests, and server errors
// in the error format of the API. It serves HTTP/1.1, and HTTP/2 over TLS, with net/http.
package ingress

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// Options configures a Server.
type Options struct {
	Handler http.Handler
	// Reject writes the response to a malformed request.
	Reject func(w http.ResponseWriter, status int, reason string)
	// Context returns the parent context of all requests.
	Context func() context.Context
	// HeaderSize and HeaderTime limit the request line and headers.
	HeaderSize int
	HeaderTime time.Duration
	// BodyTime limits the time to read a request with a body. A handler that needs more time must set its own read deadline.
	BodyTime time.Duration
	// IdleTime limits how long a connection may be idle before its next request.
	IdleTime time.Duration
	// ReadPause is the maximum time for which a client may stop reading a response before its connection or HTTP/2 stream is reset; 0 for no
	// limit. A handler may set its own write deadline instead.
	ReadPause time.Duration
	// Unread is the size of the kernel's send buffer; at most a quarter of it may hold unsent data. The kernel's default is
	// several megabytes, which would count as delivered although the client has not read them.
	Unread int
	Logger *slog.Logger
}

// headerSlack is the number of bytes that net/http accepts beyond MaxHeaderBytes.
const headerSlack = 4096

// Limits on reading the part of a body that the handler did not read.
const (
	keptBody   = 256 << 10        // size up to which the rest is read before the response, so that the connection can be used again
	drainTime  = 2 * time.Second  // time limit before the response
	lingerTime = 10 * time.Second // time limit after the response
)

// Server serves one listener.
type Server struct {
	options Options
	http    *http.Server
}

// New returns a server that accepts connections once Serve is called.
func New(o Options) *Server {
	s := &Server{options: o}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		BaseContext:       func(net.Listener) context.Context { return o.Context() },
		ConnContext:       s.limitConn,
		ReadHeaderTimeout: o.HeaderTime,
		IdleTimeout:       o.IdleTime,
		MaxHeaderBytes:    max(1, o.HeaderSize-headerSlack),
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: o.ReadPause}, // ends connections of clients that do not read at all
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve accepts connections from ln until the server is stopped. It always returns an error, which is http.ErrServerClosed after
// Shutdown or Close.
func (s *Server) Serve(ln net.Listener) error { return s.http.Serve(listener{ln, s.options.Reject}) }

// Shutdown closes the listener and idle connections. It waits for running requests until ctx is done.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Close closes the listener and every connection.
func (s *Server) Close() error { return s.http.Close() }

type connKey struct{}

// limitConn limits the kernel's send buffer and adds the underlying connection to the context of its requests.
func (s *Server) limitConn(ctx context.Context, c net.Conn) context.Context {
	raw := c
	if secure, ok := c.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	if plain, ok := raw.(*rejectingConn); ok {
		raw = plain.TCPConn
	}
	tcp, _ := raw.(*net.TCPConn)
	if tcp != nil && s.options.Unread > 0 {
		_ = tcp.SetWriteBuffer(s.options.Unread) // the error is ignored, because a broken connection fails at its first read
		limitUnsent(tcp, s.options.Unread/4)
	}
	return context.WithValue(ctx, connKey{}, tcp)
}

// serveHTTP calls the handler with a writer that ends responses that the client does not read.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p != http.ErrAbortHandler { //nolint:errorlint // the value of a panic is not wrapped
			s.options.Logger.Error("handler panicked", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		panic(http.ErrAbortHandler) // closes the connection
	}()
	if r.Method == http.MethodConnect {
		s.options.Reject(w, http.StatusBadRequest, "CONNECT is not supported.")
		return
	}
	if r.ContentLength != 0 && s.options.BodyTime > 0 {
		// http.Server.ReadTimeout would also apply to requests without a body, such as event streams, because net/http reads from
		// the connection while the handler runs to detect a disconnect.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(s.options.BodyTime)) // the error is ignored, because a closed connection fails at the read
	}
	if r.ProtoMajor > 1 {
		limited := &streamWriter{ResponseWriter: w, control: http.NewResponseController(w), pause: s.options.ReadPause}
		defer limited.end()
		s.options.Handler.ServeHTTP(limited, r)
		return
	}
	if len(r.TransferEncoding) > 0 {
		// net/http accepts a chunked request that also has a Content-Length, and removes the header. A proxy in front may have
		// used the Content-Length, which allows request smuggling, so the connection is closed after this request.
		w.Header().Set("Connection", "close")
	}
	tcp, _ := r.Context().Value(connKey{}).(*net.TCPConn)
	limited := &connWriter{ResponseWriter: w, control: http.NewResponseController(w), tcp: tcp, pause: s.options.ReadPause}
	defer func() { // the server sends the rest of the response after the handler has returned
		limited.own = false
		limited.extendDeadline()
	}()
	if r.ContentLength != 0 {
		limited.body.ReadCloser = r.Body
		r.Body = &limited.body
	}
	s.options.Handler.ServeHTTP(limited, r)
	if r.ContentLength != 0 {
		limited.drain(r)
	}
}
