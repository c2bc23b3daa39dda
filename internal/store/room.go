package store

import (
	"bytes"
	"encoding/json"

	"fairlead/internal/requestlog"
)

// room is the memory that the texts of a batch are made in, used again by the next one.
type room struct {
	summary   requestlog.Entry // of one record after the other, as are the texts
	text      []byte
	slot      []byte
	summaries []byte // of one pack after the other
	traces    []byte
	bodies    []byte
	blocks    [][]byte // what is packed, of all records
	filling   int      // the block that is being filled
}

const (
	// largestRoom is the most memory that is kept from one batch to the next.
	largestRoom = 8 << 20
	// smallestBlock and largestBlock are how long blocks are, unless one text needs more. A block that is full stays where it is: growing it
	// would copy what it has.
	smallestBlock = 64 << 10
	largestBlock  = 1 << 20
)

// giveBack keeps the room for the next batch, as far as it is not too large.
func (db *DB) giveBack(r *room) {
	kept := cap(r.text) + cap(r.slot) + cap(r.summaries) + cap(r.traces) + cap(r.bodies)
	if kept > largestRoom {
		return
	}
	for i, block := range r.blocks {
		if kept += cap(block); kept > largestRoom {
			clear(r.blocks[i:])
			r.blocks = r.blocks[:i]
			break
		}
		r.blocks[i] = block[:0]
	}
	r.summary, r.filling = requestlog.Entry{}, 0
	db.rooms.Put(r)
}

// pack makes a text ready for storage; nil stays nil.
func (r *room) pack(packer *packer, b []byte) []byte {
	if b == nil {
		return nil
	}
	block := r.block(maxPacked(len(b)))
	from := len(*block)
	*block = packer.appendPacked(*block, b)
	return (*block)[from:len(*block):len(*block)]
}

// block returns one that has room for n bytes more.
func (r *room) block(n int) *[]byte {
	for ; r.filling < len(r.blocks); r.filling++ {
		if block := r.blocks[r.filling]; cap(block)-len(block) >= n {
			return &r.blocks[r.filling]
		}
	}
	usual := min(smallestBlock<<min(len(r.blocks), 8), largestBlock)
	r.blocks = append(r.blocks, make([]byte, 0, max(n, usual)))
	return &r.blocks[r.filling]
}

// appendSummary appends the JSON of an entry without what changes later, and what only its own page shows.
func (r *room) appendSummary(to []byte, e *requestlog.Entry) ([]byte, error) {
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
