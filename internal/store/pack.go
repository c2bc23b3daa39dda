package store

import (
	"bytes"
	"fmt"
	"io"
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
	if len(b) < packMin {
		return append([]byte{packedPlain}, b...)
	}
	var out bytes.Buffer
	out.Grow(len(b)/3 + 64)
	out.WriteByte(packedDeflate)
	w := p.writers.Get().(*flate.Writer)
	defer p.writers.Put(w)
	w.Reset(&out)
	_, _ = w.Write(b) // writing to memory cannot go wrong
	_ = w.Close()
	return out.Bytes()
}

// packQuick compresses b for a tenth of the cost. Traces repeat themselves, so that it makes them nearly as small; prose
// would be half as long again.
func (p *packer) packQuick(b []byte) []byte {
	if len(b) < packMin {
		return p.pack(b)
	}
	out := make([]byte, 1+s2.MaxEncodedLen(len(b)))
	out[0] = packedQuick
	return out[:1+len(s2.Encode(out[1:], b))]
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
