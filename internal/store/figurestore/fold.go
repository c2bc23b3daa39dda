package figurestore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// rollupLock is the key of the advisory lock that is held while roll-ups change.
const rollupLock = 0x726f6c6c757073

// foldRows is the number of queued rows that one transaction adds to the roll-ups.
const foldRows = 2000

// Fold adds queued sums to the roll-ups and reports whether more are queued. Readers see each sum once, in the queue or
// in the roll-ups. SQLite has no queue.
func (s *Store) Fold(ctx context.Context) (more bool, err error) {
	if s.db.Dialect() != sqldb.Postgres {
		return false, nil
	}
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, rollupLock); err != nil {
			return fmt.Errorf("lock roll-ups: %w", err)
		}
		sums, n, err := takeWaiting(ctx, tx)
		if err != nil || n == 0 {
			return err
		}
		more = n == foldRows
		return s.merge(ctx, tx, sums)
	})
	if err != nil {
		return false, fmt.Errorf("add queued sums to roll-ups: %w", err)
	}
	return more, nil
}

// takeWaiting removes the oldest queued rows and returns their sums.
func takeWaiting(ctx context.Context, tx *sql.Tx) (rollups, int, error) {
	units := map[string]unit{}
	for u := range unitCount {
		units[u.table()] = u
	}
	columns := append([]string{"unit"}, sqldb.FieldNames(rollupFields())[1:]...)
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`delete from rollup_waiting where number in (select number from rollup_waiting order by number limit %d) returning %s`,
		foldRows, strings.Join(columns, ",")))
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the read error
	sums, n := rollups{}, 0
	for ; rows.Next(); n++ {
		var table string
		var key rollupKey
		var simulated, playground int
		var s requestlog.Sums
		if err := scanSums(rows, &s, &table, &key.workspace, &key.dimensions, &key.start, &key.key, &key.model, &key.provider, &key.policy, &simulated, &playground); err != nil {
			return nil, 0, err
		}
		key.simulated, key.playground = simulated == 1, playground == 1
		sums.sums(units[table], key).Merge(&s)
	}
	return sums, n, rows.Err()
}
