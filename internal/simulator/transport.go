package simulator

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// Reset breaks the connection with a TCP reset. An in-process call fails with ECONNRESET.
func Reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch c := conn.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0) // close with RST instead of FIN
	case *pipeEnd:
		c.peer.reset()
	}
	_ = conn.Close()
}

// Transport returns a round tripper that serves requests with h inside the process, over connections in memory. Every call has its own
// connection, which ends with the call.
func Transport(h http.Handler) http.RoundTripper {
	undated := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // there is no other clock that ours could be compared with
		h.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: undated, ErrorLog: log.New(io.Discard, "", 0)}
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, end := newPipe()
		_ = server.Serve(&oneConn{conn: end}) // returns after it has accepted the connection
		return client, nil
	}
	return &http.Transport{DialContext: dial, DialTLSContext: dial, DisableKeepAlives: true, DisableCompression: true}
}

// pipeEnd is one end of a connection in memory.
type pipeEnd struct {
	net.Conn
	peer   *pipeEnd
	mu     sync.Mutex
	broken bool
}

func newPipe() (client, server *pipeEnd) {
	a, b := net.Pipe()
	client, server = &pipeEnd{Conn: a}, &pipeEnd{Conn: b}
	client.peer, server.peer = server, client
	return client, server
}

// reset makes further reads fail with ECONNRESET instead of io.EOF.
func (p *pipeEnd) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
}

func (p *pipeEnd) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && p.broken {
		err = syscall.ECONNRESET
	}
	return n, err
}

// oneConn is a listener that accepts one connection.
type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	if l.conn == nil {
		return nil, io.EOF
	}
	conn := l.conn
	l.conn = nil
	return conn, nil
}

func (l *oneConn) Close() error { return nil }

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
