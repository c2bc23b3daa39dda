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
	Plain         = 0
	packedDeflate = 1 // Bodies that were written before they were compressed for speed
	packedQuick   = 2
)

// codec compresses texts for storage. What reads deflated ones is large, so it is used again.
type Codec struct {
	readers sync.Pool
}

func NewCodec() *Codec {
	return &Codec{readers: sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}}
}

// Pack compresses b; nil stays nil.
func (p *Codec) Pack(b []byte) []byte {
	if b == nil {
		return nil
	}
	return p.AppendPacked(nil, b)
}

// AppendPacked appends b, compressed. Compressing a long text is most of what storing it costs, so this is quick rather than
// thorough: prose comes out a third longer than it would deflated, in a third of the time.
func (p *Codec) AppendPacked(to, b []byte) []byte {
	if len(b) < packMin {
		return append(append(to, Plain), b...)
	}
	to = append(slices.Grow(to, MaxPacked(len(b))), packedQuick)
	return to[:len(to)+len(s2.Encode(to[len(to):cap(to)], b))]
}

// MaxPacked is how long a text of n bytes is at most when it is packed.
func MaxPacked(n int) int { return 1 + max(n, s2.MaxEncodedLen(n)) }

// Unpack reverses pack. A text that is stored as it is stays where it is.
func (p *Codec) Unpack(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0] == Plain {
		return b[1:], nil
	}
	return p.AppendUnpacked(nil, b)
}

// AppendUnpacked is unpack into room that is there already: whoever reads many texts needs no more than the longest.
func (p *Codec) AppendUnpacked(room, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return room, nil
	}
	how, b := b[0], b[1:]
	switch how {
	case Plain:
		return append(room, b...), nil
	case packedQuick:
		return appendQuick(room, b)
	}
	return p.appendInflated(room, b)
}

func appendQuick(room, b []byte) ([]byte, error) {
	n, err := s2.DecodedLen(b)
	if err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	room = slices.Grow(room, n)
	out, err := s2.Decode(room[len(room):cap(room)], b)
	if err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	return room[:len(room)+len(out)], nil
}

func (p *Codec) appendInflated(room, b []byte) ([]byte, error) {
	r := p.readers.Get().(io.ReadCloser)
	defer p.readers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(b), nil); err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	out := bytes.NewBuffer(room)
	out.Grow(4 * len(b)) // about what such texts come to
	if _, err := out.ReadFrom(r); err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	return out.Bytes(), nil
}
