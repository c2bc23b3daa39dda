package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// detail is an entry as it is stored, apart from its bodies.
type detail struct {
	id, preview, state string
	summary            []byte
	trace              func(room []byte) ([]byte, error) // appends the JSON of the trace where that was read; it may be called later
}

// detailParts says what is read of entries.
type detailParts struct {
	request bool // preview and state of the bodies; SQLite reads them always
	trace   bool
}

// querier is a database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error)
}

// inPack joins the pack of a table that has the place of a request, if any has.
const inPack = ` left join %[1]s p on p.number = (select max(number) from %[1]s where number <= r.place) and r.place < p.number + p.size`

// eachDetail calls fn for each of the entries that is there, in any order. What fn is given is good after it has returned.
func (db *DB) eachDetail(ctx context.Context, from querier, parts detailParts, workspaceID string, ids []string, fn func(detail) error) error {
	if len(ids) == 0 {
		return nil
	}
	q, args := db.detailing(parts, workspaceID, ids)
	rows, err := from.QueryContext(ctx, q, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	latest := packCache{packer: db.codec}
	for rows.Next() {
		d, err := latest.scan(rows)
		if err != nil {
			return err
		}
		if len(d.summary) == 0 {
			continue // its pack is without it: it is being deleted
		}
		if err := fn(d); err != nil {
			return fmt.Errorf("entry %s: %w", d.id, err)
		}
	}
	return rows.Err()
}

// detailing makes the statement that reads entries. In SQLite details are in packs, or in rows of their own that were written
// before there were packs.
func (db *DB) detailing(parts detailParts, workspaceID string, ids []string) (string, []any) {
	args, marks := append([]any{workspaceID}, Args(ids)...), Placeholders(2, len(ids))
	trace, traces := "null", "null"
	if parts.trace {
		trace, traces = "d.trace", "p.traces"
	}
	if db.dialect == SQLite {
		return fmt.Sprintf(`select r.id, r.preview, r.body_state, d.summary, %s, r.place - p.number, p.number, p.summaries, %s from requests r
			left join details d on r.place is null and d.workspace_id = r.workspace_id and d.request_id = r.id`, trace, traces) + fmt.Sprintf(inPack, "packs") +
			` where r.workspace_id = $1 and r.id in (` + marks + `)`, args
	}
	if !parts.request {
		return fmt.Sprintf(`select d.request_id, '', '', d.summary, %s, null, null, null, null from details d
			where d.workspace_id = $1 and d.request_id in (%s)`, trace, marks), args
	}
	// The bounds say the same again, for both tables: PostgreSQL then plans for the days of these ids alone. And it reads these
	// details alone, instead of all between them.
	q := fmt.Sprintf(`select r.id, r.preview, r.body_state, d.summary, %s, null, null, null, null from requests r
		join details d on d.workspace_id = r.workspace_id and d.request_id = r.id
		where r.workspace_id = $1 and r.id in (%[2]s) and r.id between $%[3]d and $%[4]d and d.request_id between $%[3]d and $%[4]d
		and d.workspace_id = $1 and d.request_id in (%[2]s)`, trace, marks, len(ids)+2, len(ids)+3)
	return q, append(args, slices.Min(ids), slices.Max(ids))
}

// packCache reads details, and keeps the pack of the latest one: the next is often in the same.
type packCache struct {
	packer            *Codec
	number            sql.NullInt64
	summaries, traces Slots
}

func (c *packCache) scan(row Scanner) (detail, error) {
	var d detail
	var own []byte
	var slot, number sql.NullInt64
	var summaries, traces sql.RawBytes
	if err := row.Scan(&d.id, &d.preview, &d.state, &d.summary, &own, &slot, &number, &summaries, &traces); err != nil {
		return d, err
	}
	if !number.Valid {
		d.trace = func(room []byte) ([]byte, error) { return c.packer.AppendUnpacked(room, own) }
		return d, nil
	}
	if number != c.number {
		if err := c.read(number, summaries, traces); err != nil {
			return d, err
		}
	}
	trace := c.traces.At(slot.Int64)
	d.summary, d.trace = c.summaries.At(slot.Int64), func(room []byte) ([]byte, error) { return append(room, trace...), nil }
	return d, nil
}

func (c *packCache) read(number sql.NullInt64, summaries, traces []byte) (err error) {
	c.number = number
	if c.summaries, err = c.packer.DecodeSlots(summaries); err != nil {
		return err
	}
	c.traces, err = c.packer.DecodeSlots(traces)
	return err
}
