package egress

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// sentBody is the body of a request. net/http keeps the request and its body until the response has been read, which takes
// minutes for a stream. sentBody releases the bytes when they have been written and the response has begun.
//
// Each reader is a bytes.Reader in an io.NopCloser, because net/http sends such a body in the same write as the headers. If the
// server has closed the connection, net/http can then detect that nothing was sent.
type sentBody struct {
	mu      sync.Mutex
	bytes   []byte
	first   *bytes.Reader
	written bool // whether net/http has written the request
	begun   bool // whether the response has begun
	retried bool // whether net/http has asked for another reader; it is then unknown which reader was written
}

// holdBody replaces the body of req with a sentBody. req must be a copy of the caller's request. It returns nil for a request without a
// body in memory.
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
	req.Body = io.NopCloser(b.first)
	req.GetBody = func() (io.ReadCloser, error) { // net/http calls it to send the request again on another connection
		b.mu.Lock()
		defer b.mu.Unlock()
		b.retried = true
		return io.NopCloser(bytes.NewReader(b.bytes)), nil
	}
	return b
}

// recordWritten records that net/http has written the request. It does nothing for a nil body.
func (b *sentBody) recordWritten() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written = true
	b.releaseIfSent()
}

// recordResponse records that the response has begun, so that net/http will not send the request again. It does nothing for a nil body.
func (b *sentBody) recordResponse() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = true
	b.releaseIfSent()
}

// releaseIfSent releases the bytes when the request is written and the response has begun. The caller holds the lock.
func (b *sentBody) releaseIfSent() {
	if b.written && b.begun && !b.retried {
		b.first.Reset(nil)
		b.bytes = nil
	}
}

// contents is an io.Writer that stores the bytes of a single Write call. It does not copy them, because the body of a request does not
// change while it is sent.
type contents []byte

// Write implements io.Writer.
func (c *contents) Write(p []byte) (int, error) {
	if *c != nil {
		return 0, io.ErrShortWrite
	}
	*c = p
	return len(p), nil
}
