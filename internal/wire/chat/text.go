package chat

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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
			dst = append(dst, raw[0])
			raw = raw[1:]
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

// preview makes one harmless line of the beginning of a raw JSON string.
func preview(raw []byte, limit int) string {
	raw = trimBlank(raw)
	text := unescape(make([]byte, 0, limit+utf8.UTFMax), raw, limit+utf8.UTFMax)
	return cut(oneLine(string(text)), limit)
}

// trimBlank drops white space, escaped or not, from the front of a raw JSON string.
func trimBlank(raw []byte) []byte {
	for len(raw) > 0 {
		switch {
		case raw[0] == ' ':
			raw = raw[1:]
		case raw[0] == '\\' && (raw[1] == 'n' || raw[1] == 'r' || raw[1] == 't'):
			raw = raw[2:]
		default:
			return raw
		}
	}
	return raw
}

// oneLine puts a space in the place of every harmful character.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if harmful(r) {
			return ' '
		}
		return r
	}, s)
}

// harmful reports characters that would break or forge a line on a page or in a terminal: controls, line and paragraph
// separators, and those that turn the direction of text.
func harmful(r rune) bool {
	return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// cut shortens s to at most limit bytes without splitting a rune.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// quote shows a value of the caller's in a sentence: short and on one line.
func quote(s string) string {
	const most = 60
	clean := oneLine(s)
	if len(clean) > most {
		clean = cut(clean, most) + "…"
	}
	return `"` + clean + `"`
}
