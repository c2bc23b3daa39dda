package messagestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/store/sqldb"
)

// MarkForSweep marks the days of deleted entries, because some of their parts may be unused.
func MarkForSweep(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	days := map[int64]bool{}
	for _, requestID := range ids {
		days[scopeOf(workspace, requestID).day] = true
	}
	for day := range days {
		if _, err := tx.ExecContext(ctx, `update message_days set sweep = 1 where day = $1 and workspace_id = $2`, day, workspace); err != nil {
			return err
		}
	}
	return nil
}

// Sweep deletes the unused parts of the marked days. An empty workspace selects all workspaces.
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
		return nil, fmt.Errorf("list the days with stored messages: %w", err)
	}
	return scopes, nil
}

// sweep deletes the parts of a scope that no entry refers to. Writers wait until the transaction ends.
func (s *Store) sweep(ctx context.Context, tx *sql.Tx, scope partScope) error {
	if err := s.lockExclusive(ctx, tx); err != nil {
		return err
	}
	from := time.Unix(scope.day*24*60*60, 0)
	low, high := id.Floor("req", from), id.Floor("req", from.AddDate(0, 0, 1))
	if scope.day == outline.DayOf(time.Time{}) {
		low, high = "", "~" // ids without a time sort anywhere, so read all outlines
	}
	outlines, err := s.outlines(ctx, tx, scope.workspace, low, high)
	if err != nil {
		return err
	}
	if len(outlines) == 0 {
		return s.deleteScope(ctx, tx, scope)
	}
	used, err := s.reachable(ctx, tx.QueryContext, scope, outlines, withoutContent)
	if err != nil {
		return err
	}
	freed, err := s.deleteUnused(ctx, tx, scope, used)
	if err != nil {
		return err
	}
	const q = `update message_days set sweep = 0, stored_bytes = stored_bytes - $3 where day = $1 and workspace_id = $2`
	_, err = tx.ExecContext(ctx, q, scope.day, scope.workspace, freed)
	return err
}

// deleteUnused deletes the parts of a scope that are not in the map used. It returns the number of bytes freed.
func (s *Store) deleteUnused(ctx context.Context, tx *sql.Tx, scope partScope, used map[outline.Address][]byte) (freed int64, err error) {
	scopeID, err := scopeNumber(ctx, tx.QueryContext, scope)
	if err != nil {
		return 0, err
	}
	unused := map[int64]map[outline.Address]bool{}                                                            // unused parts by segment number
	rows, err := tx.QueryContext(ctx, `select address, segment from message_parts where scope = $1`, scopeID) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var address sql.RawBytes
		var number int64
		if err := row.Scan(&address, &number); err != nil {
			return err
		}
		a := outline.Address(address)
		if _, ok := used[a]; !ok {
			if unused[number] == nil {
				unused[number] = map[outline.Address]bool{}
			}
			unused[number][a] = true
		}
		return nil
	}); err != nil {
		return 0, err
	}
	for number, without := range unused {
		n, err := s.rewrite(ctx, tx, scopeID, number, without)
		if err != nil {
			return 0, fmt.Errorf("rewrite segment %d: %w", number, err)
		}
		freed += n
	}
	return freed, nil
}

// rewrite removes parts from a segment. It deletes the segment if no part remains. It returns the number of bytes freed.
func (s *Store) rewrite(ctx context.Context, tx *sql.Tx, scope, number int64, without map[outline.Address]bool) (freed int64, err error) {
	for a := range without {
		if _, err := tx.ExecContext(ctx, `delete from message_parts where scope = $1 and address = $2`, scope, a[:]); err != nil {
			return 0, err
		}
	}
	var lists, packed []byte
	const q = `select lists, content from message_segments where scope = $1 and number = $2`
	if err := tx.QueryRowContext(ctx, q, scope, number).Scan(&lists, &packed); err != nil {
		return 0, err
	}
	text, err := s.codec.AppendUnpacked(nil, packed)
	if err != nil {
		return 0, err
	}
	var left segment
	for _, block := range [][]byte{lists, text} {
		if err := outline.EachPart(block, func(part outline.Part) error {
			if !without[part.Address] {
				left.parts = append(left.parts, part)
			}
			return nil
		}); err != nil {
			return 0, err
		}
	}
	if len(left.parts) == 0 {
		_, err := tx.ExecContext(ctx, `delete from message_segments where scope = $1 and number = $2`, scope, number)
		return int64(len(lists) + len(packed)), err
	}
	if _, err := left.encode(nil, func(text []byte) []byte { return s.pack(nil, text) }); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `update message_segments set lists = $3, content = $4 where scope = $1 and number = $2`, scope, number, left.lists, left.content)
	return int64(len(lists) + len(packed) - len(left.lists) - len(left.content)), err
}

// deleteScope deletes all parts of a scope.
func (s *Store) deleteScope(ctx context.Context, tx *sql.Tx, scope partScope) error {
	scopeID, err := scopeNumber(ctx, tx.QueryContext, scope)
	if err != nil {
		return err
	}
	for _, q := range []string{
		`delete from message_segments where scope = $1 and number in (select segment from message_parts where scope = $1)`,
		`delete from message_parts where scope = $1`,
	} {
		if _, err := tx.ExecContext(ctx, q, scopeID); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `delete from message_days where day = $1 and workspace_id = $2`, scope.day, scope.workspace)
	return err
}

// Expire deletes the parts of days whose entries or bodies have all expired, and sweeps the marked days.
func (s *Store) Expire(ctx context.Context, expired func(workspace string, day int64) bool) error {
	scopes, err := s.scopes(ctx, `select day, workspace_id from message_days order by day`)
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		if !expired(scope.workspace, scope.day) {
			continue
		}
		if err := s.db.InTx(ctx, func(tx *sql.Tx) error {
			if err := s.lockExclusive(ctx, tx); err != nil { // wait for writers that have read the number of the scope
				return err
			}
			return s.deleteScope(ctx, tx, scope)
		}); err != nil {
			return fmt.Errorf("delete expired messages: %w", err)
		}
	}
	return s.Sweep(ctx, "") // completes an interrupted deletion
}
