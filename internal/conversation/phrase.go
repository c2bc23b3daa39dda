package conversation

// phraseSet finds any of many phrases in one pass over text, ignoring the case of ASCII letters. It looks up the first three
// bytes of a phrase at every position.
type phraseSet struct {
	starts  [1 << startBits / 64]uint64 // bit set with one bit for the start of every phrase
	phrases [1 << 10][]numbered         // phrases indexed by the last bits of their start; phrases with different starts can share a list
}

// startBits is the number of bits in a start, which is the hash of three bytes. Each byte contributes five bits, enough to distinguish
// ASCII letters.
const startBits = 15

// nextStart adds c to a rolling hash of the last three bytes. Letter case is ignored.
func nextStart(start uint16, c byte) uint16 {
	return (start<<5 ^ uint16(folded[c])) & (1<<startBits - 1)
}

// folded maps ASCII letters to lower case.
var folded = func() (table [256]byte) {
	for i := range table {
		table[i] = fold(byte(i))
	}
	return table
}()

// numbered is a lower-case phrase with the number of its list and its index in the list.
type numbered struct {
	text        string
	list, index int
}

// minPhrase is the minimum length of a phrase in bytes.
const minPhrase = 3

// newPhraseSet returns the set of the phrases in lists. Every phrase must have at least minPhrase bytes.
func newPhraseSet(lists [][]string) *phraseSet {
	s := &phraseSet{}
	for n, list := range lists {
		for index, phrase := range list {
			lower := make([]byte, len(phrase))
			for i := range len(phrase) {
				lower[i] = fold(phrase[i])
			}
			start := nextStart(nextStart(nextStart(0, lower[0]), lower[1]), lower[2])
			s.starts[start/64] |= 1 << (start % 64)
			same := &s.phrases[start%uint16(len(s.phrases))]
			*same = append(*same, numbered{string(lower), n, index})
		}
	}
	return s
}

func fold(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// each calls found(list, index, at, length) for every phrase in text until found returns false: the number of the phrase's list, its index
// in the list, its offset in the text and its length.
func (s *phraseSet) each(text string, found func(list, index, at, length int) bool) {
	if len(text) < minPhrase {
		return
	}
	start := nextStart(nextStart(0, text[0]), text[1])
	for i := 2; i < len(text); i++ {
		start = nextStart(start, text[i])
		if s.starts[start/64]&(1<<(start%64)) == 0 {
			continue
		}
		for _, p := range s.phrases[start%uint16(len(s.phrases))] {
			if hasFolded(text[i-2:], p.text) && !found(p.list, p.index, i-2, len(p.text)) {
				return
			}
		}
	}
}

// has reports whether text contains a phrase from the given list.
func (s *phraseSet) has(text string, list int) (yes bool) {
	s.each(text, func(found, _, _, _ int) bool {
		yes = found == list
		return !yes
	})
	return yes
}

// hasFolded reports whether text begins with the lower-case phrase.
func hasFolded(text, phrase string) bool {
	if len(text) < len(phrase) {
		return false
	}
	for i := range len(phrase) {
		if folded[text[i]] != phrase[i] {
			return false
		}
	}
	return true
}
