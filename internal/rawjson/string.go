package rawjson

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// String is the position of a JSON string in the document, without the quotes.
type String struct {
	Start, End      int
	Escaped         bool
	ASCII, NonASCII int // number of ASCII and of non-ASCII bytes in the decoded string
}

// Empty reports whether the string has no characters.
func (t String) Empty() bool { return t.Start == t.End }

// ReadString reads the string whose opening quote is the next byte.
func (s *Scanner) ReadString() String {
	i := s.Pos + 1
	t := String{Start: i}
	for {
		plain := plainBytes(s.Data[i:])
		t.ASCII += plain
		i += plain
		if i >= len(s.Data) {
			s.Pos = i
			s.Fail("a string is not closed")
			return String{}
		}
		switch c := s.Data[i]; {
		case c == '"':
			t.End = i
			s.Pos = i + 1
			if s.Count {
				s.ASCII += t.ASCII
				s.NonASCII += t.NonASCII
			}
			return t
		case c == '\\':
			n := t.escape(s.Data[i:])
			if n == 0 {
				s.Pos = i
				s.Fail("an escape sequence is invalid")
				return String{}
			}
			i += n
		case c < 0x20:
			s.Pos = i
			s.Fail("a string contains an unescaped control character")
			return String{}
		default:
			end := i + 1
			for end < len(s.Data) && s.Data[end] >= utf8.RuneSelf {
				end++
			}
			if s.Strict && !utf8.Valid(s.Data[i:end]) {
				s.Pos = i
				s.Fail("the body is not valid UTF-8")
				return String{}
			}
			t.NonASCII += end - i
			i = end
		}
	}
}

// plainBytes returns the number of bytes before the first quote, backslash, control character or non-ASCII byte. It checks eight bytes
// per step, because most bytes of a typical body are plain text.
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

// escape adds the decoded length of the escape sequence at the start of b to the counts. It returns the encoded length of the sequence, or
// 0 if the sequence is invalid.
func (t *String) escape(b []byte) int {
	t.Escaped = true
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		t.ASCII++
		return 2
	case 'u':
		r, ok := hex4(b[2:])
		switch {
		case !ok:
			return 0
		case r < utf8.RuneSelf:
			t.ASCII++
		case r < 0x800 || utf16.IsSurrogate(r):
			t.NonASCII += 2 // each half of a surrogate pair counts for two of the rune's four bytes
		default:
			t.NonASCII += 3
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

// Unquote returns the decoded string. A string without escapes is not copied.
func (s *Scanner) Unquote(t String) []byte {
	raw := s.Data[t.Start:t.End]
	if !t.Escaped {
		return raw
	}
	return Unescape(make([]byte, 0, len(raw)), raw, len(raw))
}

// Unescape appends the decoded content of a valid JSON string to dst until dst has at least limit bytes. A lone surrogate becomes U+FFFD.
func Unescape(dst, raw []byte, limit int) []byte {
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

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
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

// ParseInteger parses an integer in any JSON notation: 10, 10.0 or 1e1.
func ParseInteger(raw []byte) (int64, bool) {
	const maxExact = 1 << 53 // floats above this are not exact
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxExact {
		return 0, false
	}
	return int64(f), true
}
