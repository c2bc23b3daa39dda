package rawjson

// Checkpoint holds the state of a scanner after an element of a list. The list must be a member of the top-level object. A Checkpoint does
// not refer to the document.
type Checkpoint struct {
	Pos             int
	size            Size
	keys            []string // keys of the top-level object
	ascii, nonASCII int
}

// Bytes returns the approximate size of the checkpoint in bytes.
func (c *Checkpoint) Bytes() int { return 128 + 32*len(c.keys) }

// Checkpoint returns the state of the scanner. Call it only in a loop over the Elements of a list that is a member of the top-level
// object, after the loop body has read the element.
func (s *Scanner) Checkpoint() Checkpoint {
	c := Checkpoint{Pos: s.Pos, size: s.Size, keys: make([]string, len(s.keys)), ascii: s.ASCII, nonASCII: s.NonASCII}
	for i, key := range s.keys {
		c.keys[i] = string(key)
	}
	return c
}

// Resume sets the scanner to the state of a checkpoint. The document must be the same up to this position. Read the rest with
// ElementsAfter and then MembersAfter.
func (s *Scanner) Resume(c Checkpoint) {
	s.Pos, s.polled, s.Size, s.ASCII, s.NonASCII, s.depth = c.Pos, c.Pos, c.size, c.ascii, c.nonASCII, 2
	s.keys = s.keys[:0]
	for _, key := range c.keys {
		s.keys = append(s.keys, []byte(key))
	}
}

// ElementsAfter yields the indexes of the remaining elements of the checkpoint's list. The first one has index n. The rules of Members
// apply.
func (s *Scanner) ElementsAfter(n int, yield func(n int) bool) {
	if s.more(']') {
		s.elements(n, yield)
	}
}

// MembersAfter yields the keys of the top-level object after the checkpoint's list. The rules of Members apply.
func (s *Scanner) MembersAfter(yield func(key []byte) bool) {
	if s.more('}') {
		s.members(0, yield)
	}
	s.keys = s.keys[:0]
}
