// Package fulltext splits text into words, extracts text from stored bodies, parses search queries and cuts excerpts. SQLite and PostgreSQL
// store and compare exactly these words, so that a search finds the same requests in both databases.
package fulltext

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode"
	"unicode/utf8"
)

// maxWord is the maximum length of a word in bytes. Longer runs of letters are keys, hashes or encoded data.
const maxWord = 64

// Tag returns the word that every document of a workspace contains. A search requires it, so that it never finds documents of
// other workspaces.
func Tag(workspaceID string) string {
	sum := sha256.Sum256([]byte(workspaceID))
	return "w" + hex.EncodeToString(sum[:6])
}

// AppendWords appends the words of a text in lower case, each followed by a space. It returns the extended slice and the number of words
// appended.
func AppendWords(to, text []byte) (words []byte, n int) {
	eachWord(text, func(word []byte, _, _ int) bool {
		to, n = append(append(to, word...), ' '), n+1
		return true
	})
	return to, n
}

// eachWord calls fn with each word in lower case and its position in the text, until fn returns false. The word is valid only during
// the call.
func eachWord(text []byte, fn func(word []byte, from, to int) bool) {
	var buffer [maxWord]byte
	word, from, long := buffer[:0], 0, false
	end := func(at int) bool {
		done := len(word) > 0 && !long && !fn(word, from, at)
		word, long = word[:0], false
		return !done
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			case 'A' <= c && c <= 'Z':
				c += 'a' - 'A'
			default:
				if !end(i) {
					return
				}
				i++
				continue
			}
			if len(word) == 0 {
				from = i
			}
			if len(word) < maxWord {
				word = append(word, c)
			} else {
				long = true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		alone := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
		inside := r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
		if (alone || !inside) && !end(i) {
			return
		}
		if inside {
			if len(word) == 0 {
				from = i
			}
			if lower := unicode.ToLower(r); len(word)+utf8.RuneLen(lower) <= maxWord {
				word = utf8.AppendRune(word, lower)
			} else {
				long = true
			}
		}
		i += size
		if alone && !end(i) { // scripts without spaces: every character is a word
			return
		}
	}
	end(len(text))
}
