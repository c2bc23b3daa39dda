package logstore

import (
	"context"
	"database/sql"

	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/sqldb"
)

// outlines implements messagestore.Outlines.
func (s *Store) outlines(ctx context.Context, tx *sql.Tx, workspace, low, high string) ([][]byte, error) {
	if s.db.Dialect() == sqldb.SQLite {
		return s.blocks.outlines(ctx, tx, workspace, low, high)
	}
	const q = `select request from bodies where workspace_id = $1 and request_id >= $2 and request_id < $3 and request is not null`
	rows, err := tx.QueryContext(ctx, q, workspace, low, high) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	var outlines [][]byte
	err = sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var request sql.RawBytes
		if err := row.Scan(&request); err != nil || !entryblock.IsOutline(request) {
			return err
		}
		body, err := s.codec.DecodeBody(append([]byte(nil), request...), nil, false)
		outlines = append(outlines, body.Request)
		return err
	})
	return outlines, err
}

// outlines returns the outlines of a workspace's entries between two ids.
func (t blockTables) outlines(ctx context.Context, tx *sql.Tx, workspace, low, high string) ([][]byte, error) {
	const q = `select distinct p.number from requests r join packed_bodies p on p.number = (select max(number) from packed_bodies where number <= r.place)
		and r.place < p.number + p.size where r.workspace_id = $1 and r.id >= $2 and r.id < $3`
	numbers, err := sqldb.Column[int64](ctx, tx, q, workspace, low, high)
	if err != nil {
		return nil, err
	}
	var outlines [][]byte
	for _, number := range numbers {
		_, all, err := t.at(ctx, tx, "packed_bodies", "content", number)
		if err != nil {
			return nil, err
		}
		for _, slot := range all {
			if len(slot) == 0 {
				continue
			}
			name, _, err := entryblock.CutSized(slot)
			if err != nil {
				return nil, err
			}
			body, err := t.codec.DecodeSlotBody(slot)
			if err != nil {
				return nil, err
			}
			if body.Split && string(name) >= low && string(name) < high {
				outlines = append(outlines, body.Request)
			}
		}
	}
	return outlines, nil
}
