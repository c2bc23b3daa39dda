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

// net/http sends a request again only if nothing was written to a connection that the server had closed, so the headers must not
// be written before the body.
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
