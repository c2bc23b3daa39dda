package egress

import (
	"bytes"
	"io"
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
