package predict

// lexicon is a fixed table of words. A word is found by its first and last byte and its length, which distinguish
// most words: hashing the whole word would be slower, and every word of every prompt is looked up.
type lexicon[T any] struct {
	heads   [lexiconHeads]uint16 // by lexiconAt: index of the first entry, from one
	entries []lexiconEntry[T]
}

type lexiconEntry[T any] struct {
	word  string
	value T
	next  uint16 // index of the next entry with the same head, from one; 0 for none
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

// find returns the value of a word, which must not be empty.
func (l *lexicon[T]) find(word []byte) (value T, ok bool) {
	for at := l.heads[lexiconAt(word[0], word[len(word)-1], len(word))]; at != 0; at = l.entries[at-1].next {
		if e := &l.entries[at-1]; string(word) == e.word {
			return e.value, true
		}
	}
	return value, false
}

// longestWord bounds the words that are looked up; no entry of a lexicon is longer.
const longestWord = 24

// lowers maps a byte of a word to lower case, and other bytes to 0.
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

// foldWord writes the word at the start of text in lower case, truncated to the buffer, and returns its length and
// whether it has letters outside ASCII. Of these it folds the Western European ones, whose second byte determines the
// case.
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
