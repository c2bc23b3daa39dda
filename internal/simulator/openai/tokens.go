package openai

import (
	"unicode"
	"unicode/utf8"
)

// Limits of the simple vocabulary: a token is at most wordRunes letters with the preceding space, digitRunes digits, or
// one other character. It is close enough to real vocabularies for prices and speeds, and splitting never loses a byte.
const (
	wordRunes    = 6
	foreignRunes = 2
	digitRunes   = 3
	ImageTokens  = 765
)

// CountTokens returns the length of text in tokens.
func CountTokens(text string) int64 {
	var n int64
	for len(text) > 0 {
		text = text[NextToken(text):]
		n++
	}
	return n
}

// Tokenize splits text into tokens.
func Tokenize(text string) []string {
	tokens := []string{}
	for len(text) > 0 {
		n := NextToken(text)
		tokens = append(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

// NextToken returns the length in bytes of the first token of text.
func NextToken(text string) int {
	start := 0
	if text[0] == ' ' && len(text) > 1 {
		start = 1
	}
	first, size := utf8.DecodeRuneInString(text[start:])
	limit, same := 1, func(rune) bool { return false }
	switch {
	case first >= utf8.RuneSelf && unicode.IsLetter(first):
		limit, same = foreignRunes, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }
	case unicode.IsLetter(first):
		limit, same = wordRunes, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }
	case unicode.IsDigit(first):
		limit, same = digitRunes, unicode.IsDigit
	}
	end := start + size
	for range limit - 1 {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || !same(r) {
			break
		}
		end += size
	}
	return end
}
