package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"fairlead/internal/requestlog"
)

var (
	insertPacks        = newInserter("packs", slices.Concat(numberFields("number", "size"), bytesFields("summaries", "traces")), "")
	insertPackedBodies = newInserter("packed_bodies",
		slices.Concat(numberFields("number", "size"), textFields("workspace_id", "oldest"), numberFields("held"), bytesFields("content")), "")
)

// packs makes the packs of a batch, whose entries are in order of workspaces.
func (db *DB) packs(entries []*requestlog.Entry, room *room) ([]pack, error) {
	packs := make([]pack, 0, len(entries)/packSize+1)
	for len(entries) > 0 {
		n := nextPack(entries)
		p, err := db.pack(entries[:n], room)
		if err != nil {
			return nil, err
		}
		packs, entries = append(packs, p), entries[n:]
	}
	return packs, nil
}

// nextPack is how many of the entries go into the next pack.
func nextPack(entries []*requestlog.Entry) int {
	size := 0
	for i, e := range entries[:min(len(entries), packSize)] {
		size += len(e.Body.Request) + len(e.Body.Response)
		if i > 0 && (size > packBytes || e.WorkspaceID != entries[0].WorkspaceID) {
			return i
		}
	}
	return min(len(entries), packSize)
}

func (db *DB) pack(entries []*requestlog.Entry, room *room) (pack, error) {
	p := pack{workspace: entries[0].WorkspaceID, size: len(entries)}
	room.summaries, room.traces, room.bodies = room.summaries[:0], room.traces[:0], room.bodies[:0]
	for _, e := range entries {
		if err := room.addDetails(e); err != nil {
			return p, fmt.Errorf("prepare entry %s: %w", e.ID, err)
		}
		if room.addBody(e) {
			p.bodies.hold(e.ID)
		}
	}
	p.summaries, p.traces = room.pack(db.packer, room.summaries), room.pack(db.packer, room.traces)
	if p.bodies.held > 0 {
		p.bodies.content = room.pack(db.packer, room.bodies)
	}
	return p, nil
}

// addDetails adds slots with an entry's summary and its trace.
func (r *room) addDetails(e *requestlog.Entry) (err error) {
	if r.text, err = r.appendSummary(r.text[:0], e); err != nil {
		return err
	}
	if r.slot, err = appendTrace(r.slot[:0], e); err != nil {
		return err
	}
	r.summaries, r.traces = appendSized(r.summaries, r.text), appendSized(r.traces, r.slot)
	return nil
}

// addBody adds a slot with an entry's texts, and says whether it holds any. They are compressed with their pack, and neither before nor
// again: those of one conversation repeat each other.
func (r *room) addBody(e *requestlog.Entry) bool {
	stored := e.BodyState == requestlog.BodyStored
	if !stored && e.Preview == "" {
		r.bodies = appendSized(r.bodies, nil)
		return false
	}
	var request, response []byte
	if stored {
		request, response = e.Body.Request, e.Body.Response
	}
	r.slot = append(appendSized(r.slot[:0], []byte(e.ID)), byte(flag(stored && e.Body.Streamed)))
	r.bodies = binary.AppendUvarint(r.bodies, uint64(len(r.slot)+plainLen(request)+plainLen(response)))
	r.bodies = appendPlain(appendPlain(append(r.bodies, r.slot...), request), response)
	return true
}

// appendPlain appends a text of a slot, packed as it is; nil stays nil.
func appendPlain(to, text []byte) []byte {
	if text == nil {
		return appendSized(to, nil)
	}
	return append(append(binary.AppendUvarint(to, uint64(1+len(text))), packedPlain), text...)
}

// plainLen is how much appendPlain appends.
func plainLen(text []byte) int {
	if text == nil {
		return sizedLen(0)
	}
	return sizedLen(1 + len(text))
}

// insertPacking inserts requests and the packs of a batch, and returns the records that were not there before. SQLite numbers its
// rows: nobody else writes meanwhile, so the new ones have the greatest numbers, and need to be read only where some were there
// before. Places that no pack has any more may be given again, because no request has them either.
func (db *DB) insertPacking(ctx context.Context, tx *sql.Tx, b batch) ([]record, error) {
	const q = `select coalesce((select max(rowid) from requests), 0), coalesce((select number + size from packs order by number desc limit 1), 1)`
	var last, place int64
	if err := tx.QueryRowContext(ctx, q).Scan(&last, &place); err != nil {
		return nil, err
	}
	rows := make([][]any, len(b.records))
	for i, r := range b.records {
		rows[i] = r.request
		rows[i][len(requestFields)] = place + int64(i)
	}
	n, err := db.insert(ctx, tx, insertPlaced, rows)
	if err != nil {
		return nil, err
	}
	if int(n) < len(rows) {
		places, err := column[int64](ctx, tx, `select place from requests where rowid > $1`, last)
		if err != nil {
			return nil, err
		}
		if b, err = b.fresh(db.packer, place, places); err != nil {
			return nil, err
		}
	}
	return b.records, db.insertPacked(ctx, tx, b.packs, place)
}

// fresh is the part of a batch whose requests have got their places. The others were there before.
func (b batch) fresh(packer *packer, first int64, places []int64) (batch, error) {
	got := make(map[int]bool, len(places))
	for _, place := range places {
		got[int(place-first)] = true
	}
	var part batch
	for i, r := range b.records {
		if got[i] {
			part.records = append(part.records, r)
		}
	}
	begin := 0
	for _, p := range b.packs {
		left, err := p.without(packer, func(i int) bool { return !got[begin+i] })
		if err != nil {
			return part, err
		}
		part.packs = append(part.packs, left)
		begin += p.size
	}
	return part, nil
}

// insertPacked writes packs, the first of which begins at a place.
func (db *DB) insertPacked(ctx context.Context, tx *sql.Tx, packs []pack, place int64) error {
	details, bodies := make([][]any, 0, len(packs)), make([][]any, 0, len(packs))
	for _, p := range packs {
		if len(p.summaries) > 0 {
			details = append(details, []any{place, p.size, p.summaries, p.traces})
		}
		if p.bodies.held > 0 {
			bodies = append(bodies, []any{place, p.size, p.workspace, p.bodies.oldest, p.bodies.held, p.bodies.content})
		}
		place += int64(p.size)
	}
	if _, err := db.insert(ctx, tx, insertPacks, details); err != nil {
		return err
	}
	_, err := db.insert(ctx, tx, insertPackedBodies, bodies)
	return err
}
