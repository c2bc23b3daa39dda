package openai

import (
	"errors"
	"strings"
	"sync"

	"fairlead.dev/internal/llm"
)

// responseStream implements llm.Stream. Close returns the embedded reader to the pool and sets it to nil.
type responseStream struct {
	*responseReader
	err error // error that is returned after Close
}

var errClosed = errors.New("response closed before EOF")

// Next implements llm.Stream.
func (r *responseStream) Next() (llm.Event, bool, error) {
	if r.responseReader == nil {
		return llm.Event{}, false, r.err
	}
	return r.responseReader.Next()
}

// Close ends the response and returns its buffers to the pool.
func (r *responseStream) Close() {
	if r.responseReader == nil {
		return
	}
	r.err = r.responseReader.err
	if !r.over {
		r.err = errClosed
	}
	a := r.responseReader
	a.leaveChunk()
	a.events.Reset(nil, 0)
	*a = responseReader{model: a.model[:0], held: emptied(a.held), source: source{events: a.events}} // keep only the allocated buffers
	readerPool.Put(a)
	r.responseReader = nil
}

// readerPool pools readers with their buffers.
var readerPool = sync.Pool{New: func() any { return &responseReader{} }}

// chunkPool pools chunks. Many streams may be open, but few of them use a chunk at the same time.
var chunkPool = sync.Pool{New: func() any { return &chunk{fields: make([]llm.Field, 0, 12)} }}

// largestKept is the maximum capacity of pooled buffers. It is small because many streams may be open and most events
// are short.
const largestKept = 4 << 10

// takeChunk gets a chunk from the pool.
func (a *responseReader) takeChunk() {
	a.c = chunkPool.Get().(*chunk)
	a.c.bare = a.o.Bare
	a.c.outer, a.c.inner, _ = strings.Cut(a.o.UsagePath, ".")
}

// leaveChunk returns the chunk, with the buffer of its event, to the pool.
func (a *responseReader) leaveChunk() {
	if c := a.c; c != nil {
		a.c = nil
		clear(c.fields)
		clear(c.corrections)
		*c = chunk{fields: c.fields[:0], corrections: c.corrections[:0], out: emptied(c.out)}
		chunkPool.Put(c)
	}
}

// emptied returns the buffer with length 0, or nil if its capacity is too large to keep.
func emptied(b []byte) []byte {
	if cap(b) > largestKept {
		return nil
	}
	return b[:0]
}
