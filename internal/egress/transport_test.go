package egress

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveRaw accepts connections and calls handle for each connection with its number.
func serveRaw(t *testing.T, handle func(c net.Conn, n int64)) (url string, connections *atomic.Int64) {
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
			handle(c, connections.Add(1))
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return "http://" + ln.Addr().String(), connections
}

// readRequest reads one request.
func readRequest(c net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

func TestResponsesAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sent, body, failure string }{
		"content length":       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", ""},
		"chunks and a trailer": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n", "hello", ""},
		"body until the end":   {"HTTP/1.1 200 OK\r\n\r\nhello", "hello", ""},
		"informational first":  {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", ""},
		"chunks and a length":  {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", ""},
		"short body":           {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "hello", "EOF"},
		"two lengths":          {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "", "Content-Length"},
		"endless headers":      {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeaderBytes) + "\r\n\r\n", "", "headers exceeded"},
		"not HTTP":             {"NOPE\r\n\r\n", "", "malformed"},
		"empty":                {"", "", "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := serveRaw(t, func(conn net.Conn, _ int64) {
				readRequest(conn)
				_, _ = io.WriteString(conn, c.sent)
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

// Unsolicited data must not be read as the response to the next call, and a closed connection must not fail it.
func TestConnectionsWithUnsolicitedDataAreNotReused(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, then := range map[string]func(net.Conn){
		"more in the same packet": func(c net.Conn) { _, _ = io.WriteString(c, ok+"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil") },
		"more later": func(c net.Conn) {
			_, _ = io.WriteString(c, ok)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		},
		"close": func(c net.Conn) { _, _ = io.WriteString(c, ok); _ = c.(*net.TCPConn).CloseWrite() },
		"connection: close": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{}) // closed when the client has closed the first connection
			url, connections := serveRaw(t, func(c net.Conn, n int64) {
				t.Cleanup(func() { _ = c.Close() })
				readRequest(c)
				if n == 1 {
					then(c)
					_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
					_, _ = c.Read(make([]byte, 1))
					close(closed)
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
				<-closed
			}
			if n := connections.Load(); n != 2 {
				t.Errorf("%d connections were made, want 2", n)
			}
		})
	}
}

func TestResponseBeforeTheRequestIsReadIsReturned(t *testing.T) {
	t.Parallel()
	url, _ := serveRaw(t, func(c net.Conn, _ int64) {
		_, _ = c.Read(make([]byte, 1<<10))
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
		_, _ = io.CopyN(io.Discard, c, 10<<20) // unread data would reset the connection and lose the response
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
		t.Errorf("status %d, want 413", resp.StatusCode)
	}
}

func TestConnectionsPerHostAreLimited(t *testing.T) {
	t.Parallel()
	url, _ := serveRaw(t, func(c net.Conn, _ int64) {
		t.Cleanup(func() { _ = c.Close() })
		readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n") // the body never ends
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
