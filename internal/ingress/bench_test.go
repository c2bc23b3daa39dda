package ingress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// chat is a request as a client library sends it, with a body of a kilobyte.
var chat = func() string {
	body := strings.Repeat("x", 1024)
	return fmt.Sprintf("POST /proxy/v1/chat/completions HTTP/1.1\r\nHost: localhost:8080\r\nAccept: application/json\r\nAccept-Encoding: gzip, deflate\r\n"+
		"Authorization: Bearer fl_0123456789abcdefghijklmnop\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nUser-Agent: OpenAI/Python 2.0\r\n"+
		"X-Stainless-Lang: python\r\nX-Stainless-Os: Linux\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

func reply(w http.ResponseWriter, r *http.Request) {
	var room [2048]byte
	for {
		if _, err := r.Body.Read(room[:]); err != nil {
			break
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req_0123456789")
	w.Header().Set("Content-Length", "1500")
	_, _ = w.Write(make([]byte, 1500))
}

// BenchmarkServe takes one request after the other over loopback, beside net/http's server.
func BenchmarkServe(b *testing.B) {
	b.Run("server=ingress", func(b *testing.B) {
		_, ln := start(b, options(reply))
		exchange(b, ln)
	})
	b.Run("server=net/http", func(b *testing.B) {
		s := httptest.NewServer(http.HandlerFunc(reply))
		defer s.Close()
		exchange(b, s.Listener)
	})
}

func exchange(b *testing.B, ln net.Listener) {
	b.Helper()
	ask := asker(b, ln)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// asker sends one request for each call, on one connection, and waits for its answer.
func asker(tb testing.TB, ln net.Listener) (ask func()) {
	tb.Helper()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	in, request := bufio.NewReader(conn), []byte(chat)
	size := answerSize(tb, conn, in)
	return func() {
		_, _ = conn.Write(request)
		if _, err := in.Discard(size); err != nil {
			tb.Fatal(err)
		}
	}
}

// What one request may allocate in the server, the handler's own five among them. Whoever brings it down writes the new number here.
const allocsEach = 17

func TestARequestAllocatesNoMoreThanRecorded(t *testing.T) { //nolint:paralleltest // counts what the process allocates
	const slack = 4 // a collection empties the pools, and the race detector makes them forget one thing in four
	_, ln := start(t, options(reply))
	if got := testing.AllocsPerRun(200, asker(t, ln)); got > allocsEach+slack || got < allocsEach/2 {
		t.Errorf("a request makes %.0f allocations, %d are recorded", got, allocsEach)
	}
}

// answerSize is how long every answer is.
func answerSize(tb testing.TB, conn net.Conn, in *bufio.Reader) (size int) {
	tb.Helper()
	_, _ = io.WriteString(conn, chat)
	for size = 1500; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			tb.Fatal(err)
		}
		if size += len(line); line == "\r\n" {
			_, _ = in.Discard(1500)
			return size
		}
	}
}
