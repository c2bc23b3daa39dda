package gateway

import (
	"sync"

	"fairlead/internal/requestlog"
)

// scrollPart is the room that a scroll grows by.
const scrollPart = 512

// blanks are parts of scrolls that nobody needs any more.
var blanks = sync.Pool{New: func() any { return new([scrollPart]byte) }}

// scroll keeps the text of an answer as it comes. What it has is never copied to make room for more, and little room is to
// spare: very many streams may be open, and each has one.
type scroll struct {
	whole  []byte // a text that came in one piece; the parts are empty then
	parts  []*[scrollPart]byte
	size   int
	folder requestlog.Folder // of events
}

// add appends a copy of data.
func (s *scroll) add(data ...byte) {
	for len(data) > 0 {
		at := s.size % scrollPart
		if at == 0 {
			s.parts = append(s.parts, blanks.Get().(*[scrollPart]byte))
		}
		n := copy(s.parts[len(s.parts)-1][at:], data)
		data = data[n:]
		s.size += n
	}
}

// adopt makes data the text, without a copy. Nobody may change it from here on.
func (s *scroll) adopt(data []byte) { s.whole, s.size = data, len(data) }

// text is all of it in one piece: as it came, or written to room.
func (s *scroll) text(room []byte) []byte {
	if s.parts == nil {
		return s.whole
	}
	left := s.size
	for _, part := range s.parts {
		n := min(left, scrollPart)
		room = append(room, part[:n]...)
		left -= n
	}
	return room
}

// forget empties the scroll. Other ones are written on what it was written on.
func (s *scroll) forget() {
	for _, part := range s.parts {
		blanks.Put(part)
	}
	*s = scroll{}
}
