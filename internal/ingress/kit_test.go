package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// options returns options with long timeouts.
func options(h http.HandlerFunc) Options {
	return Options{
		Handler: h,
		Reject: func(w http.ResponseWriter, status int, reason string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "rejected: "+reason)
		},
		Context:    context.Background,
		HeaderSize: 64 << 10,
		HeaderTime: time.Minute,
		BodyTime:   time.Minute,
		IdleTime:   time.Minute,
		Logger:     slog.New(slog.DiscardHandler),
	}
}

// start serves on a loopback address until the test ends.
func start(t testing.TB, o Options) (*Server, net.Listener) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, o, ln), ln
}

func serve(t testing.TB, o Options, ln net.Listener) *Server {
	t.Helper()
	s := New(o)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-ended; err != http.ErrServerClosed { //nolint:errorlint // exactly this error is documented
			t.Errorf("serve returned %v", err)
		}
	})
	return s
}

// caller is the client side of a connection.
type caller struct {
	net.Conn
	in *bufio.Reader
	t  testing.TB
}

func dial(t testing.TB, ln net.Listener) *caller {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // a test that hangs fails
	return &caller{conn, bufio.NewReader(conn), t}
}

// send writes the formatted text unchanged.
func (c *caller) send(text string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, text, args...); err != nil {
		c.t.Fatal(err)
	}
}

// receive reads one response completely.
func (c *caller) receive(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read the response: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read the response body: %v", err)
	}
	return resp, string(text)
}

// closed checks that the server has closed the connection.
func (c *caller) closed() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.in); err != nil || len(rest) > 0 {
		c.t.Errorf("read from a closed connection: %q, %v; want no data and no error", rest, err)
	}
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: here\r\n\r\n" }
