package chatstream

import (
	"errors"
	"strings"
	"sync"

	"fairlead/internal/llm"
)

// responseStream is an answer until it is closed.
type responseStream struct {
	*responseReader
	err error // returned after Close
}

var errClosed = errors.New("the answer was closed before its end")

// Next returns the next event. The last one has the usage.
func (r *responseStream) Next() (llm.Event, bool, error) {
	if r.responseReader == nil {
		return llm.Event{}, false, r.err
	}
	return r.responseReader.Next()
}

// Wait returns when there may be another event. Meanwhile the stream holds no chunk buffer.
func (r *responseStream) Wait() {
	if r.responseReader != nil && r.framed && !r.over && r.events.Drained() {
		r.leaveChunk()
		r.events.Wait()
	}
}

// Close ends the reading. What the answer was read with serves another one from here on.
func (r *responseStream) Close() {
	if r.responseReader == nil {
		return
	}
	r.err = r.responseReader.err
	if !r.over {
		r.err = errClosed
	}
	r.reset()
	readerPool.Put(r.responseReader)
	r.responseReader = nil
}

// readerPool holds readers with their buffers.
var readerPool = sync.Pool{New: func() any { return &responseReader{} }}

// chunkPool are those that no answer has at hand. Very many streams may be open, and few of them have one at a time.
var chunkPool = sync.Pool{New: func() any { return &chunk{fields: make([]llm.Field, 0, 12)} }}

// largestKept is the most room that an answer leaves to the next: very many streams may be open, and most events are short.
const largestKept = 4 << 10

// reset forgets everything but the room.
func (a *responseReader) reset() {
	a.leaveChunk()
	a.events.Reset(nil, 0)
	*a = responseReader{model: a.model[:0], held: emptied(a.held), events: a.events}
}

// takeChunk gives the answer a chunk to read into.
func (a *responseReader) takeChunk() {
	a.c = chunkPool.Get().(*chunk)
	a.c.bare = a.o.Bare
	a.c.outer, a.c.inner, _ = strings.Cut(a.o.UsagePath, ".")
}

// leaveChunk lets another answer have the chunk, and the room that its event was written to.
func (a *responseReader) leaveChunk() {
	if c := a.c; c != nil {
		a.c = nil
		clear(c.fields)
		clear(c.corrections)
		*c = chunk{fields: c.fields[:0], corrections: c.corrections[:0], out: emptied(c.out)}
		chunkPool.Put(c)
	}
}

// emptied is the room of a buffer that is not too large to be kept.
func emptied(b []byte) []byte {
	if cap(b) > largestKept {
		return nil
	}
	return b[:0]
}
