package figurestore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// Spent returns the ledger's total since the given time for the key or the workspace with the given ID; kind is "key" or
// "workspace". It excludes the requests in except, which the caller counts itself, whether or not they are stored yet.
func (s *Store) Spent(ctx context.Context, kind, id string, since time.Time, except ...string) (money.Amount, error) {
	column, ok := map[string]string{"key": "key_id", "workspace": "workspace_id"}[kind]
	if !ok {
		return 0, fmt.Errorf("read spending of %s %s: kind must be key or workspace", kind, id)
	}
	const sum = `select cast(coalesce(sum(amount), 0) as bigint) from ledger where `
	var spent money.Amount
	err := s.db.InSnapshot(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, sum+column+` = $1 and at >= $2`, id, sqldb.Millis(since)).Scan(&spent); err != nil {
			return err
		}
		for some := range slices.Chunk(except, 500) {
			args := []any{sqldb.Millis(since)}
			for _, requestID := range some {
				args = append(args, requestID)
			}
			var known money.Amount
			if err := tx.QueryRowContext(ctx, sum+`at >= $1 and request_id in (`+sqldb.Placeholders(2, len(some))+`)`, args...).Scan(&known); err != nil {
				return err
			}
			spent = spent.Sub(known)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read spending of %s %s: %w", kind, id, err)
	}
	return spent, nil
}

// Spending returns the spending of each key of a workspace, for display. It sums roll-ups, so it begins at the start of the
// hour that contains since. Budgets use Spent.
func (s *Store) Spending(ctx context.Context, workspaceID string, since time.Time) (map[string]money.Amount, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	const where = ` where workspace_id = $1 and grain = 'key' and start >= $2`
	from := `select key_id, cost from rollup_hours` + where
	if s.db.Dialect() == sqldb.Postgres {
		from += ` union all select key_id, cost from rollup_waiting` + where + ` and unit = 'rollup_hours'`
	}
	q := `select key_id, cast(sum(cost) as bigint) from (` + from + `) spent group by key_id`
	rows, err := s.db.Query(ctx, q, workspaceID, sqldb.Millis(hours.floor(since)))
	if err != nil {
		return nil, fmt.Errorf("read spending by key: %w", err)
	}
	defer func() { _ = rows.Close() }()
	spending := map[string]money.Amount{}
	for rows.Next() {
		var key string
		var spent money.Amount
		if err := rows.Scan(&key, &spent); err != nil {
			return nil, fmt.Errorf("read spending by key: %w", err)
		}
		spending[key] = spent
	}
	return spending, rows.Err()
}

// WorkspaceCharges returns the spending of a workspace in intervals of length step. The first interval begins at since, which must be a
// full hour. Hourly sums are kept for 400 days. If since is earlier, all intervals are
// computed from daily sums, and a UTC day counts for the interval in which it begins.
func (s *Store) WorkspaceCharges(ctx context.Context, workspaceID string, since time.Time, step time.Duration) ([]budget.Charge, error) {
	sums := "select start, '' as key_id, cost from %s where workspace_id = $1 and grain = 'total' and start >= $2"
	found, err := s.charges(ctx, sums, since, step, workspaceID)
	return found[""], err
}

// KeyCharges returns the spending of keys of a workspace in the same intervals as WorkspaceCharges.
func (s *Store) KeyCharges(ctx context.Context, workspaceID string, keys []string, since time.Time, step time.Duration) (map[string][]budget.Charge, error) {
	all := map[string][]budget.Charge{}
	for some := range slices.Chunk(keys, 500) {
		sums := "select start, key_id, cost from %s where workspace_id = $1 and grain = 'key' and start >= $2 and key_id in (" + sqldb.Placeholders(4, len(some)) + ")"
		found, err := s.charges(ctx, sums, since, step, workspaceID, some...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// charges sums the rows of a query by key and interval. In the query, %s stands for a roll-up table. Its parameters are workspace,
// since and step, followed by the values in more.
func (s *Store) charges(ctx context.Context, rows string, since time.Time, step time.Duration, workspaceID string, more ...string) (map[string][]budget.Charge, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	unit := hours
	if since.Before(hours.horizon(s.db.Now())) {
		unit = days
	}
	from := strings.ReplaceAll(rows, "%s", unit.table())
	if s.db.Dialect() == sqldb.Postgres {
		from += " union all " + strings.ReplaceAll(strings.ReplaceAll(rows, "%s", "rollup_waiting"), "where ", "where unit = '"+unit.table()+"' and ")
	}
	start := max(since.UnixMilli(), 0)
	q := `select key_id, cast($2 + ((start - $2) / $3) * $3 as bigint) as at, cast(sum(cost) as bigint) from (` + from + `) charges group by 1, 2 order by 1, 2`
	found, err := s.db.Query(ctx, q, append([]any{workspaceID, start, step.Milliseconds()}, sqldb.Args(more)...)...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	list := map[string][]budget.Charge{}
	err = sqldb.Each(found, err, func(row sqldb.Scanner) error {
		var key string
		var at int64
		var amount money.Amount
		if err := row.Scan(&key, &at, &amount); err != nil {
			return err
		}
		list[key] = append(list[key], budget.Charge{At: sqldb.FromMillis(at), Amount: amount})
		return nil
	})
	if err != nil {
		return nil, requestlog.WrapTimeout(ctx, fmt.Errorf("read spending over time: %w", err))
	}
	return list, nil
}
