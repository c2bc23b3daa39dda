package logstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/sqldb"
)

// encodeBlocks encodes the blocks of a batch, whose entries are ordered by workspace.
func (s *Store) encodeBlocks(entries []*requestlog.Entry, buffers *batchBuffers) ([]entryblock.Block, error) {
	blocks := make([]entryblock.Block, 0, len(entries)/entryblock.MaxEntries+1)
	for len(entries) > 0 {
		n, size := 0, 0
		for _, e := range entries[:min(len(entries), entryblock.MaxEntries)] {
			size += len(e.Body.Request) + len(e.Body.Response)
			if n > 0 && (size > entryblock.MaxBytes || e.WorkspaceID != entries[0].WorkspaceID) {
				break
			}
			n++
		}
		b, err := s.encodeBlock(entries[:n], buffers)
		if err != nil {
			return nil, err
		}
		blocks, entries = append(blocks, b), entries[n:]
	}
	return blocks, nil
}

func (s *Store) encodeBlock(entries []*requestlog.Entry, buffers *batchBuffers) (entryblock.Block, error) {
	b := entryblock.Block{Workspace: entries[0].WorkspaceID, Size: len(entries)}
	buffers.summaries, buffers.traces, buffers.bodies = buffers.summaries[:0], buffers.traces[:0], buffers.bodies[:0]
	for _, e := range entries {
		var err error
		if buffers.text, err = buffers.appendSummary(buffers.text[:0], e); err == nil {
			buffers.slot, err = appendTrace(buffers.slot[:0], e)
		}
		if err != nil {
			return b, fmt.Errorf("encode entry %s: %w", e.ID, err)
		}
		buffers.summaries = entryblock.AppendSized(buffers.summaries, buffers.text)
		buffers.traces = entryblock.AppendSized(buffers.traces, buffers.slot)
		if buffers.addBody(e) {
			b.Bodies.Hold(e.ID)
		}
	}
	b.Summaries, b.Traces = buffers.compress(s.codec.AppendPacked, buffers.summaries), buffers.compress(s.codec.AppendPacked, buffers.traces)
	if b.Bodies.Held > 0 {
		b.Bodies.Content = buffers.compress(s.codec.AppendPacked, buffers.bodies)
	}
	return b, nil
}

// addBody adds a slot with the bodies of an entry. It returns false if the entry has neither bodies nor a preview. Bodies are compressed
// with their block, because the bodies of a conversation have much text in common.
func (r *batchBuffers) addBody(e *requestlog.Entry) bool {
	stored := e.BodyState == requestlog.BodyStored
	if !stored && e.Preview == "" {
		r.bodies = entryblock.AppendSized(r.bodies, nil)
		return false
	}
	var request, response []byte
	head := []byte{entryblock.Plain}
	if stored {
		request, response = e.Body.Request, e.Body.Response
		if e.Body.Split {
			head = entryblock.PlainOutline()
		}
	}
	r.slot = append(entryblock.AppendSized(r.slot[:0], []byte(e.ID)), byte(sqldb.Flag(stored && e.Body.Streamed)))
	r.slot = appendPlain(r.slot, head, request)
	size := len(r.slot) + entryblock.SizedLen(0) // length of the slot, including the response as appendPlain encodes it
	if response != nil {
		size = len(r.slot) + entryblock.SizedLen(1+len(response))
	}
	r.bodies = binary.AppendUvarint(r.bodies, uint64(size))
	r.bodies = appendPlain(append(r.bodies, r.slot...), head[len(head)-1:], response)
	return true
}

// appendPlain appends text to a slot without compression. head identifies the encoding. Nil text stays nil.
func appendPlain(to, head, text []byte) []byte {
	if text == nil {
		return entryblock.AppendSized(to, nil)
	}
	return append(append(binary.AppendUvarint(to, uint64(len(head)+len(text))), head...), text...)
}

// insertBlocks inserts the requests and the blocks of a batch into SQLite, and returns the records that did not exist before. SQLite
// allows one writer at a time, so new rows have the highest row ids. The new rows are read only if some records existed before. A
// slot number that is in no block can be assigned again, because no request has it.
func (s *Store) insertBlocks(ctx context.Context, tx *sql.Tx, b batch) ([]record, error) {
	const q = `select coalesce((select max(rowid) from requests), 0), coalesce((select number + size from packs order by number desc limit 1), 1)`
	var last, slotNumber int64
	if err := tx.QueryRowContext(ctx, q).Scan(&last, &slotNumber); err != nil {
		return nil, err
	}
	rows := make([][]any, len(b.records))
	for i, r := range b.records {
		rows[i] = append(r.request, slotNumber+int64(i))
	}
	n, err := s.db.Insert(ctx, tx, s.inserters.requestsInBlocks, rows)
	if err != nil {
		return nil, err
	}
	if int(n) < len(rows) {
		slotNumbers, err := sqldb.Column[int64](ctx, tx, `select place from requests where rowid > $1`, last)
		if err != nil {
			return nil, err
		}
		if b, err = b.fresh(s.codec, slotNumber, slotNumbers); err != nil {
			return nil, err
		}
	}
	return b.records, s.insertBlockRows(ctx, tx, b.blocks, slotNumber)
}

// fresh returns the part of a batch that was inserted with the given slot numbers. The other requests existed before.
func (b batch) fresh(codec *entryblock.Codec, first int64, slotNumbers []int64) (batch, error) {
	got := make(map[int]bool, len(slotNumbers))
	for _, number := range slotNumbers {
		got[int(number-first)] = true
	}
	var part batch
	for i, r := range b.records {
		if got[i] {
			part.records = append(part.records, r)
		}
	}
	begin := 0
	for _, block := range b.blocks {
		left, err := block.Without(codec, func(i int) bool { return !got[begin+i] })
		if err != nil {
			return part, err
		}
		part.blocks = append(part.blocks, left)
		begin += block.Size
	}
	return part, nil
}

// insertBlockRows inserts blocks. The first block begins at the given slot number.
func (s *Store) insertBlockRows(ctx context.Context, tx *sql.Tx, blocks []entryblock.Block, slotNumber int64) error {
	details, bodies := make([][]any, 0, len(blocks)), make([][]any, 0, len(blocks))
	for _, b := range blocks {
		if len(b.Summaries) > 0 {
			details = append(details, []any{slotNumber, b.Size, b.Summaries, b.Traces})
		}
		if b.Bodies.Held > 0 {
			bodies = append(bodies, []any{slotNumber, b.Size, b.Workspace, b.Bodies.Oldest, b.Bodies.Held, b.Bodies.Content})
		}
		slotNumber += int64(b.Size)
	}
	if _, err := s.db.Insert(ctx, tx, s.inserters.blocks, details); err != nil {
		return err
	}
	_, err := s.db.Insert(ctx, tx, s.inserters.bodyBlocks, bodies)
	return err
}
