package entryblock

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the minimum length in bytes for which compression is worth its fixed cost.
const minCompressed = 2048

// The encodings of packed text. The first byte of packed text identifies its encoding.
const (
	Plain         = 0
	packedS2      = 1
	packedZstd    = 2 // zstd, for short text in its own row
	packedOutline = 3 // an outline (see package outline); the packed text of the outline follows
)

// minPart is the minimum length of parts that are compressed. Text longer than MaxZstd is compressed with S2, which is faster than zstd.
const (
	minPart = 160
	MaxZstd = 16 << 10
)

// Codec compresses text for storage.
type Codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// NewCodec returns a codec.
func NewCodec() *Codec {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(2*MaxZstd), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // unreachable: the options are constant
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(64*MaxZstd))
	if err != nil {
		panic(err) // unreachable: the options are constant
	}
	return &Codec{encoder: encoder, decoder: decoder}
}

// AppendPart compresses and appends short text that is stored in its own row, such as a part of a request. Zstd compresses short text
// better than S2 and takes three times as long.
func (c *Codec) AppendPart(to, b []byte) []byte {
	if len(b) < minPart || len(b) > MaxZstd {
		return c.AppendPacked(to, b)
	}
	begin := len(to)
	to = c.encoder.EncodeAll(b, append(slices.Grow(to, MaxPacked(len(b))), packedZstd))
	if len(to)-begin > len(b) {
		return append(append(to[:begin], Plain), b...)
	}
	return to
}

// AppendPartFast is like AppendPart, but uses S2. The result is a third longer for parts of requests.
func (c *Codec) AppendPartFast(to, b []byte) []byte {
	if len(b) < minPart {
		return append(append(to, Plain), b...)
	}
	return appendS2(to, b)
}

// AppendOutline appends the outline of a request in packed form.
func (c *Codec) AppendOutline(to, b []byte) []byte { return c.AppendPart(append(to, packedOutline), b) }

// Pack compresses b; nil stays nil.
func (c *Codec) Pack(b []byte) []byte {
	if b == nil {
		return nil
	}
	return c.AppendPacked(nil, b)
}

// AppendPacked appends b in packed form. Most of the cost of storing long text is compression, so AppendPacked uses S2. Compared
// with deflate, compressed prose is a third longer and takes a third of the time.
func (c *Codec) AppendPacked(to, b []byte) []byte {
	if len(b) < minCompressed {
		return append(append(to, Plain), b...)
	}
	return appendS2(to, b)
}

func appendS2(to, b []byte) []byte {
	to = append(slices.Grow(to, MaxPacked(len(b))), packedS2)
	return to[:len(to)+len(s2.Encode(to[len(to):cap(to)], b))]
}

// MaxPacked returns the maximum packed length of n bytes of text.
func MaxPacked(n int) int { return 1 + max(n, s2.MaxEncodedLen(n)) }

// Unpack reverses Pack. The result shares memory with an uncompressed b.
func (c *Codec) Unpack(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0] == Plain {
		return b[1:], nil
	}
	return c.AppendUnpacked(nil, b)
}

// AppendUnpacked appends the unpacked text to a buffer, so that a caller can read many values with one buffer.
func (c *Codec) AppendUnpacked(to, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return to, nil
	}
	encoding, b := b[0], b[1:]
	switch encoding {
	case Plain:
		return append(to, b...), nil
	case packedS2:
		return appendUnpackedS2(to, b)
	case packedZstd:
		return c.decoder.DecodeAll(b, to)
	}
	return nil, fmt.Errorf("decompress: unknown encoding %d", encoding)
}

func appendUnpackedS2(to, b []byte) ([]byte, error) {
	n, err := s2.DecodedLen(b)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	to = slices.Grow(to, n)
	out, err := s2.Decode(to[len(to):cap(to)], b)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return to[:len(to)+len(out)], nil
}
