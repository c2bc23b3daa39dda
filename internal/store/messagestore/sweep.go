package messagestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/outline"
	"fairlead/internal/store/sqldb"
)

// MarkForSweep notes that entries are deleted and parts may have lost their last entry.
func MarkForSweep(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
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

// Sweep deletes the parts that no entry refers to on the marked days; of all workspaces if workspace is empty.
func (s *Store) Sweep(ctx context.Context, workspace string) error {
	scopes, err := s.scopes(ctx, `select day, workspace_id from message_days where sweep = 1 and ($1 = '' or workspace_id = $1) order by day`, workspace)
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

func (s *Store) scopes(ctx context.Context, q string, args ...any) ([]partScope, error) {
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
	if err := s.lock(ctx, tx, true); err != nil {
		return err
	}
	from := time.Unix(scope.day*24*60*60, 0)
	low, high := id.Floor("req", from), id.Floor("req", from.AddDate(0, 0, 1))
	if scope.day == outline.DayOf(time.Time{}) {
		low, high = "", "~" // ids without a time
	}
	outlines, err := s.outlines(ctx, tx, scope.workspace, low, high)
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

// Expire deletes the parts of days whose entries or bodies have all expired, and sweeps the others.
func (s *Store) Expire(ctx context.Context, expired func(workspace string, day int64) bool) error {
	scopes, err := s.scopes(ctx, `select day, workspace_id from message_days order by day`)
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		if !expired(scope.workspace, scope.day) {
			continue
		}
		if err := s.db.InTx(ctx, func(tx *sql.Tx) error { return s.deleteScope(ctx, tx, scope) }); err != nil {
			return fmt.Errorf("delete expired messages: %w", err)
		}
	}
	return s.Sweep(ctx, "") // what an interrupted deletion has left
}
