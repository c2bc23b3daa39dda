package predict

// lexicon is a fixed table of words. A word is found by its first and last byte and its length, which distinguish
// most words: hashing the whole word would be slower, and every word of every prompt is looked up.
type lexicon[T any] struct {
	heads   [lexiconHeads]uint16 // number of the first entry of each hash bucket, starting at 1; 0 for none; indexed by lexiconAt
	entries []lexiconEntry[T]
}

type lexiconEntry[T any] struct {
	word  string
	value T
	next  uint16 // number of the next entry in the same bucket, starting at 1; 0 for none
}

const lexiconHeads = 4096

func newLexicon[T any](table map[string]T) *lexicon[T] {
	l := &lexicon[T]{}
	for word, value := range table {
		head := &l.heads[lexiconAt(word[0], word[len(word)-1], len(word))]
		l.entries = append(l.entries, lexiconEntry[T]{word, value, *head})
		*head = uint16(len(l.entries))
	}
	return l
}

func lexiconAt(first, last byte, length int) int {
	return (int(first)*37 + int(last)*11 + length*401) % lexiconHeads
}

// find returns the value of a word. The word must not be empty.
func (l *lexicon[T]) find(word []byte) (value T, ok bool) {
	for at := l.heads[lexiconAt(word[0], word[len(word)-1], len(word))]; at != 0; at = l.entries[at-1].next {
		if e := &l.entries[at-1]; string(word) == e.word {
			return e.value, true
		}
	}
	return value, false
}

// longestWord is the maximum length of a word in a lexicon, in bytes. Longer words are not looked up.
const longestWord = 24

// lowers maps bytes that occur in words to lower case, and all other bytes to 0.
var lowers = func() (table [256]byte) {
	for i := range table {
		switch b := byte(i); {
		case b >= 'A' && b <= 'Z':
			table[i] = b + 'a' - 'A'
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9', b >= 0x80, b == '_':
			table[i] = b
		}
	}
	return table
}()

// foldWord writes the word at the start of text to the buffer in lower case, truncated to the size of the buffer. It returns
// the length of the word and whether the word has letters outside ASCII. Of these, only Western European letters are
// converted to lower case, because their second byte determines the case.
func foldWord(word *[longestWord]byte, text string) (length int, foreign bool) {
	for length < len(text) {
		b := lowers[text[length]]
		if b == 0 {
			break
		}
		if b >= 0x80 {
			foreign = true
			if length > 0 && length < longestWord && b <= 0x9E && word[length-1] == 0xC3 {
				b += 0x20
			}
		}
		if length < longestWord {
			word[length] = b
		}
		length++
	}
	return length, foreign
}
