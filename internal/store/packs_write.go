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
	insertPacks        = NewInserter("packs", slices.Concat(NumberFields("number", "size"), BytesFields("summaries", "traces")), "")
	insertPackedBodies = NewInserter("packed_bodies",
		slices.Concat(NumberFields("number", "size"), TextFields("workspace_id", "oldest"), NumberFields("held"), BytesFields("content")), "")
)

// packs makes the packs of a batch, whose entries are in order of workspaces.
func (db *DB) packs(entries []*requestlog.Entry, room *batchBuffers) ([]Block, error) {
	packs := make([]Block, 0, len(entries)/Size+1)
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
	for i, e := range entries[:min(len(entries), Size)] {
		size += len(e.Body.Request) + len(e.Body.Response)
		if i > 0 && (size > maxBlockBytes || e.WorkspaceID != entries[0].WorkspaceID) {
			return i
		}
	}
	return min(len(entries), Size)
}

func (db *DB) pack(entries []*requestlog.Entry, room *batchBuffers) (Block, error) {
	p := Block{Workspace: entries[0].WorkspaceID, Size: len(entries)}
	room.summaries, room.traces, room.bodies = room.summaries[:0], room.traces[:0], room.bodies[:0]
	for _, e := range entries {
		if err := room.addDetails(e); err != nil {
			return p, fmt.Errorf("prepare entry %s: %w", e.ID, err)
		}
		if room.addBody(e) {
			p.Bodies.Hold(e.ID)
		}
	}
	p.Summaries, p.Traces = room.compress(db.codec, room.summaries), room.compress(db.codec, room.traces)
	if p.Bodies.Held > 0 {
		p.Bodies.Content = room.compress(db.codec, room.bodies)
	}
	return p, nil
}

// addDetails adds slots with an entry's summary and its trace.
func (r *batchBuffers) addDetails(e *requestlog.Entry) (err error) {
	if r.text, err = r.appendSummary(r.text[:0], e); err != nil {
		return err
	}
	if r.slot, err = appendTrace(r.slot[:0], e); err != nil {
		return err
	}
	r.summaries, r.traces = AppendSized(r.summaries, r.text), AppendSized(r.traces, r.slot)
	return nil
}

// addBody adds a slot with an entry's texts, and says whether it holds any. They are compressed with their pack, and neither before nor
// again: those of one conversation repeat each other.
func (r *batchBuffers) addBody(e *requestlog.Entry) bool {
	stored := e.BodyState == requestlog.BodyStored
	if !stored && e.Preview == "" {
		r.bodies = AppendSized(r.bodies, nil)
		return false
	}
	var request, response []byte
	if stored {
		request, response = e.Body.Request, e.Body.Response
	}
	r.slot = append(AppendSized(r.slot[:0], []byte(e.ID)), byte(Flag(stored && e.Body.Streamed)))
	r.bodies = binary.AppendUvarint(r.bodies, uint64(len(r.slot)+plainLen(request)+plainLen(response)))
	r.bodies = appendPlain(appendPlain(append(r.bodies, r.slot...), request), response)
	return true
}

// appendPlain appends a text of a slot, packed as it is; nil stays nil.
func appendPlain(to, text []byte) []byte {
	if text == nil {
		return AppendSized(to, nil)
	}
	return append(append(binary.AppendUvarint(to, uint64(1+len(text))), Plain), text...)
}

// plainLen is how much appendPlain appends.
func plainLen(text []byte) int {
	if text == nil {
		return SizedLen(0)
	}
	return SizedLen(1 + len(text))
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
	n, err := db.Insert(ctx, tx, insertPlaced, rows)
	if err != nil {
		return nil, err
	}
	if int(n) < len(rows) {
		places, err := Column[int64](ctx, tx, `select place from requests where rowid > $1`, last)
		if err != nil {
			return nil, err
		}
		if b, err = b.fresh(db.codec, place, places); err != nil {
			return nil, err
		}
	}
	return b.records, db.insertPacked(ctx, tx, b.packs, place)
}

// fresh is the part of a batch whose requests have got their places. The others were there before.
func (b batch) fresh(packer *Codec, first int64, places []int64) (batch, error) {
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
		left, err := p.Without(packer, func(i int) bool { return !got[begin+i] })
		if err != nil {
			return part, err
		}
		part.packs = append(part.packs, left)
		begin += p.Size
	}
	return part, nil
}

// insertPacked writes packs, the first of which begins at a place.
func (db *DB) insertPacked(ctx context.Context, tx *sql.Tx, packs []Block, place int64) error {
	details, bodies := make([][]any, 0, len(packs)), make([][]any, 0, len(packs))
	for _, p := range packs {
		if len(p.Summaries) > 0 {
			details = append(details, []any{place, p.Size, p.Summaries, p.Traces})
		}
		if p.Bodies.Held > 0 {
			bodies = append(bodies, []any{place, p.Size, p.Workspace, p.Bodies.Oldest, p.Bodies.Held, p.Bodies.Content})
		}
		place += int64(p.Size)
	}
	if _, err := db.Insert(ctx, tx, insertPacks, details); err != nil {
		return err
	}
	_, err := db.Insert(ctx, tx, insertPackedBodies, bodies)
	return err
}
