package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"fairlead/internal/requestlog"
)

// rollupLock is the key of the advisory lock under which roll-ups change, one transaction after the other: that of one
// replica, and of replicas of earlier versions, which change them with every batch.
const rollupLock = 0x726f6c6c757073

// foldRows is how many waiting rows one transaction folds in.
const foldRows = 2000

var insertWaiting = NewInserter("rollup_waiting", slices.Concat(TextFields("unit"), rollupFields), "")

// putWaiting writes the sums of a batch where they wait, in the transaction of the batch.
func (db *DB) putWaiting(ctx context.Context, tx *sql.Tx, sums rollups) error {
	var rows [][]any
	for _, u := range []unit{minutes, hours, days} {
		for key, s := range sums[u] {
			rows = append(rows, append([]any{u.table}, rollupRow(key.id(), key, s)...))
		}
	}
	_, err := db.Insert(ctx, tx, insertWaiting, rows)
	return err
}

// FoldRollups adds sums that wait to the roll-ups, and says whether more are waiting. Whoever reads sees each of them once,
// here or there. SQLite has none.
func (db *DB) FoldRollups(ctx context.Context) (more bool, err error) {
	if db.dialect != Postgres {
		return false, nil
	}
	err = db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, rollupLock); err != nil {
			return fmt.Errorf("wait for other roll-ups: %w", err)
		}
		sums, n, err := takeWaiting(ctx, tx)
		if err != nil || n == 0 {
			return err
		}
		more = n == foldRows
		return db.mergeRollups(ctx, tx, sums)
	})
	if err != nil {
		return false, fmt.Errorf("fold roll-ups in: %w", err)
	}
	return more, nil
}

// takeWaiting removes the oldest rows that wait and returns their sums.
func takeWaiting(ctx context.Context, tx *sql.Tx) (rollups, int, error) {
	units := map[string]unit{}
	for _, u := range []unit{minutes, hours, days} {
		units[u.table] = u
	}
	columns := append([]string{"unit"}, names(rollupFields)[1:]...)
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`delete from rollup_waiting where number in (select number from rollup_waiting order by number limit %d) returning %s`,
		foldRows, strings.Join(columns, ",")))
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }() // its error is that of the reading, which Err tells
	sums, n := rollups{}, 0
	for ; rows.Next(); n++ {
		var table string
		var key rollupKey
		var simulated, playground int
		var s requestlog.Sums
		if err := scanSums(rows, &s, &table, &key.workspace, &key.grain, &key.start, &key.key, &key.model, &key.provider, &key.policy, &simulated, &playground); err != nil {
			return nil, 0, err
		}
		key.simulated, key.playground = simulated == 1, playground == 1
		sums.sums(units[table], key).Merge(&s)
	}
	return sums, n, rows.Err()
}
