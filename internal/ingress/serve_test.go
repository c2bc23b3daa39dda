package ingress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	_, _ = fmt.Fprintf(w, "%s %s %s %q", r.Method, r.URL, r.Host, body)
}

func TestOneConnectionCarriesManyRequests(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(echo))
	c := dial(t, ln)
	for i := range 3 {
		c.send("POST /%d HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello", i)
		resp, text := c.receive("POST")
		if want := fmt.Sprintf(`POST /%d here "hello"`, i); resp.StatusCode != http.StatusOK || text != want || resp.Close {
			t.Errorf("got %d %s, close %t", resp.StatusCode, text, resp.Close)
		}
	}
}

func TestRequestsThatComeTogetherAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(echo))
	c := dial(t, ln)
	c.send("%s", get("/1")+"POST /2 HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\nab"+get("/3"))
	for i, want := range []string{`GET /1 here ""`, `POST /2 here "ab"`, `GET /3 here ""`} {
		if _, text := c.receive("GET"); text != want {
			t.Errorf("answer %d is %s", i, text)
		}
	}
}

func TestBodiesComeInAnyPieces(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, err)
	}))
	c := dial(t, ln)
	body := strings.Repeat("0123456789", 10_000)
	for _, cut := range []int{1, 100, 4096, 99_999} {
		c.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:cut])
		c.send("%s", body[cut:])
		if _, text := c.receive("POST"); text != "100000 <nil>" {
			t.Errorf("cut at %d: %s", cut, text)
		}
	}
}

func TestChunksAreTheLastRequestOfTheirConnection(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(echo))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"+get("/stray"))
	if resp, text := c.receive("POST"); text != `POST / here "abc"` || !resp.Close {
		t.Errorf("got %s, close %t", text, resp.Close)
	}
	c.closed()
}

func TestClientsThatAskMaySendTheirBody(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(echo))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
	if line, _, err := c.in.ReadLine(); err != nil || string(line) != "HTTP/1.1 100 Continue" {
		t.Fatalf("got %q, %v", line, err)
	}
	_, _, _ = c.in.ReadLine() // the empty one
	c.send("abc")
	if resp, text := c.receive("POST"); text != `POST / here "abc"` || resp.Close {
		t.Errorf("got %s, close %t", text, resp.Close)
	}
}

func TestUnreadBodiesNeverBecomeRequests(t *testing.T) {
	t.Parallel()
	deaf := options(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	inner := get("/inner")
	for name, c := range map[string]struct {
		head, body string
		again      bool
	}{
		"come with its head":  {fmt.Sprintf("Content-Length: %d", len(inner)), inner, true},
		"more than has come":  {"Content-Length: 300000", inner, false},
		"in chunks":           {"Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(inner), inner), false},
		"waiting to be asked": {fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d", len(inner)), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ln := start(t, deaf)
			conn := dial(t, ln)
			conn.send("POST /outer HTTP/1.1\r\nHost: here\r\n%s\r\n\r\n%s", c.head, c.body)
			if resp, text := conn.receive("POST"); text != "/outer" || resp.Close == c.again {
				t.Errorf("got %s, close %t", text, resp.Close)
			}
			if !c.again {
				conn.closed()
				return
			}
			conn.send("%s", get("/next"))
			if _, text := conn.receive("GET"); text != "/next" {
				t.Errorf("then %s", text)
			}
		})
	}
}

func TestAClientThatSendsEverythingFirstReadsItsAnswer(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }))
	c, body := dial(t, ln), strings.Repeat("x", 32<<20)
	c.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if resp, _ := c.receive("POST"); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d", resp.StatusCode)
	}
}

func TestABodyThatWasPassedOverCannotBeReadOn(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	_, ln := start(t, options(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, err := r.Body.Read(make([]byte, 10))
		seen <- err
	}))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\nabc")
	if err := <-seen; !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("got %v", err)
	}
}

func TestACutBodyIsAnError(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	_, ln := start(t, options(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		seen <- err
	}))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 30\r\n\r\nabc")
	_ = c.Close() // in the middle
	if err := <-seen; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestRefusalsCloseTheConnection(t *testing.T) {
	t.Parallel()
	o := options(echo)
	o.HeaderSize = 200
	_, ln := start(t, o)
	for name, c := range map[string]struct {
		text   string
		status int
	}{
		"malformed":           {"GET / HTTP/1.1\nHost: a\n\n", 400},
		"too large":           {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 200), 431},
		"too large, and over": {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 200) + "\r\n\r\n", 431},
		"HTTP/2 unasked":      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, ln)
			conn.send("%s", c.text)
			if resp, text := conn.receive("GET"); resp.StatusCode != c.status || !resp.Close || text == "" {
				t.Errorf("got %d %q, close %t", resp.StatusCode, text, resp.Close)
			}
			conn.closed()
		})
	}
}

func TestASlowHeadIsCut(t *testing.T) {
	t.Parallel()
	o := options(echo)
	o.HeaderTime = 10 * time.Millisecond
	_, ln := start(t, o)
	slow := dial(t, ln)
	slow.send("GET / HTTP/1.1\r\n")
	if resp, _ := slow.receive("GET"); resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a slow head is answered with %d", resp.StatusCode)
	}
	slow.closed()
	silent := dial(t, ln)
	silent.closed()
}

func TestAnIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	o := options(echo)
	o.IdleTime = 10 * time.Millisecond
	_, ln := start(t, o)
	c := dial(t, ln)
	c.send("%s", get("/"))
	c.receive("GET")
	c.closed()
}

func TestDeadlinesOfTheHandlerHold(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	_, ln := start(t, options(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err := io.ReadAll(r.Body)
		seen <- err
	}))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 30\r\n\r\nabc")
	if err, ok := (<-seen).(net.Error); !ok || !err.Timeout() { //nolint:errorlint // as net/http's, unwrapped
		t.Errorf("got %v", err)
	}
}

func TestAClientThatDoesNotReadIsCut(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	o := options(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		for {
			_ = rc.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				<-r.Context().Done() // whoever works for it is told
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
		t.Error("an answer that nobody reads was written")
	}
}

func TestAClientThatLeavesEndsItsRequest(t *testing.T) {
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

func TestAClientThatWaitsIsNotTakenForGone(t *testing.T) {
	t.Parallel()
	begun, release := make(chan bool, 2), make(chan bool)
	s, ln := start(t, options(func(http.ResponseWriter, *http.Request) {
		begun <- true
		<-release
	}))
	c := dial(t, ln)
	c.send("%s", get("/")+get("/next")) // what it has said besides is for later
	<-begun
	requests := s.opened(s.ticks.Load()+2, nil)
	if len(requests) != 1 {
		t.Fatalf("%d requests are watched", len(requests))
	}
	if which := gone(requests); len(which) > 0 {
		t.Error("a client that waits for its answer is taken for gone")
	}
	close(release)
	c.receive("GET")
	c.receive("GET")
}

func TestAPanicEndsItsConnectionOnly(t *testing.T) {
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
		t.Errorf("got %d", resp.StatusCode)
	}
}

func TestShutdownLetsAnswersEnd(t *testing.T) {
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
		t.Errorf("with an open answer it returned %v", err)
	}
	idle.closed()
	close(release)
	if resp, text := slow.receive("GET"); text != "whole" || !resp.Close {
		t.Errorf("got %q, close %t", text, resp.Close)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("then %v", err)
	}
}

func TestShutdownRightAfterAnAnswerWaitsForNothing(t *testing.T) {
	t.Parallel()
	for range 200 {
		s, ln := start(t, options(echo))
		c := dial(t, ln)
		c.send("%s", get("/"))
		c.receive("GET")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := s.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

func TestShutdownDoesNotWaitForWhoWasAnsweredAndStillSends(t *testing.T) {
	t.Parallel()
	srv, ln := start(t, options(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }))
	c := dial(t, ln)
	c.send("%s", "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 30000000\r\n\r\nabc")
	c.receive("POST")
	c.closed() // for writing: the server listens on
	ctx, cancel := context.WithTimeout(t.Context(), lingering/2)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Errorf("the stop took longer than %s: %v", lingering/2, err)
	}
}

func TestTLSAndHTTP2(t *testing.T) {
	t.Parallel()
	lender := httptest.NewTLSServer(nil) // has a certificate that its client trusts
	defer lender.Close()
	o := options(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Proto, " ", r.TLS != nil) })
	var lc net.ListenConfig
	plain, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, o, tls.NewListener(plain, &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}))
	for _, two := range []bool{true, false} {
		transport := lender.Client().Transport.(*http.Transport).Clone()
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

func TestHTTPWhereHTTPSIsSpokenIsToldSo(t *testing.T) {
	t.Parallel()
	lender := httptest.NewTLSServer(nil) // has a certificate
	defer lender.Close()
	var lc net.ListenConfig
	plain, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := options(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
	serve(t, o, tls.NewListener(plain, &tls.Config{Certificates: lender.TLS.Certificates}))
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
		told := strings.HasPrefix(string(text), "HTTP/1.1 400 ") && strings.Contains(string(text), "write https://")
		if isHTTP := !strings.HasPrefix(sent, "SSH"); told != isHTTP {
			t.Errorf("%q is answered with %q", sent, text)
		}
	}
}

// handlers answer in every way that ours do. Each is put to net/http's server as well.
var handlers = map[string]http.HandlerFunc{
	"nothing":           func(http.ResponseWriter, *http.Request) {},
	"short":             func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>short") },
	"long":              func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100_000)) },
	"in pieces":         func(w http.ResponseWriter, _ *http.Request) { pieces(w, 100, false) },
	"flushed":           func(w http.ResponseWriter, _ *http.Request) { pieces(w, 20, true) },
	"flushed empty":     func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
	"status":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
	"error":             func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) },
	"no content":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"not modified":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
	"redirect":          func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) },
	"length declared":   func(w http.ResponseWriter, _ *http.Request) { declare(w, "5", "hello") },
	"long declared":     func(w http.ResponseWriter, _ *http.Request) { declare(w, "50000", strings.Repeat("a", 50_000)) },
	"too much declared": func(w http.ResponseWriter, _ *http.Request) { declare(w, "3", "hello") },
	"headers":           func(w http.ResponseWriter, _ *http.Request) { lateHeaders(w) },
	"closing":           func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") },
	"lines in a value": func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Lines"] = []string{"a\r\nInjected: b"}
	},
	"own date": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
		w.Header().Set("Content-Type", "text/css")
		_, _ = io.WriteString(w, "a")
	},
}

func pieces(w http.ResponseWriter, n int, flush bool) {
	for i := range n {
		_, _ = fmt.Fprintf(w, "data: %d %s\n\n", i, strings.Repeat("x", i))
		if flush {
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func declare(w http.ResponseWriter, length, text string) {
	w.Header().Set("Content-Length", length)
	_, _ = io.WriteString(w, text)
}

func lateHeaders(w http.ResponseWriter) {
	w.Header()["X-Two"] = []string{"a", "b"}
	w.WriteHeader(http.StatusAccepted)
	w.Header().Set("X-Late", "not sent")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, "x")
}

func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	for name, h := range handlers {
		for _, head := range []string{"GET / HTTP/1.1\r\n", "HEAD / HTTP/1.1\r\n", "GET / HTTP/1.0\r\n", "GET / HTTP/1.1\r\nConnection: close\r\n"} {
			t.Run(name+" "+head[:min(15, len(head))], func(t *testing.T) {
				t.Parallel()
				theirs := httptest.NewServer(h)
				defer theirs.Close()
				_, ours := start(t, options(h))
				text := head + "Host: here\r\n\r\n"
				if diff := cmp.Diff(answered(t, theirs.Listener, text), answered(t, ours, text)); diff != "" {
					t.Errorf("(-net/http, +ours):\n%s", diff)
				}
			})
		}
	}
}

// seen is what a client sees of an answer.
type seen struct {
	Status  string
	Header  http.Header
	Body    string
	Err     string
	Chunked bool
	Length  int64
	Close   bool
}

func answered(t *testing.T, ln net.Listener, text string) seen {
	t.Helper()
	c := dial(t, ln)
	c.send("%s", text)
	method, _, _ := strings.Cut(text, " ")
	resp, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		return seen{Err: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	resp.Header.Del("Connection") // Close tells what it means
	s := seen{
		Status: resp.Status, Header: resp.Header, Body: string(body), Err: fmt.Sprint(err),
		Chunked: len(resp.TransferEncoding) > 0, Length: resp.ContentLength, Close: resp.Close,
	}
	if _, err := time.Parse(http.TimeFormat, resp.Header.Get("Date")); err != nil {
		t.Errorf("date: %v", err)
	}
	if len(resp.Header["Date"]) == 1 && resp.Header.Get("Date")[12:16] != "1970" {
		s.Header.Del("Date")
	}
	return s
}

func TestANonsensicalLengthIsMadeRight(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(func(w http.ResponseWriter, _ *http.Request) { declare(w, "many", "hello") }))
	c := dial(t, ln)
	c.send("%s", get("/"))
	if resp, text := c.receive("GET"); text != "hello" || resp.ContentLength != 5 {
		t.Errorf("got %q of %d", text, resp.ContentLength)
	}
}

func TestManyClientsAtATime(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(echo))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			c := dial(t, ln)
			for j := range 50 {
				body := strings.Repeat("b", i*j*7)
				_, _ = fmt.Fprintf(c, "POST /%d/%d HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s", i, j, len(body), body)
				resp, err := http.ReadResponse(c.in, nil)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(bufio.NewReader(resp.Body))
				_ = resp.Body.Close()
				if want := fmt.Sprintf("POST /%d/%d here %q", i, j, body); err != nil || string(text) != want {
					t.Errorf("got %.80s, %v", text, err)
				}
			}
		})
	}
	wg.Wait()
}

// An answer that comes in pieces has no headers any more once they are sent; what a handler says there later is lost, and not the
// next answer's.
func TestHeadersOfAStreamEndWithItsHead(t *testing.T) {
	t.Parallel()
	_, ln := start(t, options(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.Header().Set("X-First", "yes")
			_ = http.NewResponseController(w).Flush()
			w.Header().Set("X-Late", "yes")
		}
		_, _ = io.WriteString(w, "aye")
	}))
	c := dial(t, ln)
	for _, path := range []string{"/stream", "/whole", "/stream"} {
		c.send("GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		first, late := resp.Header.Get("X-First"), resp.Header.Get("X-Late")
		if string(text) != "aye" || err != nil || (first == "yes") != (path == "/stream") || late != "" {
			t.Errorf("%s: %q, %v, first %q, late %q", path, text, err, first, late)
		}
	}
}
