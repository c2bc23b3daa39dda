package store

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
)

// packMin is the length from which compressing is worth its fixed cost.
const packMin = 2048

// The first byte of a packed text says how it is stored.
const (
	packedPlain   = 0
	packedDeflate = 1
	packedQuick   = 2
)

// packer compresses texts for storage. Compressors are large, so they are used again.
type packer struct {
	writers sync.Pool
	readers sync.Pool
}

func newPacker() *packer {
	return &packer{
		writers: sync.Pool{New: func() any {
			w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // fails only for a level that does not exist
			return w
		}},
		readers: sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }},
	}
}

// pack compresses b; nil stays nil.
func (p *packer) pack(b []byte) []byte {
	if b == nil {
		return nil
	}
	return p.appendPacked(nil, b)
}

// appendPacked appends b, compressed.
func (p *packer) appendPacked(to, b []byte) []byte {
	if len(b) < packMin {
		return append(append(to, packedPlain), b...)
	}
	out := bytes.NewBuffer(to)
	out.Grow(len(b)/3 + 64)
	out.WriteByte(packedDeflate)
	w := p.writers.Get().(*flate.Writer)
	defer p.writers.Put(w)
	w.Reset(out)
	_, _ = w.Write(b) // writing to memory cannot go wrong
	_ = w.Close()
	return out.Bytes()
}

// appendQuick appends b, compressed for a tenth of the cost. Traces repeat themselves, so that it makes them nearly as small;
// prose would be half as long again.
func (p *packer) appendQuick(to, b []byte) []byte {
	if len(b) < packMin {
		return p.appendPacked(to, b)
	}
	to = append(to, packedQuick)
	to = slices.Grow(to, s2.MaxEncodedLen(len(b)))
	return to[:len(to)+len(s2.Encode(to[len(to):cap(to)], b))]
}

// unpack reverses both.
func (p *packer) unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[0] == packedPlain {
		return b[1:], nil
	}
	if b[0] == packedQuick {
		out, err := s2.Decode(nil, b[1:])
		if err != nil {
			return nil, fmt.Errorf("uncompress: %w", err)
		}
		return out, nil
	}
	r := p.readers.Get().(io.ReadCloser)
	defer p.readers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(b[1:]), nil); err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	var out bytes.Buffer
	out.Grow(8 * len(b)) // about what such texts come to
	if _, err := out.ReadFrom(r); err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	return out.Bytes(), nil
}
