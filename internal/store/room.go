package store

import (
	"bytes"
	"encoding/json"

	"fairlead/internal/requestlog"
)

// batchBuffers is the memory that the texts of a batch are made in, used again by the next one.
type batchBuffers struct {
	summary   requestlog.Entry // of one record after the other, as are the texts
	text      []byte
	slot      []byte
	summaries []byte // of one pack after the other
	traces    []byte
	bodies    []byte
	chunks    [][]byte // what is packed, of all records
	filling   int      // the block that is being filled
}

const (
	// maxBufferBytes is the most memory that is kept from one batch to the next.
	maxBufferBytes = 8 << 20
	// minChunk and maxChunk are how long blocks are, unless one text needs more. A block that is full stays where it is: growing it
	// would copy what it has.
	minChunk = 64 << 10
	maxChunk = 1 << 20
)

// release keeps the room for the next batch, as far as it is not too large.
func (db *DB) release(r *batchBuffers) {
	kept := cap(r.text) + cap(r.slot) + cap(r.summaries) + cap(r.traces) + cap(r.bodies)
	if kept > maxBufferBytes {
		return
	}
	for i, block := range r.chunks {
		if kept += cap(block); kept > maxBufferBytes {
			clear(r.chunks[i:])
			r.chunks = r.chunks[:i]
			break
		}
		r.chunks[i] = block[:0]
	}
	r.summary, r.filling = requestlog.Entry{}, 0
	db.buffers.Put(r)
}

// Pack makes a text ready for storage; nil stays nil.
func (r *batchBuffers) compress(packer *Codec, b []byte) []byte {
	if b == nil {
		return nil
	}
	block := r.chunk(MaxPacked(len(b)))
	from := len(*block)
	*block = packer.AppendPacked(*block, b)
	return (*block)[from:len(*block):len(*block)]
}

// chunk returns one that has room for n bytes more.
func (r *batchBuffers) chunk(n int) *[]byte {
	for ; r.filling < len(r.chunks); r.filling++ {
		if block := r.chunks[r.filling]; cap(block)-len(block) >= n {
			return &r.chunks[r.filling]
		}
	}
	usual := min(minChunk<<min(len(r.chunks), 8), maxChunk)
	r.chunks = append(r.chunks, make([]byte, 0, max(n, usual)))
	return &r.chunks[r.filling]
}

// appendSummary appends the JSON of an entry without what changes later, and what only its own page shows.
func (r *batchBuffers) appendSummary(to []byte, e *requestlog.Entry) ([]byte, error) {
	r.summary = *e
	r.summary.Decision, r.summary.Bill, r.summary.BaselineBill, r.summary.Preview = nil, nil, nil, ""
	return appendJSON(to, &r.summary)
}

// appendJSON appends the JSON of v without escapes for HTML.
func appendJSON(to []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(to)
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return to, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
