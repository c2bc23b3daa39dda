package token

import (
	"strings"

	"fairlead.dev/internal/llm"
)

// ImageOf reads the size of an image from the start of its base64 data, with or without a data URL prefix. The size
// is 0 if the data is not PNG, JPEG, GIF or WebP. Only the bytes that hold the size are decoded.
func ImageOf(data, detail string) llm.Image {
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	}
	i := llm.Image{Detail: detail}
	if detail == "auto" {
		i.Detail = ""
	}
	p := encodedImage(data)
	switch {
	case p.is(0, "\x89PNG\r\n\x1a\n") && p.is(12, "IHDR"):
		i.Width, i.Height = p.big(16, 4), p.big(20, 4)
	case p.is(0, "GIF8"):
		i.Width, i.Height = p.little(6, 2), p.little(8, 2)
	case p.is(0, "RIFF") && p.is(8, "WEBP"):
		i.Width, i.Height = p.webp()
	case p.is(0, "\xff\xd8"):
		i.Width, i.Height = p.jpeg()
	}
	if i.Width <= 0 || i.Height <= 0 || i.Width > maxSide || i.Height > maxSide {
		i.Width, i.Height = 0, 0
	}
	return i
}

const maxSide = 1 << 16

// encodedImage is an image file in base64, decoded on access.
type encodedImage string

// at returns the byte at an offset. ok is false past the end and for invalid base64.
func (p encodedImage) at(offset int) (c byte, ok bool) {
	group := offset / 3 * 4
	if offset < 0 || group+4 > len(p) {
		return 0, false
	}
	first := offset % 3 // the byte consists of the characters first and first+1 of the group
	high, ok := sextet(p[group+first])
	low, valid := sextet(p[group+first+1])
	return byte((high<<6 | low) >> (4 - 2*first)), ok && valid
}

func sextet(c byte) (uint32, bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return uint32(c - 'A'), true
	case c >= 'a' && c <= 'z':
		return uint32(c-'a') + 26, true
	case c >= '0' && c <= '9':
		return uint32(c-'0') + 52, true
	case c == '+' || c == '-':
		return 62, true
	case c == '/' || c == '_':
		return 63, true
	}
	return 0, false
}

func (p encodedImage) is(offset int, want string) bool {
	for i := range len(want) {
		if c, ok := p.at(offset + i); !ok || c != want[i] {
			return false
		}
	}
	return true
}

// big returns the big-endian integer at an offset, or -1 if it cannot be read.
func (p encodedImage) big(offset, size int) (n int) {
	for i := range size {
		c, ok := p.at(offset + i)
		if !ok {
			return -1
		}
		n = n<<8 | int(c)
	}
	return n
}

// little returns the little-endian integer at an offset, or -1 if it cannot be read.
func (p encodedImage) little(offset, size int) (n int) {
	for i := range size {
		c, ok := p.at(offset + i)
		if !ok {
			return -1
		}
		n |= int(c) << (8 * i)
	}
	return n
}

// webp reads the size of a lossy, lossless or extended WebP file.
func (p encodedImage) webp() (width, height int) {
	switch {
	case p.is(12, "VP8 "):
		if sides := p.little(26, 4); sides >= 0 {
			return sides & 0x3fff, sides >> 16 & 0x3fff
		}
	case p.is(12, "VP8L"):
		if bits := p.little(21, 4); bits >= 0 {
			return bits&0x3fff + 1, bits>>14&0x3fff + 1
		}
	case p.is(12, "VP8X"):
		return p.little(24, 3) + 1, p.little(27, 3) + 1
	}
	return 0, 0
}

// jpeg reads the size from the first segment that holds it.
func (p encodedImage) jpeg() (width, height int) {
	const mostSegments = 200
	at := 2
	for range mostSegments {
		marker := p.big(at, 2)
		if marker < 0xff00 {
			return 0, 0
		}
		switch kind := marker & 0xff; {
		case kind == 0xff: // a fill byte between segments
			at++
		case kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc:
			return p.big(at+7, 2), p.big(at+5, 2)
		default:
			length := p.big(at+2, 2)
			if length < 2 {
				return 0, 0
			}
			at += 2 + length
		}
	}
	return 0, 0
}
