package conversation

// phraseSet finds any of many phrases in one pass over a text, ignoring the case of ASCII letters. It looks up the first three
// bytes of a phrase at every position.
type phraseSet struct {
	starts  [1 << 16 / 64]uint64 // one bit for the first three bytes of every phrase
	phrases map[uint16][]numbered
}

// startOf returns a hash of three bytes that differs for different ASCII letters.
func startOf(a, b, c byte) uint16 { return uint16(a)<<11 ^ uint16(b)<<5 ^ uint16(c) }

// numbered is a phrase in lower case with its list and its index there.
type numbered struct {
	text        string
	list, index int
}

// newPhraseSet returns a set of phrases of at least three bytes.
func newPhraseSet(lists [][]string) *phraseSet {
	s := &phraseSet{phrases: map[uint16][]numbered{}}
	for n, list := range lists {
		for index, phrase := range list {
			folded := make([]byte, len(phrase))
			for i := range len(phrase) {
				folded[i] = fold(phrase[i])
			}
			start := startOf(folded[0], folded[1], folded[2])
			s.starts[start/64] |= 1 << (start % 64)
			s.phrases[start] = append(s.phrases[start], numbered{string(folded), n, index})
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

// each calls found for every phrase in the text, with its list, its index there, its offset and its length, until found
// returns false.
func (s *phraseSet) each(text string, found func(list, index, at, length int) bool) {
	if len(text) < 3 {
		return
	}
	first, second := fold(text[0]), fold(text[1])
	for i := 2; i < len(text); i++ {
		third := fold(text[i])
		start := startOf(first, second, third)
		first, second = second, third
		if s.starts[start/64]&(1<<(start%64)) == 0 {
			continue
		}
		for _, p := range s.phrases[start] {
			if hasFolded(text[i-2:], p.text) && !found(p.list, p.index, i-2, len(p.text)) {
				return
			}
		}
	}
}

// has reports whether the text has a phrase of a list of the set.
func (s *phraseSet) has(text string, list int) (yes bool) {
	s.each(text, func(found, _, _, _ int) bool {
		yes = found == list
		return !yes
	})
	return yes
}

// hasFolded reports whether a text begins with a phrase in lower case.
func hasFolded(text, phrase string) bool {
	if len(text) < len(phrase) {
		return false
	}
	for i := range len(phrase) {
		if fold(text[i]) != phrase[i] {
			return false
		}
	}
	return true
}
