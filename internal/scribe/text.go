package scribe

import "unicode/utf8"

const hex = "0123456789abcdef"

// appendText writes a string: what JSON must have escaped is, and what is no UTF-8 becomes the sign for that.
func appendText(out []byte, s string) []byte {
	out = append(out, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			out = escape(append(out, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			out = append(append(out, s[from:i]...), "\ufffd"...)
			from = i + size
		}
		i += size
	}
	return append(append(out, s[from:]...), '"')
}

func escape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	default:
		return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
	}
}
