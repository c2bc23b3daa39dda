package egress

import (
	"net"
	"strings"
	"testing"
)

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
