package document

import (
	"fmt"
	"strings"
)

// maxExcerpt is the maximum length of an excerpt in characters.
const maxExcerpt = 120

// Window returns the part of a long line around column, and the position of column in that part.
func Window(line string, column int) (string, int) {
	runes := []rune(Clean(line))
	if len(runes) <= maxExcerpt {
		return strings.TrimRight(string(runes), " "), column
	}
	start := max(0, min(column-maxExcerpt/2, len(runes)-maxExcerpt))
	return string(runes[start : start+maxExcerpt]), max(0, column-start)
}

// Excerpt formats a line of a document with its number. It marks width characters, starting at column, and appends the hint. If column is
// 0, it marks nothing.
func Excerpt(number int, line string, column, width int, hint string) string {
	margin := fmt.Sprintf("%4d", number)
	text := fmt.Sprintf("%s | %s\n", margin, strings.TrimRight(line, " "))
	if column == 0 {
		return text
	}
	width = max(1, min(width, len([]rune(line))-column+1))
	marks := strings.Repeat(" ", column-1) + strings.Repeat("^", width)
	return text + fmt.Sprintf("%s | %s\n", strings.Repeat(" ", len(margin)), strings.TrimRight(marks+" "+Clean(hint), " "))
}

// Clean makes external text safe to print on one line of a terminal: it replaces control characters with spaces.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == '\u2028' || r == '\u2029' || (r >= '\u202a' && r <= '\u202e') || (r >= '\u2066' && r <= '\u2069') {
			return ' '
		}
		return r
	}, text)
}

// MaxQuoted is the maximum length of quoted text in characters.
const MaxQuoted = 60

// Shorten truncates text to MaxQuoted characters.
func Shorten(text string) string {
	if len(text) <= MaxQuoted {
		return text
	}
	runes := []rune(text)
	if len(runes) <= MaxQuoted {
		return text
	}
	return string(runes[:MaxQuoted]) + "…"
}

// Quote quotes external text for a message and truncates it.
func Quote(text string) string { return fmt.Sprintf("%q", Shorten(text)) }

// DidYouMean returns a hint that suggests word, or an empty string if word is empty.
func DidYouMean(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", word)
}
