package logstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"fairlead/internal/store/entryblock"
	"fairlead/internal/store/sqldb"
)

// detail is an entry as stored, without its bodies.
type detail struct {
	id, preview, state string
	summary            []byte
	trace              func(to []byte) ([]byte, error) // appends the JSON of the trace, when it was read; may be called later
}

// detailParts selects the parts of entries to read.
type detailParts struct {
	request bool // preview and state of the bodies; SQLite always reads them
	trace   bool
}

// queryFunc runs a query on a database or in a transaction.
type queryFunc func(ctx context.Context, q string, args ...any) (*sql.Rows, error)

// joinBlock joins the block of a table that contains the place of a request.
const joinBlock = ` left join %[1]s p on p.number = (select max(number) from %[1]s where number <= r.place) and r.place < p.number + p.size`

// eachDetail calls fn for each of the entries that exists, in any order. The detail stays valid after fn has returned.
func (s *Store) eachDetail(ctx context.Context, query queryFunc, parts detailParts, workspaceID string, ids []string, fn func(detail) error) error {
	if len(ids) == 0 {
		return nil
	}
	q, args := s.detailing(parts, workspaceID, ids)
	rows, err := query(ctx, q, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	latest := blockCache{codec: s.codec}
	for rows.Next() {
		d, err := latest.scan(rows)
		if err != nil {
			return err
		}
		if len(d.summary) == 0 {
			continue // it is being deleted from its block
		}
		if err := fn(d); err != nil {
			return fmt.Errorf("entry %s: %w", d.id, err)
		}
	}
	return rows.Err()
}

// detailing builds the statement that reads entries. In SQLite details are in blocks, or in the rows of entries that were
// written before blocks.
func (s *Store) detailing(parts detailParts, workspaceID string, ids []string) (string, []any) {
	args, marks := append([]any{workspaceID}, sqldb.Args(ids)...), sqldb.Placeholders(2, len(ids))
	trace, traces := "null", "null"
	if parts.trace {
		trace, traces = "d.trace", "p.traces"
	}
	if s.db.Dialect() == sqldb.SQLite {
		return fmt.Sprintf(`select r.id, r.preview, r.body_state, d.summary, %s, r.place - p.number, p.number, p.summaries, %s from requests r
			left join details d on r.place is null and d.workspace_id = r.workspace_id and d.request_id = r.id`, trace, traces) + fmt.Sprintf(joinBlock, "packs") +
			` where r.workspace_id = $1 and r.id in (` + marks + `)`, args
	}
	if !parts.request {
		return fmt.Sprintf(`select d.request_id, '', '', d.summary, %s, null, null, null, null from details d
			where d.workspace_id = $1 and d.request_id in (%s)`, trace, marks), args
	}
	// The redundant bounds on both tables make PostgreSQL plan for the partitions of these ids only; the redundant list makes it
	// read these details only, instead of all between them.
	q := fmt.Sprintf(`select r.id, r.preview, r.body_state, d.summary, %s, null, null, null, null from requests r
		join details d on d.workspace_id = r.workspace_id and d.request_id = r.id
		where r.workspace_id = $1 and r.id in (%[2]s) and r.id between $%[3]d and $%[4]d and d.request_id between $%[3]d and $%[4]d
		and d.workspace_id = $1 and d.request_id in (%[2]s)`, trace, marks, len(ids)+2, len(ids)+3)
	return q, append(args, slices.Min(ids), slices.Max(ids))
}

// blockCache reads details and keeps the latest block: the next entry is often in the same one.
type blockCache struct {
	codec             *entryblock.Codec
	number            sql.NullInt64
	summaries, traces entryblock.Slots
}

func (c *blockCache) scan(row sqldb.Scanner) (detail, error) {
	var d detail
	var own []byte
	var slot, number sql.NullInt64
	var summaries, traces sql.RawBytes
	if err := row.Scan(&d.id, &d.preview, &d.state, &d.summary, &own, &slot, &number, &summaries, &traces); err != nil {
		return d, err
	}
	if !number.Valid {
		d.trace = func(to []byte) ([]byte, error) { return c.codec.AppendUnpacked(to, own) }
		return d, nil
	}
	if number != c.number {
		if err := c.read(number, summaries, traces); err != nil {
			return d, err
		}
	}
	trace := c.traces.At(slot.Int64)
	d.summary, d.trace = c.summaries.At(slot.Int64), func(to []byte) ([]byte, error) { return append(to, trace...), nil }
	return d, nil
}

func (c *blockCache) read(number sql.NullInt64, summaries, traces []byte) (err error) {
	c.number = number
	if c.summaries, err = c.codec.DecodeSlots(summaries); err != nil {
		return err
	}
	c.traces, err = c.codec.DecodeSlots(traces)
	return err
}
