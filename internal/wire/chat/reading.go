package chat

import (
	"errors"
	"strings"
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

// Wait returns when there may be another event. Until then the answer holds no more than it needs to go on.
func (r *reading) Wait() {
	if r.answer != nil && r.framed && !r.over && r.events.Drained() {
		r.leaveChunk()
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
var spares = sync.Pool{New: func() any { return &answer{} }}

// chunks are those that no answer has at hand. Very many streams may be open, and few of them have one at a time.
var chunks = sync.Pool{New: func() any { return &chunk{fields: make([]llm.Field, 0, 12)} }}

// largestKept is the most room that an answer leaves to the next: very many streams may be open, and most events are short.
const largestKept = 4 << 10

// reset forgets everything but the room.
func (a *answer) reset() {
	a.leaveChunk()
	a.events.Reset(nil, 0)
	*a = answer{model: a.model[:0], held: emptied(a.held), events: a.events}
}

// takeChunk gives the answer a chunk to read into.
func (a *answer) takeChunk() {
	a.c = chunks.Get().(*chunk)
	a.c.bare = a.o.Bare
	a.c.outer, a.c.inner, _ = strings.Cut(a.o.UsagePath, ".")
}

// leaveChunk lets another answer have the chunk, and the room that its event was written to.
func (a *answer) leaveChunk() {
	if c := a.c; c != nil {
		a.c = nil
		clear(c.fields)
		clear(c.odd)
		*c = chunk{fields: c.fields[:0], odd: c.odd[:0], out: emptied(c.out)}
		chunks.Put(c)
	}
}

// emptied is the room of a buffer that is not too large to be kept.
func emptied(b []byte) []byte {
	if cap(b) > largestKept {
		return nil
	}
	return b[:0]
}
