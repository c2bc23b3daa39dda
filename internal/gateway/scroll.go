package gateway

import "slices"

// scrollPart is the least room that a scroll grows by.
const scrollPart = 1 << 10

// scroll keeps the text of an answer as it comes. What it has is never copied to make room for more, and little room is to
// spare: very many streams may be open, and each has one.
type scroll struct {
	parts [][]byte
	size  int
}

// add appends a copy of data.
func (s *scroll) add(data ...byte) {
	last := len(s.parts) - 1
	if last < 0 || cap(s.parts[last])-len(s.parts[last]) < len(data) {
		s.parts = append(s.parts, make([]byte, 0, max(scrollPart, len(data), s.size/4)))
		last++
	}
	s.parts[last] = append(s.parts[last], data...)
	s.size += len(data)
}

// adopt makes data the text, without a copy. Nobody may change it from here on.
func (s *scroll) adopt(data []byte) { s.parts, s.size = [][]byte{data}, len(data) }

// text is all of it, in one piece that nothing added later changes.
func (s *scroll) text() []byte {
	if len(s.parts) == 1 {
		return slices.Clip(s.parts[0])
	}
	return slices.Concat(s.parts...)
}
