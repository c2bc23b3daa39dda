package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// squeeze trims text and its lines, and replaces consecutive blank lines with one. Indentation is kept, because it matters in code.
func squeeze(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n\n\n") && !strings.Contains(text, " \n") && !strings.Contains(text, "\r") {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	blank := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line == "" {
			blank++
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n"[:min(2, blank+1)])
		}
		blank = 0
		out.WriteString(line)
	}
	return out.String()
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordsOf yields the words of text in lower case, without punctuation.
func wordsOf(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' && r != '-'
		}) {
			word = strings.ToLower(strings.Trim(word, "'’-"))
			if word != "" && !yield(word) {
				return
			}
		}
	}
}
