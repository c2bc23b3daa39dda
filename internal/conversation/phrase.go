package conversation

// phraseSet finds any of many phrases in one pass over a text, ignoring the case of ASCII letters. It looks up the first two
// bytes of a phrase at every position.
type phraseSet struct {
	starts  [1 << 16 / 64]uint64 // one bit for the first two bytes of every phrase
	phrases map[uint16][]numbered
}

// numbered is a phrase in lower case with its list and its index there.
type numbered struct {
	text        string
	list, index int
}

// newPhraseSet returns a set of phrases of at least two bytes.
func newPhraseSet(lists ...[]string) *phraseSet {
	s := &phraseSet{phrases: map[uint16][]numbered{}}
	for n, list := range lists {
		for index, phrase := range list {
			folded := make([]byte, len(phrase))
			for i := range len(phrase) {
				folded[i] = fold(phrase[i])
			}
			start := uint16(folded[0])<<8 | uint16(folded[1])
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
	if text == "" {
		return
	}
	last := fold(text[0])
	for i := 1; i < len(text); i++ {
		next := fold(text[i])
		start := uint16(last)<<8 | uint16(next)
		last = next
		if s.starts[start/64]&(1<<(start%64)) == 0 {
			continue
		}
		for _, p := range s.phrases[start] {
			if hasFolded(text[i-1:], p.text) && !found(p.list, p.index, i-1, len(p.text)) {
				return
			}
		}
	}
}

// in reports whether the text has a phrase of the set.
func (s *phraseSet) in(text string) (yes bool) {
	s.each(text, func(_, _, _, _ int) bool {
		yes = true
		return false
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
