package ingress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener with unbuffered in-memory connections.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.incoming:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.incoming <- there
	return here
}

const readPause = time.Minute

// answers are handlers that write responses in different ways, without a deadline.
var answers = map[string]func(w http.ResponseWriter) error{
	"one large write": func(w http.ResponseWriter) error {
		_, err := w.Write(make([]byte, 8<<20))
		return err
	},
	"a declared length": func(w http.ResponseWriter) error {
		w.Header().Set("Content-Length", "8388608")
		_, err := io.Copy(w, bytes.NewReader(make([]byte, 8<<20)))
		return err
	},
	"events with flushes": func(w http.ResponseWriter) error {
		event := []byte("data: " + strings.Repeat("tick", 250) + "\n\n")
		for {
			if _, err := w.Write(event); err != nil {
				return err
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		}
	},
}

// written describes how a handler ended.
type written struct {
	err  error
	took time.Duration
}

// newUnreadServer serves requests with write and reports how the handler ended.
func newUnreadServer(t *testing.T, ln net.Listener, write func(http.ResponseWriter) error) <-chan written {
	t.Helper()
	ended := make(chan written, 1)
	o := options(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			_, _ = io.WriteString(w, "read by the client")
			return
		}
		began := time.Now()
		err := write(w)
		ended <- written{err, time.Since(began)}
	})
	o.ReadPause = readPause
	serve(t, o, ln)
	return ended
}

func checkCut(t *testing.T, w written) {
	t.Helper()
	if w.err == nil || w.took < readPause-readPause/8 || w.took > readPause+10*time.Second {
		t.Errorf("the handler ended after %s with error %v; want an error after about %s", w.took, w.err, readPause)
	}
}

func TestUnreadResponseIsResetOverHTTP1(t *testing.T) {
	t.Parallel()
	for name, write := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ln := newPipes()
				ended := newUnreadServer(t, ln, write)
				conn := ln.dial()
				c := &caller{conn, bufio.NewReader(conn), t}
				for range 2 { // the limit applies to every request of a connection
					c.send("%s", get("/read"))
					c.receive("GET")
				}
				c.send("%s", get("/"))
				checkCut(t, <-ended)
				_ = c.Close()
			})
		})
	}
}

// stoppableConn is a connection whose reads block once it is stopped.
type stoppableConn struct {
	net.Conn
	stop, closed chan struct{}
	once         sync.Once
}

func (c *stoppableConn) Read(p []byte) (int, error) {
	select {
	case <-c.stop:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return c.Conn.Read(p)
	}
}

func (c *stoppableConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// An HTTP/2 client can stop reading in two ways: it does not extend the flow-control window of the stream, or it reads nothing
// from the connection.
func TestUnreadResponseIsResetOverHTTP2(t *testing.T) {
	t.Parallel()
	certSource := httptest.NewTLSServer(nil) // the server provides a certificate and a client that trusts it
	defer certSource.Close()
	trusted := certSource.Client().Transport.(*http.Transport).TLSClientConfig
	for name, write := range answers {
		for way, stopsConn := range map[string]bool{"stream": false, "connection": true} {
			t.Run(name+" on a stopped "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ln := newPipes()
					ended := newUnreadServer(t, tls.NewListener(ln, &tls.Config{Certificates: certSource.TLS.Certificates, NextProtos: []string{"h2"}}), write)
					var conn *stoppableConn
					transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: trusted.Clone(), DialContext: func(context.Context, string, string) (net.Conn, error) {
						conn = &stoppableConn{Conn: ln.dial(), stop: make(chan struct{}), closed: make(chan struct{})}
						return conn, nil
					}}
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", http.NoBody)
					if err != nil {
						t.Fatal(err)
					}
					resp, err := transport.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					if stopsConn {
						close(conn.stop)
					}
					checkCut(t, <-ended)
					if !stopsConn {
						if _, err := io.Copy(io.Discard, resp.Body); err == nil || errors.Is(err, io.EOF) {
							t.Errorf("read the reset response: %v, want an error other than io.EOF", err)
						}
					}
					_ = resp.Body.Close()
					_ = conn.Close()
					transport.CloseIdleConnections()
				})
			})
		}
	}
}
