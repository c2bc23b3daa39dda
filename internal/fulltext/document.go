package fulltext

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// MaxWords is the maximum number of indexed words per document. PostgreSQL stores positions up to 16,383.
const MaxWords = 16_000

// TSVector encodes words, each followed by a space, in PostgreSQL's tsvector syntax.
func TSVector(words []byte) string {
	positions := map[string][]int{}
	at := 0
	for word := range bytes.SplitSeq(bytes.TrimSuffix(words, []byte(" ")), []byte(" ")) {
		if at++; at <= MaxWords && len(word) > 0 {
			positions[string(word)] = append(positions[string(word)], at)
		}
	}
	names := make([]string, 0, len(positions))
	for word := range positions {
		names = append(names, word)
	}
	slices.Sort(names)
	var b strings.Builder
	b.Grow(len(words) + 8*len(names))
	var digits [8]byte
	for _, word := range names {
		b.WriteByte('\'')
		b.WriteString(word)
		b.WriteByte('\'')
		for i, p := range positions[word] {
			b.WriteByte(":,"[min(i, 1)])
			b.Write(strconv.AppendInt(digits[:0], int64(p), 10))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// CutWords truncates words to the first limit words. Each word is followed by a space.
func CutWords(words []byte, limit int) []byte {
	for i, c := range words {
		if c == ' ' {
			if limit--; limit <= 0 {
				return words[:i+1]
			}
		}
	}
	return words
}
