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
	packedDeflate = 1 // bodies that were written before they were compressed for speed
	packedQuick   = 2
)

// packer compresses texts for storage. What reads deflated ones is large, so it is used again.
type packer struct {
	readers sync.Pool
}

func newPacker() *packer {
	return &packer{readers: sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}}
}

// pack compresses b; nil stays nil.
func (p *packer) pack(b []byte) []byte {
	if b == nil {
		return nil
	}
	return p.appendPacked(nil, b)
}

// appendPacked appends b, compressed. Compressing a long text is most of what storing it costs, so this is quick rather than
// thorough: prose comes out a third longer than it would deflated, in a third of the time.
func (p *packer) appendPacked(to, b []byte) []byte {
	if len(b) < packMin {
		return append(append(to, packedPlain), b...)
	}
	to = append(slices.Grow(to, maxPacked(len(b))), packedQuick)
	return to[:len(to)+len(s2.Encode(to[len(to):cap(to)], b))]
}

// maxPacked is how long a text of n bytes is at most when it is packed.
func maxPacked(n int) int { return 1 + max(n, s2.MaxEncodedLen(n)) }

// unpack reverses pack. A text that is stored as it is stays where it is.
func (p *packer) unpack(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0] == packedPlain {
		return b[1:], nil
	}
	return p.append(nil, b)
}

// append is unpack into room that is there already: whoever reads many texts needs no more than the longest.
func (p *packer) append(room, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return room, nil
	}
	how, b := b[0], b[1:]
	switch how {
	case packedPlain:
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

func (p *packer) appendInflated(room, b []byte) ([]byte, error) {
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
