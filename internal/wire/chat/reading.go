package chat

import (
	"errors"
	"sync"

	"fairlead/internal/llm"
)

// reading is an answer until it is closed.
type reading struct {
	*answer
	err error // what is said after that
}

var errClosed = errors.New("the answer was closed before its end")

// Next returns the next event. At the end comes the usage, if any was told.
func (r *reading) Next() (llm.Event, bool, error) {
	if r.answer == nil {
		return llm.Event{}, false, r.err
	}
	return r.answer.Next()
}

// Wait returns when there may be another event.
func (r *reading) Wait() {
	if r.answer != nil && r.framed && !r.over {
		r.events.Wait()
	}
}

// Close ends the reading. What the answer was read with serves another one from here on.
func (r *reading) Close() {
	if r.answer == nil {
		return
	}
	r.err = r.answer.err
	if !r.over {
		r.err = errClosed
	}
	r.reset()
	spares.Put(r.answer)
	r.answer = nil
}

// spares are answers that nobody reads: the room that they have is of use to the next.
var spares = sync.Pool{New: func() any { return &answer{c: chunk{fields: make([]llm.Field, 0, 12)}} }}

// largestKept is the most room that an answer leaves to the next: very many streams may be open, and most events are short.
const largestKept = 4 << 10

// reset forgets everything but the room.
func (a *answer) reset() {
	clear(a.c.fields)
	clear(a.c.odd)
	a.events.Reset(nil, 0)
	*a = answer{
		model: a.model[:0], out: emptied(a.out), held: emptied(a.held), events: a.events,
		c: chunk{fields: a.c.fields[:0], odd: a.c.odd[:0]},
	}
}

// emptied is the room of a buffer that is not too large to be kept.
func emptied(b []byte) []byte {
	if cap(b) > largestKept {
		return nil
	}
	return b[:0]
}
