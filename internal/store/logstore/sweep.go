package logstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/outline"
	"fairlead/internal/store/entryblock"
	"fairlead/internal/store/sqldb"
)

// markForSweep notes that entries are deleted and parts may have lost their last entry.
func markForSweep(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	days := map[int64]bool{}
	for _, name := range ids {
		days[scopeOf(workspace, name).day] = true
	}
	for day := range days {
		if _, err := tx.ExecContext(ctx, `update message_days set sweep = 1 where day = $1 and workspace_id = $2`, day, workspace); err != nil {
			return err
		}
	}
	return nil
}

// sweepAll deletes the parts that no entry refers to on the marked days; of all workspaces if workspace is empty.
func (s *Store) sweepAll(ctx context.Context, workspace string) error {
	scopes, err := s.partScopes(ctx, `select day, workspace_id from message_days where sweep = 1 and ($1 = '' or workspace_id = $1) order by day`, workspace)
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		if err := s.db.InTx(ctx, func(tx *sql.Tx) error { return s.sweep(ctx, tx, scope) }); err != nil {
			return fmt.Errorf("delete unused messages: %w", err)
		}
	}
	return nil
}

func (s *Store) partScopes(ctx context.Context, q string, args ...any) ([]partScope, error) {
	rows, err := s.db.Query(ctx, q, args...)
	scopes, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (scope partScope, err error) {
		err = row.Scan(&scope.day, &scope.workspace)
		return scope, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the days of messages: %w", err)
	}
	return scopes, nil
}

// sweep deletes the parts of a scope that no entry refers to. Entries that are written at the same time wait.
func (s *Store) sweep(ctx context.Context, tx *sql.Tx, scope partScope) error {
	if err := s.lockParts(ctx, tx, true); err != nil {
		return err
	}
	outlines, err := s.outlines(ctx, tx, scope)
	if err != nil {
		return err
	}
	if len(outlines) == 0 {
		return s.deleteScope(ctx, tx, scope)
	}
	used, err := s.reachable(ctx, tx.QueryContext, scope, outlines, false)
	if err != nil {
		return err
	}
	all, err := sqldb.Column[[]byte](ctx, tx, `select address from messages where day = $1 and workspace_id = $2`, scope.day, scope.workspace)
	if err != nil {
		return err
	}
	var freed int64
	for _, address := range all {
		if _, ok := used[outline.Address(address)]; ok {
			continue
		}
		var size int64
		const q = `delete from messages where day = $1 and workspace_id = $2 and address = $3 returning length(content)`
		if err := tx.QueryRowContext(ctx, q, scope.day, scope.workspace, address).Scan(&size); err != nil {
			return err
		}
		freed += size
	}
	const q = `update message_days set sweep = 0, stored_bytes = stored_bytes - $3 where day = $1 and workspace_id = $2`
	_, err = tx.ExecContext(ctx, q, scope.day, scope.workspace, freed)
	return err
}

// deleteScope deletes all parts of a scope.
func (s *Store) deleteScope(ctx context.Context, tx *sql.Tx, scope partScope) error {
	for _, q := range []string{
		`delete from messages where day = $1 and workspace_id = $2`,
		`delete from message_days where day = $1 and workspace_id = $2`,
	} {
		if _, err := tx.ExecContext(ctx, q, scope.day, scope.workspace); err != nil {
			return err
		}
	}
	return nil
}

// outlines returns the outlines of the entries of a scope.
func (s *Store) outlines(ctx context.Context, tx *sql.Tx, scope partScope) ([][]byte, error) {
	from := time.Unix(scope.day*24*60*60, 0)
	low, high := id.Floor("req", from), id.Floor("req", from.AddDate(0, 0, 1))
	if scope.day == outline.DayOf(time.Time{}) {
		low, high = "", "~" // ids without a time
	}
	if s.db.Dialect() == sqldb.SQLite {
		return s.blockOutlines(ctx, tx, scope.workspace, low, high)
	}
	const q = `select request from bodies where workspace_id = $1 and request_id >= $2 and request_id < $3 and request is not null`
	rows, err := tx.QueryContext(ctx, q, scope.workspace, low, high) //nolint:rowserrcheck // Each checks it
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

// blockOutlines returns the outlines of a workspace's entries between two ids in SQLite.
func (s *Store) blockOutlines(ctx context.Context, tx *sql.Tx, workspace, low, high string) ([][]byte, error) {
	const q = `select distinct p.number from requests r join packed_bodies p on p.number = (select max(number) from packed_bodies where number <= r.place)
		and r.place < p.number + p.size where r.workspace_id = $1 and r.id >= $2 and r.id < $3`
	numbers, err := sqldb.Column[int64](ctx, tx, q, workspace, low, high)
	if err != nil {
		return nil, err
	}
	var outlines [][]byte
	for _, number := range numbers {
		_, all, err := s.blockAt(ctx, tx, "packed_bodies", "content", number)
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
			body, err := s.codec.DecodeSlotBody(slot)
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

// expireParts deletes the parts of days whose entries or bodies have all expired.
func (s *Store) expireParts(ctx context.Context, r *retentionBounds) error {
	scopes, err := s.partScopes(ctx, `select day, workspace_id from message_days order by day`)
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		keep := r.of(scope.workspace)
		if !expiredDay(scope.day, r.now, keep.Entries) && !expiredDay(scope.day, r.now, keep.Bodies) {
			continue
		}
		if err := s.db.InTx(ctx, func(tx *sql.Tx) error { return s.deleteScope(ctx, tx, scope) }); err != nil {
			return fmt.Errorf("delete expired messages: %w", err)
		}
	}
	return s.sweepAll(ctx, "") // what an interrupted deletion has left
}

// expiredDay reports whether a whole day is past a retention; 0 means forever.
func expiredDay(day int64, now time.Time, keep time.Duration) bool {
	return keep > 0 && day < outline.DayOf(now.Add(-keep))
}
