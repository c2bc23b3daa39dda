package store

import (
	"slices"

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
	packed    []byte // of all records
}

// largestRoom is the most memory that is kept from one batch to the next.
const largestRoom = 4 << 20

func (db *DB) giveBack(r *room) {
	if max(cap(r.packed), cap(r.text), cap(r.slot), cap(r.summaries), cap(r.traces), cap(r.bodies)) <= largestRoom {
		r.packed, r.summary = r.packed[:0], requestlog.Entry{}
		db.rooms.Put(r)
	}
}

// grow makes room for about what the entries come to.
func (r *room) grow(entries []*requestlog.Entry) {
	const trace = 2 << 10
	n := 0
	for _, e := range entries {
		n += trace
		for _, body := range [][]byte{e.Body.Request, e.Body.Response} {
			if len(body) < packMin {
				n += len(body) + 1
			} else {
				n += len(body) * 2 / 3
			}
		}
	}
	r.packed = slices.Grow(r.packed, n)
}

// pack makes a text ready for storage; nil stays nil.
func (r *room) pack(packer *packer, b []byte) []byte {
	if b == nil {
		return nil
	}
	from := len(r.packed)
	r.packed = packer.appendPacked(r.packed, b)
	return r.packed[from:len(r.packed):len(r.packed)]
}

// appendSummary appends the JSON of an entry without what changes later, and what only its own page shows.
func (r *room) appendSummary(to []byte, e *requestlog.Entry) ([]byte, error) {
	r.summary = *e
	r.summary.Decision, r.summary.Bill, r.summary.BaselineBill, r.summary.Preview = nil, nil, nil, ""
	return summaries.Append(to, &r.summary)
}
