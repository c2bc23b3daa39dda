package logstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/sqldb"
)

// detail is an entry as stored, without its bodies.
type detail struct {
	id, preview, state string
	summary            []byte
	trace              func(to []byte) ([]byte, error) // function that appends the JSON of the trace if it was read; can be called after the reader returns
}

// detailParts selects the parts of entries to read.
type detailParts struct {
	request bool // whether to read the preview and the state of the bodies; SQLite always reads them
	trace   bool
}

// detailReader reads entries without their bodies.
type detailReader struct {
	dialect sqldb.Dialect
	codec   *entryblock.Codec
}

// queryFunc runs a query on a database or in a transaction.
type queryFunc func(ctx context.Context, q string, args ...any) (*sql.Rows, error)

// each calls fn for each entry that exists among the given ids, in any order. The detail stays valid after fn returns.
func (r detailReader) each(ctx context.Context, query queryFunc, parts detailParts, workspaceID string, ids []string, fn func(detail) error) error {
	if len(ids) == 0 {
		return nil
	}
	if r.dialect == sqldb.SQLite {
		return r.eachInBlocks(ctx, query, parts, workspaceID, ids, fn)
	}
	q, args := postgresDetails(parts, workspaceID, ids)
	rows, err := query(ctx, q, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var d detail
		var trace []byte
		if err := rows.Scan(&d.id, &d.preview, &d.state, &d.summary, &trace); err != nil {
			return err
		}
		d.trace = r.unpacked(trace)
		if err := d.passTo(fn); err != nil {
			return err
		}
	}
	return rows.Err()
}

// passTo calls fn with the detail, unless the entry is being deleted.
func (d *detail) passTo(fn func(detail) error) error {
	if len(d.summary) == 0 {
		return nil
	}
	if err := fn(*d); err != nil {
		return fmt.Errorf("entry %s: %w", d.id, err)
	}
	return nil
}

// unpacked returns a function that decompresses and appends a trace.
func (r detailReader) unpacked(trace []byte) func(to []byte) ([]byte, error) {
	return func(to []byte) ([]byte, error) { return r.codec.AppendUnpacked(to, trace) }
}

// postgresDetails builds the statement that reads entries from PostgreSQL.
func postgresDetails(parts detailParts, workspaceID string, ids []string) (string, []any) {
	args, marks := append([]any{workspaceID}, sqldb.Args(ids)...), sqldb.Placeholders(2, len(ids))
	trace := "null"
	if parts.trace {
		trace = "d.trace"
	}
	if !parts.request {
		return fmt.Sprintf(`select d.request_id, '', '', d.summary, %s from details d
			where d.workspace_id = $1 and d.request_id in (%s)`, trace, marks), args
	}
	// The redundant bounds make PostgreSQL plan only for the partitions of these ids. The redundant list makes it read only these details,
	// instead of all details between the bounds.
	q := fmt.Sprintf(`select r.id, r.preview, r.body_state, d.summary, %s from requests r
		join details d on d.workspace_id = r.workspace_id and d.request_id = r.id
		where r.workspace_id = $1 and r.id in (%[2]s) and r.id between $%[3]d and $%[4]d and d.request_id between $%[3]d and $%[4]d
		and d.workspace_id = $1 and d.request_id in (%[2]s)`, trace, marks, len(ids)+2, len(ids)+3)
	return q, append(args, slices.Min(ids), slices.Max(ids))
}

// selectDetails reads requests, then their blocks in the order of their numbers. It is a single statement, because a slot number may
// be assigned again between two statements. Reading each block once is much faster than joining the block to each of its requests.
const selectDetails = `with r as materialized (%s)
	select 0, r.id, r.preview, r.body_state, r.place, 0, null, null from r
	union all
	select * from (select 1, '', '', '', p.number, p.size, p.summaries, %s from packs p
	where p.number in (select (select max(number) from packs where number <= r.place) from r) order by p.number)`

// blockRequest is a request whose detail is in a block.
type blockRequest struct {
	detail
	slotNumber int64
}

// eachInBlocks implements each for SQLite.
func (r detailReader) eachInBlocks(ctx context.Context, query queryFunc, parts detailParts, workspaceID string, ids []string, fn func(detail) error) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	const requests = `select workspace_id, id, preview, body_state, place from requests
		where workspace_id = $1 and id in (select value from json_each($2))`
	return r.eachListed(ctx, query, parts, requests, []any{workspaceID, string(list)}, func(string) {}, fn)
}

// eachListed runs requests, a SQLite statement that selects requests. It calls listed with each id, in order, and then fn for each entry
// that exists, in any order.
func (r detailReader) eachListed(ctx context.Context, query queryFunc, parts detailParts, requests string, args []any, listed func(id string), fn func(detail) error) error {
	traces := "null"
	if parts.trace {
		traces = "p.traces"
	}
	rows, err := query(ctx, fmt.Sprintf(selectDetails, requests, traces), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var waiting []blockRequest
	sorted := false
	for rows.Next() {
		var isBlock bool
		var p blockRequest
		var size int64
		var summary, trace sql.RawBytes
		if err := rows.Scan(&isBlock, &p.id, &p.preview, &p.state, &p.slotNumber, &size, &summary, &trace); err != nil {
			return err
		}
		if !isBlock {
			listed(p.id)
			waiting = append(waiting, p)
			continue
		}
		if !sorted {
			slices.SortFunc(waiting, func(a, b blockRequest) int { return cmp.Compare(a.slotNumber, b.slotNumber) })
			sorted = true
		}
		for len(waiting) > 0 && waiting[0].slotNumber < p.slotNumber { // no block contains the request, because it is being deleted
			waiting = waiting[1:]
		}
		n := 0
		for n < len(waiting) && waiting[n].slotNumber < p.slotNumber+size {
			n++
		}
		if err := r.readBlock(waiting[:n], p.slotNumber, summary, trace, fn); err != nil {
			return err
		}
		waiting = waiting[n:]
	}
	return rows.Err()
}

// readBlock calls fn for the listed requests of a block.
func (r detailReader) readBlock(list []blockRequest, number int64, summaries, traces []byte, fn func(detail) error) error {
	summary, err := r.codec.DecodeSlots(summaries)
	if err != nil {
		return err
	}
	trace, err := r.codec.DecodeSlots(traces)
	if err != nil {
		return err
	}
	for i := range list {
		d, slot := &list[i].detail, list[i].slotNumber-number
		text := trace.At(slot)
		d.summary, d.trace = summary.At(slot), func(to []byte) ([]byte, error) { return append(to, text...), nil }
		if err := d.passTo(fn); err != nil {
			return err
		}
	}
	return nil
}
