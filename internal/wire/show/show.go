// Package show formats untrusted text for display: short, on one line, and without characters that break or spoof the
// output.
package show

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWarnings is the maximum number of warnings recorded when a request is encoded in another format. The response
// contains at most provider.MaxWarnings of them.
const MaxWarnings = 32

// OneLine replaces every character for which Harmful returns true with a space.
func OneLine(s string) string {
	if printable(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Harmful(r) {
			return ' '
		}
		return r
	}, s)
}

// printable reports whether s consists of printable ASCII characters, which are never harmful.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Harmful reports whether a character can break or spoof a line on a page or in a terminal: control characters, line
// and paragraph separators, and characters that change the text direction.
func Harmful(r rune) bool {
	return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Bidi_Control, r)
}

// EscapeJSON escapes the harmful characters that encoded JSON contains.
func EscapeJSON(encoded []byte) []byte {
	if bytes.IndexFunc(encoded, Harmful) < 0 {
		return encoded
	}
	var escaped []byte
	for _, r := range string(encoded) {
		if Harmful(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped
}

// Cut truncates s to at most limit bytes without splitting a rune.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Quote quotes a client's value for use in a message. It truncates the value and puts it on one line.
func Quote(s string) string {
	const most = 60
	clean := OneLine(s)
	if len(clean) > most {
		clean = Cut(clean, most) + "…"
	}
	return `"` + clean + `"`
}

// Preview returns the beginning of s for display in a list: one line of at most limit bytes. It does not share memory with s.
func Preview(s string, limit int) string {
	s = strings.TrimLeft(s, " \n\r\t")
	return strings.Clone(Cut(OneLine(Cut(s, limit+utf8.UTFMax)), limit))
}

// Shorten truncates a value from a client or provider for use in a log entry or an error.
func Shorten(s string) string { return shortenTo(s, 80) }

// ShortenName truncates a model name. The maximum is longer than any known name.
func ShortenName(s string) string { return shortenTo(s, 256) }

func shortenTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
