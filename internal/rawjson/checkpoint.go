package rawjson

// Checkpoint is the state of a scanner after an element of a list in the top-level object. It does not retain the document.
type Checkpoint struct {
	Pos             int
	size            Size
	keys            []string // keys of the top-level object
	ascii, nonASCII int
}

// Bytes returns the approximate size of the checkpoint in bytes.
func (c *Checkpoint) Bytes() int { return 128 + 32*len(c.keys) }

// Checkpoint returns the state of the scanner. Call it only in a loop over Elements, after reading the element of a list that is a member
// of the top-level object.
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

// MembersAfter yields the keys of the top-level object after the list at a checkpoint, under the same rules as Members.
func (s *Scanner) MembersAfter(yield func(key []byte) bool) {
	if s.more('}') {
		s.members(0, yield)
	}
	s.keys = s.keys[:0]
}
