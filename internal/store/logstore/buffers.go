package logstore

import (
	"bytes"
	"encoding/json"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/entryblock"
)

// batchBuffers is the memory in which a batch is encoded. The next batch reuses it.
type batchBuffers struct {
	summary   requestlog.Entry // summary of the current record; reused for each record, like text and slot
	text      []byte
	slot      []byte
	summaries []byte // summaries of the current block; reused for each block, like traces and bodies
	traces    []byte
	bodies    []byte
	chunks    [][]byte // compressed text of all records
	filling   int      // index of the chunk being filled
}

const (
	// maxBufferBytes is the maximum memory kept from one batch to the next.
	maxBufferBytes = 8 << 20
	// minChunk and maxChunk limit the size of a chunk, unless a single value is longer. A full chunk is not extended, because that would
	// copy its content.
	minChunk = 64 << 10
	maxChunk = 1 << 20
)

// release keeps the buffers for the next batch, up to maxBufferBytes.
func (s *Store) release(r *batchBuffers) {
	kept := cap(r.text) + cap(r.slot) + cap(r.summaries) + cap(r.traces) + cap(r.bodies)
	if kept > maxBufferBytes {
		return
	}
	for i, chunk := range r.chunks {
		if kept += cap(chunk); kept > maxBufferBytes {
			clear(r.chunks[i:])
			r.chunks = r.chunks[:i]
			break
		}
		r.chunks[i] = chunk[:0]
	}
	r.summary, r.filling = requestlog.Entry{}, 0
	s.buffers.Put(r)
}

// compress compresses b with pack, a method of entryblock.Codec, into a chunk. It returns nil for nil.
func (r *batchBuffers) compress(pack func(to, b []byte) []byte, b []byte) []byte {
	if b == nil {
		return nil
	}
	to := r.chunk(entryblock.MaxPacked(len(b)))
	from := len(*to)
	*to = pack(*to, b)
	return (*to)[from:len(*to):len(*to)]
}

// chunk returns a chunk that has capacity for n more bytes.
func (r *batchBuffers) chunk(n int) *[]byte {
	for ; r.filling < len(r.chunks); r.filling++ {
		if chunk := r.chunks[r.filling]; cap(chunk)-len(chunk) >= n {
			return &r.chunks[r.filling]
		}
	}
	usual := min(minChunk<<min(len(r.chunks), 8), maxChunk)
	r.chunks = append(r.chunks, make([]byte, 0, max(n, usual)))
	return &r.chunks[r.filling]
}

// appendSummary appends the JSON of an entry without its trace. It also omits the preview, because the preview may change later.
func (r *batchBuffers) appendSummary(to []byte, e *requestlog.Entry) ([]byte, error) {
	r.summary = *e
	r.summary.Decision, r.summary.Bill, r.summary.BaselineBill, r.summary.Preview = nil, nil, nil, ""
	return appendJSON(to, &r.summary)
}

// appendJSON appends the JSON of v without HTML escapes.
func appendJSON(to []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(to)
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return to, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
