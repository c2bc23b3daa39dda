package gateway

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/wire/strict"
)

const (
	// bodyStart is the room that a body gets before it has shown that it comes: announcing a large one costs nothing.
	bodyStart = 64 << 10
	// largeBody is what takes more than a moment to decode.
	largeBody = 1 << 20
	// bodyTime is how long a body may take in all: one of the largest size over a slow line.
	bodyTime = 5 * time.Minute
)

// readBody reads the body whole: answering while it still arrives loses streams in net/http. Every byte of buffer counts
// against what all requests may hold together, until release.
// For a large body that includes an estimate of what decoding and translating it takes, until a provider has the request.
// Small ones wait for their turn to be decoded, so only a few are decoded at a time.
func (g *Gateway) readBody(x *exchange) (body []byte, release func(), err error) {
	r, limit := x.r, x.settings.MaxBody
	if err := checkMedia(r.Header); err != nil {
		return nil, nil, err
	}
	if r.ContentLength > limit {
		return nil, nil, tooLarge(limit)
	}
	b := buffer{shelf: &g.bodies, workspace: x.grant.Workspace.ID, most: x.settings.MaxBuffered, length: r.ContentLength}
	if err := b.fill(&patientReader{http.MaxBytesReader(x.w.w, r.Body, limit), x}); err != nil {
		b.release()
		return nil, nil, readError(r, err, limit)
	}
	_ = x.w.rc.SetReadDeadline(time.Time{}) // not every connection has one
	if len(b.bytes) >= largeBody {
		if err := b.reserveDecoding(x.op); err != nil {
			b.release()
			return nil, nil, err
		}
		x.decoding = &b
	}
	return b.bytes, b.release, nil
}

const (
	// decodedCopies is how many times its size a body takes again while it is decoded and written for a provider.
	decodedCopies = 3
	// decodedPart is what a key or an element of a list takes: a part of a message, its place in two lists, and what those
	// lists grow by.
	decodedPart = 400
)

// reserveDecoding counts what decoding the body takes against the memory for bodies. A body over the limits is refused
// before anything of it is decoded.
func (b *buffer) reserveDecoding(op llm.Op) error {
	size, err := strict.Measure(b.bytes)
	if op == llm.Embed || op == llm.Complete {
		if size.Elements > strict.MaxElements {
			err = nil // token ids are not limited; the decoder counts what else is in lists
		}
		size.Elements = 0 // and are never decoded
	}
	if err != nil {
		return err
	}
	n := decodedCopies*int64(len(b.bytes)) + decodedPart*int64(size.Keys+size.Elements)
	n = min(n, b.most-b.held) // one body may always take all there is
	if err := b.take(n); err != nil {
		return err
	}
	b.decoding = n
	return nil
}

// releaseDecoding gives back what reserveDecoding took.
func (b *buffer) releaseDecoding() {
	if b != nil {
		b.shelf.give(b.workspace, b.decoding)
		b.held -= b.decoding
		b.decoding = 0
	}
}

// patientReader allows a client its pauses while it sends, up to a time for the whole.
type patientReader struct {
	io.Reader
	x *exchange
}

func (p *patientReader) Read(b []byte) (int, error) {
	pause := p.x.settings.BodyPause
	until, last := time.Now().Add(pause), p.x.start.Add(bodyTime)
	if until.After(last) {
		until = last
	}
	_ = p.x.w.rc.SetReadDeadline(until) // not every connection has one
	n, err := p.Reader.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, llm.Errorf(llm.InvalidRequest, "The request body did not arrive: the client stopped sending for %s, or took longer than %s in all. Send it in one go.", pause, bodyTime)
	}
	return n, err
}

// buffer holds one body and its share of the memory for bodies.
type buffer struct {
	shelf     *shelf
	workspace string
	most      int64 // that all bodies may hold
	length    int64 // as announced; below zero when it was not
	held      int64
	decoding  int64 // of held: the estimate for decoding the body
	bytes     []byte
}

// grow makes room for more, where the memory for bodies allows: a little at first, then all that was announced, or twice
// as much where nothing was.
func (b *buffer) grow() error {
	n := max(int64(len(b.bytes)), bodyStart)
	if rest := b.length + 1 - int64(len(b.bytes)); rest > 0 && (len(b.bytes) > 0 || rest < n) {
		n = rest // one more byte sees the end without growing
	}
	if err := b.take(n); err != nil {
		return err
	}
	b.bytes = slices.Grow(b.bytes, int(n))
	return nil
}

// take counts n more bytes.
func (b *buffer) take(n int64) error {
	if !b.shelf.take(b.workspace, n, b.held, b.most) {
		e := llm.Errorf(llm.Overloaded, "The memory for request bodies is in use. Retry in 1 second.")
		e.RetryAfter = time.Second
		return e
	}
	b.held += n
	return nil
}

// fill reads to the end.
func (b *buffer) fill(r io.Reader) error {
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(); err != nil {
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

func (b *buffer) release() { b.shelf.give(b.workspace, b.held) }
