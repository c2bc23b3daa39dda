package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// script is a host that takes connections, reads a request from each and says what it is told to.
func script(t *testing.T, answer func(c net.Conn, n int64)) (url string, connections *atomic.Int64) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections = &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			answer(c, connections.Add(1))
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return "http://" + ln.Addr().String(), connections
}

// heard reads one request.
func heard(c net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

func TestWhatAHostSaysIsReadAsItShould(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ says, body, failure string }{
		"a length":                 {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", ""},
		"chunks and a trailer":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n", "hello", ""},
		"until the end":            {"HTTP/1.1 200 OK\r\n\r\nhello", "hello", ""},
		"informational ones first": {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", ""},
		"chunks beside a length":   {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", ""},
		"a short body":             {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "hello", "EOF"},
		"two lengths":              {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "", "Content-Length"},
		"headers without end":      {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeaderBytes) + "\r\n\r\n", "", "larger than allowed"},
		"nonsense":                 {"NOPE\r\n\r\n", "", "malformed"},
		"nothing":                  {"", "", "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := script(t, func(conn net.Conn, _ int64) {
				heard(conn)
				_, _ = io.WriteString(conn, c.says)
				_ = conn.Close()
			})
			client := newClient(t, Options{AllowPrivate: loopback})
			body, err := fetch(client.current.Load().transport, newRequest(t, url))
			if body != c.body || (err == nil) != (c.failure == "") || (err != nil && !strings.Contains(err.Error(), c.failure)) {
				t.Errorf("body %q, error %v; want %q and %q", body, err, c.body, c.failure)
			}
		})
	}
}

func fetch(rt http.RoundTripper, req *http.Request) (string, error) {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// A host that says more than it was asked must not have it taken for the answer to the next call, and one that has hung up
// must not fail it.
func TestConnectionsThatAreNotQuietAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, then := range map[string]func(net.Conn){
		"more in the same packet": func(c net.Conn) { _, _ = io.WriteString(c, ok+"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil") },
		"more later": func(c net.Conn) {
			_, _ = io.WriteString(c, ok)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nevil")
		},
		"the end": func(c net.Conn) { _, _ = io.WriteString(c, ok); _ = c.Close() },
		"a wish to close": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := make(chan struct{})
			url, connections := script(t, func(c net.Conn, n int64) {
				t.Cleanup(func() { _ = c.Close() })
				heard(c)
				if n == 1 {
					then(c)
					close(said)
					return
				}
				_, _ = io.WriteString(c, ok)
			})
			client := newClient(t, Options{AllowPrivate: loopback})
			rt := client.current.Load().transport
			for range 2 {
				if body, err := fetch(rt, newRequest(t, url)); body != "ok" || err != nil {
					t.Fatalf("body %q, error %v", body, err)
				}
				<-said
			}
			if n := connections.Load(); n != 2 {
				t.Errorf("%d connections were made, want 2", n)
			}
		})
	}
}

func TestAnAnswerBeforeTheWholeRequestWasReadCounts(t *testing.T) {
	t.Parallel()
	url, _ := script(t, func(c net.Conn, _ int64) {
		_, _ = c.Read(make([]byte, 1<<10))
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
		_, _ = io.CopyN(io.Discard, c, 10<<20) // else the system may throw the answer away with the connection
		_ = c.Close()
	})
	client := newClient(t, Options{AllowPrivate: loopback})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(make([]byte, 12<<20)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestConnectionsPerHostAreBounded(t *testing.T) {
	t.Parallel()
	url, _ := script(t, func(c net.Conn, _ int64) {
		t.Cleanup(func() { _ = c.Close() })
		heard(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n") // and the body never ends
	})
	client := newClient(t, Options{AllowPrivate: loopback, MaxConnsPerHost: 1})
	first, err := client.Do(newRequest(t, url))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if resp, err := client.Do(newRequest(t, url).WithContext(ctx)); err == nil {
		_ = resp.Body.Close()
		t.Fatal("a second connection was made")
	}
	_ = first.Body.Close()
	second, err := client.Do(newRequest(t, url))
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Body.Close()
}

// FuzzAnswers holds what we make of an answer against what net/http's transport makes of it.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n",
		"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", "HTTP/1.1 200 OK\nContent-Length: 1\n\nxy", "HTTP/1.1 101 Switching\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			return &canned{says: bytes.NewReader(says), asked: make(chan struct{})}, nil
		}
		classic := &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderBytes}
		lean := &transport{dial: dial, pool: newPool(1), classic: classic, http2: map[string]*http.Transport{}}
		want, got := sketchOf(classic, newRequest(t, "http://host")), sketchOf(lean, newRequest(t, "http://host"))
		if want != got {
			t.Errorf("read %q as %s, net/http as %s", says, got, want)
		}
	})
}

func sketchOf(rt http.RoundTripper, req *http.Request) string {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "error"
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return "switching"
	}
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %q %d %v %v", resp.StatusCode, body, resp.ContentLength, resp.Header, err != nil)
}

// canned is a connection whose other side says something, whatever it is asked.
type canned struct {
	net.Conn
	says  io.Reader
	asked chan struct{}
	once  sync.Once
}

func (c *canned) Read(p []byte) (int, error) {
	<-c.asked
	return c.says.Read(p)
}

func (c *canned) Write(p []byte) (int, error) {
	c.once.Do(func() { close(c.asked) })
	return len(p), nil
}

func (c *canned) Close() error {
	c.once.Do(func() { close(c.asked) })
	return nil
}

func (*canned) SetDeadline(time.Time) error        { return nil }
func (*canned) SetReadDeadline(time.Time) error    { return nil }
func (*canned) SetWriteDeadline(t time.Time) error { return errors.ErrUnsupported }

func BenchmarkCall(b *testing.B) {
	var lc net.ListenConfig
	ln, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		in := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		}
	}()
	client := New(Options{AllowPrivate: loopback})
	defer client.Close()
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+ln.Addr().String(), strings.NewReader("{}"))
		if _, err := fetch(client.current.Load().transport, req); err != nil {
			b.Fatal(err)
		}
	}
}

// failing says once why it fails; after that it looks as if it had ended.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

// A connection that breaks while it is waited for must not pass for one that has ended.
func TestWhatWaitingHitIsSaidToTheReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset by the host")
	c := &conn{head: headLimit{from: &failing{broken}, left: -1}}
	c.takeRoom()
	b := &body{ReadCloser: io.NopCloser(&c.reader), ctx: t.Context(), conn: c}
	b.Wait()
	if _, err := c.reader.ReadByte(); !errors.Is(err, broken) {
		t.Errorf("after waiting: %v, want %v", err, broken)
	}
}
