package gateway

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"fairlead/internal/llm"
)

// chunkedStart is what a body of unannounced length is first taken to need.
const chunkedStart = 64 << 10

// readBody reads the body whole: answering while it still arrives loses streams in net/http. Every byte of buffer counts
// against what all requests may hold together, until release.
func (g *Gateway) readBody(x *exchange) (body []byte, release func(), err error) {
	r, limit := x.r, x.settings.MaxBody
	if err := checkMedia(r.Header); err != nil {
		return nil, nil, err
	}
	if r.ContentLength > limit {
		return nil, nil, tooLarge(limit)
	}
	b := buffer{gateway: g, most: x.settings.MaxBuffered}
	if err := b.grow(max(r.ContentLength+1, 1)); err != nil { // one more byte sees the end without growing
		return nil, nil, err
	}
	if err := b.fill(http.MaxBytesReader(x.w.w, r.Body, limit)); err != nil {
		b.release()
		return nil, nil, readError(err, limit)
	}
	return b.bytes, b.release, nil
}

// buffer holds one body and its share of the memory for bodies.
type buffer struct {
	gateway *Gateway
	most    int64 // that all bodies may hold
	held    int64
	bytes   []byte
}

// grow makes room for at least n bytes more, where the memory for bodies allows.
func (b *buffer) grow(n int64) error {
	if len(b.bytes) == 0 && n == 1 {
		n = chunkedStart
	}
	if b.gateway.buffered.Add(n) > b.most {
		b.gateway.buffered.Add(-n)
		e := llm.Errorf(llm.Overloaded, "The gateway holds as many request bodies as it may at a time. Repeat the request in a second.")
		e.RetryAfter = time.Second
		return e
	}
	b.held += n
	b.bytes = slices.Grow(b.bytes, int(n))
	return nil
}

// fill reads to the end.
func (b *buffer) fill(r io.Reader) error {
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(int64(len(b.bytes))); err != nil {
				return err
			}
		}
		n, err := r.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (b *buffer) release() { b.gateway.buffered.Add(-b.held) }
