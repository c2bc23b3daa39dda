package egress

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// sentBody is the body of a request. net/http keeps the request, and with it the body, until the response has been read, which takes
// minutes for a stream. The bytes are released when they have been written and the response has begun.
//
// Each reader is a bytes.Reader in an io.NopCloser: net/http sends such a body in one write with the headers, and so can tell that
// nothing was sent on a connection that the server had closed.
type sentBody struct {
	mu      sync.Mutex
	bytes   []byte
	first   *bytes.Reader
	written bool // by the only attempt
	begun   bool // the response
	retried bool // another reader exists, and it is not known which of them was written
}

// holdBody replaces the body of req, which must be a copy of the caller's request. It returns nil for a request without a body in
// memory.
func holdBody(req *http.Request) *sentBody {
	if req.GetBody == nil || req.ContentLength <= 0 {
		return nil
	}
	again, err := req.GetBody()
	if err != nil {
		return nil
	}
	var held contents
	from, ok := again.(io.WriterTo)
	if !ok {
		return nil
	}
	if _, err := from.WriteTo(&held); err != nil || int64(len(held)) != req.ContentLength {
		return nil
	}
	b := &sentBody{bytes: held, first: bytes.NewReader(held)}
	req.Body, req.GetBody = io.NopCloser(b.first), b.get
	return b
}

// contents receives the bytes of a reader in memory, which writes all of them in one call. They are kept without a copy, because the
// body of a request does not change while it is sent.
type contents []byte

// Write implements io.Writer.
func (c *contents) Write(p []byte) (int, error) {
	if *c != nil {
		return 0, io.ErrShortWrite
	}
	*c = p
	return len(p), nil
}

// get returns the body from its start, for net/http to send it again on another connection.
func (b *sentBody) get() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retried = true
	return io.NopCloser(bytes.NewReader(b.bytes)), nil
}

// wrote notes that net/http has finished writing the request. It does nothing for a nil body.
func (b *sentBody) wrote() {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.written = true
		b.release()
	}
}

// responded notes that net/http will not send the request again. It does nothing for a nil body.
func (b *sentBody) responded() {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.begun = true
		b.release()
	}
}

// release drops the bytes if no one can read them any more.
func (b *sentBody) release() {
	if b.written && b.begun && !b.retried {
		b.first.Reset(nil)
		b.bytes = nil
	}
}
