package blackbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// wireCall is a raw connection for requests that no client library would send.
type wireCall struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, g *harness.Gateway) *wireCall {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &wireCall{t, conn, bufio.NewReader(conn)}
}

func (w *wireCall) send(format string, args ...any) {
	w.t.Helper()
	if _, err := fmt.Fprintf(w.conn, format, args...); err != nil {
		w.t.Fatalf("send: %v", err)
	}
}

// answer reads one response. The request's method determines whether the response has a body.
func (w *wireCall) answer(method string) harness.Answer {
	w.t.Helper()
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("read a response: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("read the response body: %v", err)
	}
	return harness.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

const head = "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n"

func TestChunkedBodies(t *testing.T) {
	t.Parallel()
	g, mock := serve(t, "limits: {body: 64KiB}")
	k := g.Key(t)
	body := scenario.Chat(small)

	w := dial(t, g)
	w.send(head+"Transfer-Encoding: chunked\r\n\r\n", k)
	for i := range len(body) {
		w.send("1\r\n%s\r\n", body[i:i+1])
	}
	w.send("0\r\n\r\n")
	wantOK(t, w.answer("POST"))
	if got := mock.Calls()[0]; !bytes.Contains(got.Body, []byte(`"content":"Hello"`)) {
		t.Errorf("the provider got %s, want the content Hello", got.Body)
	}

	// The gateway closes a connection after a request with a chunked body, so the next request needs a new connection. A body without
	// an end is rejected while it is sent.
	if _, err := w.in.ReadByte(); err == nil {
		t.Error("the connection stayed open after a chunked request")
	}
	w = dial(t, g)
	w.send(head+"Transfer-Encoding: chunked\r\n\r\n", k)
	filler := strings.Repeat("a", 1<<10)
	for range 80 {
		if _, err := fmt.Fprintf(w.conn, "400\r\n%s\r\n", filler); err != nil {
			break // the gateway has already rejected the request
		}
	}
	wantError(t, w.answer("POST"), http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
}

func TestContinueIsSentBeforeTheBody(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := g.Key(t)
	body := scenario.Chat(small)
	w := dial(t, g)
	w.send(head+"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", k, len(body))
	line, err := w.in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("got %q %v, want 100 Continue", line, err)
	}
	_, _ = w.in.ReadString('\n')
	w.send("%s", body)
	wantOK(t, w.answer("POST"))

	// The gateway rejects a wrong key without requesting the body.
	refused := dial(t, g)
	refused.send(head+"Expect: 100-continue\r\nContent-Length: 10\r\n\r\n", "fl_wrong")
	wantError(t, refused.answer("POST"), http.StatusUnauthorized, "INVALID_API_KEY")
}

// An incomplete or malformed request gets an error response. An empty response would look like success.
func TestBrokenBodiesGetAnError(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	k := g.Key(t)
	body := scenario.Chat(small)
	model := "POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " + k + "\r\n"
	admin := "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	cut := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+1, body)
	cases := []struct {
		name, text string
		status     int
		code       string
	}{
		{"an invalid chunk length", model + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body, 400, "INVALID_REQUEST"},
		{"a chunk longer than declared", model + "Transfer-Encoding: chunked\r\n\r\n2\r\n" + body + "\r\n0\r\n\r\n", 400, "INVALID_REQUEST"},
		{"an incomplete body", model + cut, 499, "CLIENT_CANCELLED"},
		{"incomplete chunks", model + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 499, "CLIENT_CANCELLED"},
		{"admin API: an invalid chunk length", admin + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", 400, "INVALID_REQUEST"},
		{"admin API: an incomplete body", admin + cut, 400, "INVALID_REQUEST"},
	}
	for _, tc := range cases {
		w := dial(t, g)
		w.send("%s", tc.text)
		if err := w.conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		t.Log(tc.name)
		wantError(t, w.answer("POST"), tc.status, tc.code)
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("the provider got %d calls, want 0", n)
	}
}
