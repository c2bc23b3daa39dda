package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	_, _ = fmt.Fprintf(w, "%s %s %s %q", r.Method, r.URL, r.Host, body)
}

func TestConnectionIsClosedAfterAChunkedRequest(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(echo))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"+get("/stray"))
	if resp, text := c.receive("POST"); text != `POST / here "abc"` || !resp.Close {
		t.Errorf("got %s, close %t; want the body abc, close true", text, resp.Close)
	}
	c.closed()
}

func serveHandler(t *testing.T, h http.HandlerFunc) (*Server, net.Listener) {
	t.Helper()
	return start(t, options(h))
}

// The server reads at most one request from ambiguously framed data.
func TestAmbiguousFramingIsAtMostOneRequest(t *testing.T) {
	t.Parallel()
	const start = "POST /outer HTTP/1.1\r\nHost: here\r\n"
	inner := get("/inner")
	all := fmt.Sprintf("Content-Length: %d\r\n", len("0\r\n\r\n"+inner))
	for name, text := range map[string]string{
		"chunked before length":  start + "Transfer-Encoding: chunked\r\n" + all + "\r\n0\r\n\r\n" + inner,
		"chunked after length":   start + all + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"two codings":            start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" + all + "\r\n0\r\n\r\n" + inner,
		"space before the colon": start + "Transfer-Encoding : chunked\r\n" + all + "\r\n0\r\n\r\n" + inner,
		"line ends with LF":      start + "X: x\nTransfer-Encoding: chunked\r\n" + all + "\r\n0\r\n\r\n" + inner,
		"folded header":          start + "Foo: bar\r\n\tTransfer-Encoding: chunked\r\n" + all + "\r\n0\r\n\r\n" + inner,
		"HTTP/1.0 with chunks":   strings.Replace(start, "1.1", "1.0", 1) + "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n" + all + "\r\n0\r\n\r\n" + inner,
		"two lengths":            start + "Content-Length: 5\r\nContent-Length: 0\r\n\r\n" + inner,
		"invalid chunk":          start + "Transfer-Encoding: chunked\r\n\r\ng\r\n" + inner,
		"chunk without end":      start + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n" + inner,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ln := serveHandler(t, func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/inner" {
					t.Error("the inner request was served")
				}
				_, _ = io.Copy(io.Discard, r.Body)
			})
			c := dial(t, ln)
			c.send("%s", text)
			c.receive("POST")
			_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // an open connection sends nothing
			if rest, _ := io.ReadAll(c.in); len(rest) > 0 {
				t.Errorf("second response: %q", rest)
			}
		})
	}
}

func TestUnreadBodyIsNotReadAsARequest(t *testing.T) {
	t.Parallel()
	deaf := options(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	inner := get("/inner")
	for name, c := range map[string]struct {
		head, body string
		again      bool
	}{
		"sent with the headers":  {fmt.Sprintf("Content-Length: %d", len(inner)), inner, true},
		"partly sent":            {"Content-Length: 300000", inner, false},
		"in chunks":              {"Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(inner), inner), false},
		"waits for 100 Continue": {fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d", len(inner)), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ln := start(t, deaf)
			conn := dial(t, ln)
			conn.send("POST /outer HTTP/1.1\r\nHost: here\r\n%s\r\n\r\n%s", c.head, c.body)
			if resp, text := conn.receive("POST"); text != "/outer" || resp.Close == c.again {
				t.Errorf("got %s, close %t; want /outer, %t", text, resp.Close, !c.again)
			}
			if !c.again {
				conn.closed()
				return
			}
			conn.send("%s", get("/next"))
			if _, text := conn.receive("GET"); text != "/next" {
				t.Errorf("second response is %s, want /next", text)
			}
		})
	}
}

func TestLargeUnreadBodyGetsItsResponse(t *testing.T) {
	t.Parallel()
	_, ln := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/close" {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
			_ = r.Body.Close()
		}
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	body := strings.Repeat(get("/inner"), 64<<20/len(get("/inner")))
	for _, path := range []string{"/", "/close"} {
		for _, header := range []string{"Connection: close", "Connection: keep-alive"} {
			c := dial(t, ln)
			c.send("POST %s HTTP/1.1\r\nHost: here\r\n%s\r\nContent-Length: %d\r\n\r\n%s", path, header, len(body), body)
			if resp, _ := c.receive("POST"); resp.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %s: status %d, want 413", path, header, resp.StatusCode)
			}
			c.closed()
		}
	}
}

func TestBodyThatTimedOutIsNotAwaitedAgain(t *testing.T) {
	t.Parallel()
	_, ln := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Millisecond))
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusBadRequest)
	})
	for _, framing := range []string{"Content-Length: 9", "Transfer-Encoding: chunked"} {
		c := dial(t, ln)
		c.send("POST / HTTP/1.1\r\nHost: here\r\n%s\r\n\r\n", framing)
		began := time.Now()
		c.receive("POST")
		if took := time.Since(began); took >= drainTime {
			t.Errorf("%s: response after %s, want it before the rest of the body could time out", framing, took)
		}
		c.closed()
	}
}

func TestTruncatedBodyIsAnError(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	_, ln := start(t, options(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		seen <- err
	}))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 30\r\n\r\nabc")
	_ = c.Close() // the connection closes before the end of the body
	if err := <-seen; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read a truncated body: %v, want io.ErrUnexpectedEOF", err)
	}
}

func TestMalformedRequestIsRejectedAndTheConnectionClosed(t *testing.T) {
	t.Parallel()
	o := options(echo)
	o.HeaderSize = 8 << 10
	_, ln := start(t, o)
	for name, c := range map[string]struct {
		text   string
		status int
	}{
		"malformed line":      {"GET /\r\nHost: a\r\n\r\n", 400},
		"malformed header":    {"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n", 400},
		"no host":             {"GET / HTTP/1.1\r\n\r\n", 400},
		"two hosts":           {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		"two lengths":         {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
		"signed length":       {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc", 400},
		"other coding":        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
		"headers too large":   {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 9000), 431},
		"unsupported version": {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, ln)
			conn.send("%s", c.text)
			if resp, text := conn.receive("GET"); resp.StatusCode != c.status || !resp.Close || !strings.HasPrefix(text, "rejected: ") {
				t.Errorf("got %d %q, close %t; want status %d, close true", resp.StatusCode, text, resp.Close, c.status)
			}
			conn.closed()
		})
	}
}

func TestConnectionWithSlowHeadersIsClosed(t *testing.T) {
	t.Parallel()
	o := options(echo)
	o.HeaderTime = 10 * time.Millisecond
	_, ln := start(t, o)
	slow := dial(t, ln)
	slow.send("GET / HTTP/1.1\r\n")
	slow.closed()
	silent := dial(t, ln)
	silent.closed()
}

func TestWriteDeadlineOfTheHandlerApplies(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	o := options(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		for {
			_ = rc.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				<-r.Context().Done() // the handler is notified
				seen <- err
				return
			}
		}
	})
	o.Unread = 64 << 10
	_, ln := start(t, o)
	c := dial(t, ln)
	c.send("%s", get("/"))
	if err := <-seen; err == nil {
		t.Error("the handler wrote an unread response after its write deadline")
	}
}

func TestDisconnectCancelsTheRequest(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/whole", "/stream", "/posted"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			begun, ended := make(chan bool), make(chan bool)
			_, ln := start(t, options(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				if path == "/stream" {
					_ = http.NewResponseController(w).Flush()
				}
				begun <- true
				<-r.Context().Done()
				ended <- true
			}))
			c := dial(t, ln)
			if path == "/posted" {
				c.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\nabc")
			} else {
				c.send("%s", get(path))
			}
			<-begun
			_ = c.Close()
			<-ended
		})
	}
}

func TestPanicClosesOnlyItsConnection(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("a defect")
		}
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
	}))
	for _, path := range []string{"/panic", "/abort"} {
		c := dial(t, ln)
		c.send("%s", get(path))
		c.closed()
	}
	c := dial(t, ln)
	c.send("%s", get("/"))
	if resp, _ := c.receive("GET"); resp.StatusCode != http.StatusOK {
		t.Errorf("status = %d after a panic on another connection, want 200", resp.StatusCode)
	}
}

func TestShutdownWaitsForRunningRequests(t *testing.T) {
	t.Parallel()
	begun, release := make(chan bool), make(chan bool)
	s, ln := start(t, options(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			begun <- true
			<-release
		}
		_, _ = io.WriteString(w, "whole")
	}))
	idle, slow := dial(t, ln), dial(t, ln)
	idle.send("%s", get("/"))
	idle.receive("GET")
	slow.send("%s", get("/slow"))
	<-begun
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown with a running request returned %v, want context.Canceled", err)
	}
	idle.closed()
	close(release)
	if resp, text := slow.receive("GET"); text != "whole" || !resp.Close {
		t.Errorf("got %q, close %t; want the whole response, close true", text, resp.Close)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("second Shutdown returned %v", err)
	}
}

func TestTLSAndHTTP2(t *testing.T) {
	t.Parallel()
	certSource := httptest.NewTLSServer(nil) // the server provides a certificate and a client that trusts it
	defer certSource.Close()
	o := options(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Proto, " ", r.TLS != nil) })
	var lc net.ListenConfig
	plain, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, o, tls.NewListener(plain, &tls.Config{Certificates: certSource.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}))
	for _, two := range []bool{true, false} {
		transport := certSource.Client().Transport.(*http.Transport).Clone()
		transport.Protocols = &http.Protocols{}
		transport.Protocols.SetHTTP1(!two)
		transport.Protocols.SetHTTP2(two)
		client := &http.Client{Transport: transport}
		resp, err := client.Get("https://" + plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
		if want := map[bool]string{true: "HTTP/2.0 true", false: "HTTP/1.1 true"}[two]; string(text) != want {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

func TestPlainHTTPOnATLSListenerIsRejected(t *testing.T) {
	t.Parallel()
	certSource := httptest.NewTLSServer(nil) // the server provides a certificate
	defer certSource.Close()
	var lc net.ListenConfig
	plain, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := options(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
	serve(t, o, tls.NewListener(plain, &tls.Config{Certificates: certSource.TLS.Certificates}))
	for _, sent := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "SSH-2.0-x\r\n"} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(c)
		_ = c.Close()
		rejected := strings.HasPrefix(string(text), "HTTP/1.0 400 ") && strings.Contains(string(text), "HTTP request to an HTTPS server")
		if isHTTP := !strings.HasPrefix(sent, "SSH"); rejected != isHTTP {
			t.Errorf("response to %q is %q; want a 400 for plain HTTP only", sent, text)
		}
	}
}
