package providers

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLoadGeneratorCountsUnansweredRequests uses a server that responds to the first request of each connection and
// disconnects at the second.
func TestLoadGeneratorCountsUnansweredRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, end string }{
		{"no response", ""},
		{"incomplete head", "HTTP/1.1 200 OK\r\nContent-"},
		{"incomplete body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nye"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := &loadGenerator{address: breaking(t, test.end), requests: [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}}
			turns := make(chan struct{}, 5)
			for range cap(turns) {
				turns <- struct{}{}
			}
			close(turns)
			n.work(t, time.Now(), time.Minute, turns, false)

			var got []int
			for _, s := range n.seen {
				got = append(got, s.Status)
			}
			if diff := cmp.Diff([]int{200, 0, 200, 0, 200}, got); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
		})
	}
}

// breaking returns the address of a server that ends its second response early.
func breaking(t *testing.T, end string) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", end} {
				if _, err := http.ReadRequest(in); err != nil {
					break
				}
				_, _ = io.WriteString(conn, answer) // the next read detects a disconnect
			}
			_ = conn.Close()
		}
	}()
	return ln.Addr().String()
}
