package store

import (
	"context"
	"fmt"
	"time"

	"fairlead/internal/money"
)

// Spent returns what a key or a workspace (kind) has spent since a moment, from the ledger.
func (db *DB) Spent(ctx context.Context, kind, id string, since time.Time) (money.Amount, error) {
	column, ok := map[string]string{"key": "key_id", "workspace": "workspace_id"}[kind]
	if !ok {
		return 0, fmt.Errorf("read what %s %s spent: only keys and workspaces spend", kind, id)
	}
	var spent money.Amount
	q := `select cast(coalesce(sum(amount), 0) as bigint) from ledger where ` + column + ` = $1 and at >= $2`
	if err := db.queryRow(ctx, q, id, millis(since)).Scan(&spent); err != nil {
		return 0, fmt.Errorf("read what %s %s spent: %w", kind, id, err)
	}
	return spent, nil
}

// Spending returns what each key of a workspace has spent since about a moment, for display: it sums roll-ups, and so
// begins with the whole hour. Budgets use Spent.
func (db *DB) Spending(ctx context.Context, workspaceID string, since time.Time) (map[string]money.Amount, error) {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	const where = ` where workspace_id = $1 and grain = 'key' and start >= $2`
	from := `select key_id, cost from rollup_hours` + where
	if db.dialect == dialectPostgres {
		from += ` union all select key_id, cost from rollup_waiting` + where + ` and unit = 'rollup_hours'`
	}
	q := `select key_id, cast(sum(cost) as bigint) from (` + from + `) spent group by key_id`
	rows, err := db.query(ctx, q, workspaceID, millis(hours.floor(since)))
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
