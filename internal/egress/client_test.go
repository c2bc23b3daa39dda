package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"fairlead.dev/internal/llm"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func newServer(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func newRequest(t *testing.T, target string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func read(t *testing.T, c *Client, target string) (*http.Response, string) {
	t.Helper()
	resp, err := c.Do(newRequest(t, target))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func wantKind(t *testing.T, err error, kind llm.Kind, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *llm.Error", err, err)
	}
	if e.Kind != kind {
		t.Errorf("kind = %s, want %s (%v)", e.Kind, kind, err)
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			t.Errorf("message %q lacks %q", e.Message, word)
		}
	}
}

func TestGuardRunsOnTheConnection(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := newServer(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })

	_, err := newClient(t, Options{}).Do(newRequest(t, server.URL))

	wantKind(t, err, llm.UpstreamConnect, "127.0.0.1", "loopback", "allow_private_upstreams")
	if calls.Load() != 0 {
		t.Error("the server was called")
	}
}

func TestAllowedByRangeOrByHost(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	host := strings.TrimPrefix(server.URL, "http://")
	for name, o := range map[string]Options{"range": {AllowPrivate: loopback}, "host": {AllowHosts: []string{host}}} {
		if _, body := read(t, newClient(t, o), server.URL); body != "ok" {
			t.Errorf("%s: body = %q, want ok", name, body)
		}
	}
}

func TestRedirectIsReturned(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	resp, _ := read(t, newClient(t, Options{AllowPrivate: loopback}), server.URL)
	if resp.StatusCode != http.StatusTemporaryRedirect || calls.Load() != 1 {
		t.Errorf("status = %d after %d calls, want 307 after 1", resp.StatusCode, calls.Load())
	}
}

func TestNothingIsDecompressed(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("text"))
	_ = z.Close()
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "" {
			t.Errorf("Accept-Encoding = %q, want none", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(zipped.Bytes())
	})
	if _, body := read(t, newClient(t, Options{AllowPrivate: loopback}), server.URL); body != zipped.String() {
		t.Error("the body was changed")
	}
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	c := newClient(t, Options{AllowPrivate: loopback})
	want := []bool{false, true, true}
	for i, reused := range want {
		ctx, timing := Trace(t.Context())
		resp, err := c.Do(newRequest(t, server.URL).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if timing.Reused() != reused {
			t.Errorf("call %d: reused = %v, want %v", i, timing.Reused(), reused)
		}
		if timing.Connected().IsZero() {
			t.Errorf("call %d: the time of the connection is unknown", i)
		}
	}
}

func TestUpdateClosesIdleConnections(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 8)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := newClient(t, Options{AllowPrivate: loopback})
	read(t, c, server.URL)

	c.Update(Options{AllowPrivate: loopback}) // the options are equal, so nothing happens
	ctx, timing := Trace(t.Context())
	resp, err := c.Do(newRequest(t, server.URL).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if !timing.Reused() {
		t.Error("an update with equal options closed the idle connection")
	}

	c.Update(Options{})
	wait(t, closed)
	_, err = c.Do(newRequest(t, server.URL))
	wantKind(t, err, llm.UpstreamConnect)
}

func TestCancellationClosesTheCall(t *testing.T) {
	t.Parallel()
	arrived, gone := make(chan struct{}), make(chan struct{})
	server := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		close(gone)
	})
	c := newClient(t, Options{AllowPrivate: loopback})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()

	_, err := c.Do(newRequest(t, server.URL).WithContext(ctx))

	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	if _, ok := errors.AsType[*llm.Error](err); ok {
		t.Error("a cancelled call returned an *llm.Error")
	}
	wait(t, gone)
}

func TestCancellationWithinTheBody(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := newClient(t, Options{AllowPrivate: loopback}).Do(newRequest(t, server.URL).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadFull(resp.Body, make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read = %v, want context.Canceled", err)
	}
	wait(t, gone)
}

func TestFailuresAreClassified(t *testing.T) {
	t.Parallel()
	refused := closedAddress(t)
	cut := newServer(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	silent := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	t.Cleanup(secure.Close)
	babbling, _ := serveRaw(t, func(conn net.Conn, _ int64) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "220 mail.example ESMTP\r\n")
		_ = conn.Close()
	})
	tests := []struct {
		name, url string
		deadline  time.Duration
		kind      llm.Kind
		words     string
	}{
		{"refused", "http://" + refused, 0, llm.UpstreamConnect, "refused the connection"},
		{"cut", cut.URL, 0, llm.UpstreamConnect, "closed the connection"},
		{"another protocol", babbling, 0, llm.UpstreamConnect, "is not HTTP"},
		{"deadline", silent.URL, 50 * time.Millisecond, llm.UpstreamTimeout, "in time"},
		{"unknown certificate", secure.URL, 0, llm.UpstreamConnect, "secure connection"},
		{"TLS to a plain port", "https://" + strings.TrimPrefix(cut.URL, "http://"), 0, llm.UpstreamConnect, "secure connection"},
		{"no such host", "http://missing.test/", 0, llm.UpstreamConnect, "could not be resolved"},
		{"other scheme", "file:///etc/passwd", 0, llm.UpstreamConnect, "https://"},
	}
	c := newClient(t, Options{AllowPrivate: loopback, Resolver: resolverOf(t, nil)})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := newRequest(t, tt.url+"?key=canary")
			if tt.deadline > 0 {
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				req = req.WithContext(ctx)
			}
			_, err := c.Do(req)
			wantKind(t, err, tt.kind, tt.words)
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error shows the URL: %v", err)
			}
		})
	}
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	// With a resolver that never responds, connecting exceeds any time limit, and no network access is needed.
	hung := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	c := newClient(t, Options{Connect: 50 * time.Millisecond, Resolver: hung})
	started := time.Now()
	_, err := c.Do(newRequest(t, "http://slow.test/"))
	if took := time.Since(started); took > 4*time.Second {
		t.Errorf("call ended after %s, want at most 4 s", took)
	}
	if e, ok := errors.AsType[*llm.Error](err); !ok || !e.Kind.FromUpstream() {
		t.Errorf("error = %v, want an upstream error", err)
	}
}

func TestHTTP2ToTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	c := newClient(t, Options{AllowPrivate: loopback, RootCAs: roots})
	if _, body := read(t, c, server.URL); body != "HTTP/2.0" {
		t.Errorf("protocol = %s, want HTTP/2.0", body)
	}
}

// The connection of a WebSocket belongs to the caller, also at a host with HTTP/2, and outlives the context of the handshake.
func TestWebSocketIsOpenedOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		kind, data, err := conn.Read(context.Background())
		if err == nil {
			_ = conn.Write(context.Background(), kind, append([]byte(r.Proto+" "), data...))
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	dial := func(o Options) (*websocket.Conn, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		conn, resp, err := websocket.Dial(ctx, server.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: doer{newClient(t, o)}}})
		if resp != nil && resp.Body != nil {
			_ = resp.Body.Close()
		}
		return conn, err
	}
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	conn, err := dial(Options{AllowPrivate: loopback, RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, data, err := conn.Read(t.Context()); err != nil || string(data) != "HTTP/1.1 hello" {
		t.Errorf("%q, %v", data, err)
	}
	_, err = dial(Options{RootCAs: roots})
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.UpstreamConnect {
		t.Errorf("private address: got %v, want UpstreamConnect", err)
	}
}

// doer implements http.RoundTripper with a Client.
type doer struct{ c *Client }

func (d doer) RoundTrip(r *http.Request) (*http.Response, error) { return d.c.Do(r) }

func TestProxyIsExplicit(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	proxy := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.String())
		_, _ = io.WriteString(w, "by proxy")
	})
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Options{Proxy: through})
	if _, body := read(t, c, "http://provider.test/v1"); body != "by proxy" || asked.Load() != "http://provider.test/v1" {
		t.Errorf("body %q, proxy was asked for %v", body, asked.Load())
	}
	_, err = c.Do(newRequest(t, "http://169.254.169.254/"))
	wantKind(t, err, llm.UpstreamConnect, "link-local")
}

func TestSendClassifiesForOtherTransports(t *testing.T) {
	t.Parallel()
	broken := roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	_, err := Send(broken, newRequest(t, "http://simulator.test/"))
	wantKind(t, err, llm.UpstreamConnect, "closed the connection")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// closedAddress returns a loopback address without a listener.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func wait(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(10 * time.Second):
		t.Fatal("no result after 10 s")
	}
}
