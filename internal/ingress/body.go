package ingress

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
)

// body is what follows a head. It is read by the goroutine that answers.
type body struct {
	conn    *conn
	left    int64     // where the length is known; -1 else
	chunks  io.Reader // where it is not
	expects bool
	err     error // why there is no more
}

func newBody(c *conn, m *message) *body {
	b := &body{conn: c, left: m.request.ContentLength, expects: m.expects}
	if b.left < 0 {
		b.chunks = httputil.NewChunkedReader(&c.in)
	}
	return b
}

// Read gives the end together with the last byte where the length is known.
func (b *body) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.expects {
		b.expects = false
		if err := b.conn.tellContinue(); err != nil {
			return 0, b.end(err)
		}
	}
	if b.chunks != nil {
		if n, err = b.chunks.Read(p); err != nil {
			err = b.end(err)
		}
		return n, err
	}
	n, err = b.conn.in.Read(p[:min(int64(len(p)), b.left)])
	switch b.left -= int64(n); {
	case b.left == 0:
		return n, b.end(io.EOF)
	case errors.Is(err, io.EOF):
		return n, b.end(io.ErrUnexpectedEOF)
	case err != nil:
		return n, b.end(err)
	}
	return n, nil
}

// Close keeps the handler from reading on.
func (b *body) Close() error {
	if b.err == nil {
		b.err = http.ErrBodyReadAfterClose
	}
	return nil
}

func (b *body) end(err error) error {
	b.err = err
	if errors.Is(err, io.EOF) {
		b.conn.in.rest()
		b.conn.heard()
	}
	return err
}

// skip passes over what the handler left unread, where it has come already, and reports whether the next request begins
// here. Waiting for more would be waiting for a client that has its answer.
func (b *body) skip() bool {
	if b.chunks != nil || b.expects || b.left > int64(len(b.conn.in.pending())) {
		return false
	}
	if b.left > 0 {
		b.conn.in.use(int(b.left))
		b.left, b.err = 0, http.ErrBodyReadAfterClose
	}
	return true
}

// answered tells that the answer has begun. A client that waits for leave to send its body gets none any more.
func (b *body) answered() {
	if b.expects {
		b.err = http.ErrBodyReadAfterClose
	}
}
