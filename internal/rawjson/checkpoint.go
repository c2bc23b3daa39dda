package rawjson

// Checkpoint is the state of a scanner after an element of a list that is a member of the document's object. It does not refer to the
// document.
type Checkpoint struct {
	Pos             int
	size            Size
	keys            []string // keys of the document's object
	ascii, nonASCII int
}

// Bytes returns the size of the checkpoint.
func (c *Checkpoint) Bytes() int { return 128 + 32*len(c.keys) }

// Checkpoint returns the state of the scanner. It may be called in the body of a loop over Elements after the element was read, where
// the list is a member of the document's object.
func (s *Scanner) Checkpoint() Checkpoint {
	c := Checkpoint{Pos: s.Pos, size: s.Size, keys: make([]string, len(s.keys)), ascii: s.ASCII, nonASCII: s.NonASCII}
	for i, key := range s.keys {
		c.keys[i] = string(key)
	}
	return c
}

// Resume continues at a checkpoint of a document with the same beginning. ElementsAfter and MembersAfter read the rest.
func (s *Scanner) Resume(c Checkpoint) {
	s.Pos, s.polled, s.Size, s.ASCII, s.NonASCII, s.depth = c.Pos, c.Pos, c.size, c.ascii, c.nonASCII, 2
	s.keys = s.keys[:0]
	for _, key := range c.keys {
		s.keys = append(s.keys, []byte(key))
	}
}

// ElementsAfter yields the indexes of the list at a checkpoint, from n on, under the same rules as Elements.
func (s *Scanner) ElementsAfter(n int, yield func(n int) bool) {
	if s.more(']') {
		s.elements(n, yield)
	}
}

// MembersAfter yields the keys of the document's object after the list at a checkpoint, under the same rules as Members.
func (s *Scanner) MembersAfter(yield func(key []byte) bool) {
	if s.more('}') {
		s.members(0, yield)
	}
	s.keys = s.keys[:0]
}
