package chat

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// text is a JSON string where it lies: b[start:end] is inside the quotes.
type text struct {
	start, end   int
	escaped      bool
	ascii, other int // bytes of the decoded text, inside and outside ASCII
}

func (t text) empty() bool { return t.start == t.end }

// text reads the string that begins at the next byte.
func (s *scanner) text() text {
	i := s.i + 1
	t := text{start: i}
	for {
		plain := plainBytes(s.b[i:])
		t.ascii += plain
		i += plain
		if i >= len(s.b) {
			s.i = i
			s.fail("a string is not closed")
			return text{}
		}
		switch c := s.b[i]; {
		case c == '"':
			t.end = i
			s.i = i + 1
			if s.count {
				s.ascii += t.ascii
				s.other += t.other
				if s.sample != nil {
					s.sample.Add(t.start, t.end)
				}
			}
			return t
		case c == '\\':
			n := t.escape(s.b[i:])
			if n == 0 {
				s.i = i
				s.fail("an escape sequence is wrong")
				return text{}
			}
			i += n
		case c < 0x20:
			s.i = i
			s.fail("a string holds a raw control character")
			return text{}
		default:
			end := i + 1
			for end < len(s.b) && s.b[end] >= utf8.RuneSelf {
				end++
			}
			if s.strict && !utf8.Valid(s.b[i:end]) {
				s.i = i
				s.fail("the body is not valid UTF-8")
				return text{}
			}
			t.other += end - i
			i = end
		}
	}
}

// plainBytes counts the bytes before the first one that is a quote, a backslash, a control character or not ASCII,
// eight at a time: most of every body is plain text.
func plainBytes(b []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		special := ((w-ones*0x20)&^w | (quote-ones)&^quote | (backslash-ones)&^backslash | w) & high
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// escape takes the escape sequence that b begins with into account and returns its length, or 0 when it is wrong.
func (t *text) escape(b []byte) int {
	t.escaped = true
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		t.ascii++
		return 2
	case 'u':
		r, ok := hex4(b[2:])
		switch {
		case !ok:
			return 0
		case r < utf8.RuneSelf:
			t.ascii++
		case r < 0x800 || utf16.IsSurrogate(r):
			t.other += 2 // two halves of a pair make the four bytes of its rune
		default:
			t.other += 3
		}
		return 6
	}
	return 0
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// decoded returns the text without escapes: the bytes of the document where there are none.
func (s *scanner) decoded(t text) []byte {
	raw := s.b[t.start:t.end]
	if !t.escaped {
		return raw
	}
	return unescape(make([]byte, 0, len(raw)), raw, len(raw))
}

// unescape appends the text of a valid JSON string to dst until at least limit bytes are there. A lone surrogate
// becomes U+FFFD.
func unescape(dst, raw []byte, limit int) []byte {
	for len(raw) > 0 && len(dst) < limit {
		if raw[0] != '\\' {
			plain := raw[:min(len(raw), limit-len(dst))]
			if n := bytes.IndexByte(plain, '\\'); n >= 0 {
				plain = plain[:n]
			}
			dst, raw = append(dst, plain...), raw[len(plain):]
			continue
		}
		if raw[1] != 'u' {
			dst = append(dst, shortEscape(raw[1]))
			raw = raw[2:]
			continue
		}
		r, _ := hex4(raw[2:])
		raw = raw[6:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
				low, _ := hex4(raw[2:])
				pair = utf16.DecodeRune(r, low)
			}
			if pair != utf8.RuneError {
				raw = raw[6:]
			}
			r = pair
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func shortEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// appendQuoted appends s as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}
