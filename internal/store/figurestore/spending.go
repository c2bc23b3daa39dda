package figurestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"fairlead/internal/money"
	"fairlead/internal/store/sqldb"
)

// Spent returns the ledger's total for a key or a workspace (kind) since the given time. It excludes the requests in
// except, which the caller counts itself, whether or not they are stored yet.
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

// Spending returns the spending of each key of a workspace, for display. It sums roll-ups, so it begins with the hour
// of since. Budgets use Spent.
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
