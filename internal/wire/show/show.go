// Package show makes text of unknown origin fit to be shown: short, on one line, and without characters that could break
// or forge it.
package show

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWarnings bounds the warnings that a renderer collects for one request. Callers are shown fewer.
const MaxWarnings = 32

// OneLine puts a space in the place of every Harmful character.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if Harmful(r) {
			return ' '
		}
		return r
	}, s)
}

// Harmful reports characters that would break or forge a line on a page or in a terminal: controls, line and paragraph
// separators, and those that turn the direction of text.
func Harmful(r rune) bool {
	return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Cut shortens s to at most limit bytes without splitting a rune.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Quote shows a value of the caller's in a sentence: short and on one line.
func Quote(s string) string {
	const most = 60
	clean := OneLine(s)
	if len(clean) > most {
		clean = Cut(clean, most) + "…"
	}
	return `"` + clean + `"`
}

// Preview is how a text begins, for lists: one harmless line of at most limit bytes.
func Preview(s string, limit int) string {
	s = strings.TrimLeft(s, " \n\r\t")
	return Cut(OneLine(Cut(s, limit+utf8.UTFMax)), limit)
}
