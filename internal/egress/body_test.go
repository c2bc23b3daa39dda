package egress

import (
	"bytes"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// A stream may be open for minutes, and its request may have several megabytes.
func TestSentBodyIsReleasedWhenTheResponseBegins(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			end := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, err := io.Copy(io.Discard, r.Body)
				if n != 1<<20 || err != nil || r.Proto != proto {
					t.Errorf("%s received %d bytes, %v", r.Proto, n, err)
				}
				_ = http.NewResponseController(w).Flush()
				<-end
			}))
			server.EnableHTTP2 = proto == "HTTP/2.0"
			server.StartTLS()
			defer server.Close()
			defer close(end)
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			c := newClient(t, Options{AllowPrivate: loopback, RootCAs: roots})

			resp, body := post(t, c, server.URL, 1<<20)
			defer func() { _ = resp.Body.Close() }()
			for range 100 { // net/http closes the body in another goroutine
				if runtime.GC(); body.Value() == nil {
					return
				}
			}
			t.Error("the bytes of the request are in memory while the response is open")
		})
	}
}

// If the server has closed the connection, net/http sends a request again only if nothing was written. Therefore the headers must not be
// written before the body.
func TestHeadersAndBodyAreSentInOneWrite(t *testing.T) {
	t.Parallel()
	first := make(chan string, 1)
	url, _ := serveRaw(t, func(c net.Conn, _ int64) {
		p := make([]byte, 1<<10)
		n, _ := c.Read(p)
		first <- string(p[:n])
		_ = c.Close()
	})
	req := newRequest(t, url)
	_, _ = newClient(t, Options{AllowPrivate: loopback}).Do(req)
	if sent := <-first; !strings.HasSuffix(sent, "\r\n\r\n{}") {
		t.Errorf("the first packet is %q", sent)
	}
}

// writeCounter counts the writes to a connection.
type writeCounter struct {
	net.Conn
	sizes []int
}

func (c *writeCounter) Write(p []byte) (int, error) {
	c.sizes = append(c.sizes, len(p))
	return len(p), nil
}

func TestBodyInMemoryIsWrittenInOnePiece(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]io.Reader{"in memory": bytes.NewReader(make([]byte, 100_000)), "other": strings.NewReader(strings.Repeat("x", 100_000))} {
		below := &writeCounter{}
		limited := &io.LimitedReader{R: from, N: 100_000}
		n, err := (&watchedConn{Conn: below}).ReadFrom(limited)
		if err != nil || n != 100_000 || limited.N != 0 {
			t.Errorf("%s: wrote %d bytes, %d left, %v", name, n, limited.N, err)
		}
		if one := len(below.sizes) == 1; one != (name == "in memory") {
			t.Errorf("%s: writes of %v bytes, want one write from memory and several otherwise", name, below.sizes)
		}
	}
}

// post sends a body of size bytes. It returns the response and a weak pointer to the body.
func post(t *testing.T, c *Client, url string, size int) (*http.Response, weak.Pointer[byte]) {
	t.Helper()
	body := make([]byte, size)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp, weak.Make(&body[0])
}
