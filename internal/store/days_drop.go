package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// dropDays drops the partitions of days that are past the longest retention: those of bodies alone first, and of whole
// entries. Each is dropped in a transaction of its own, the requests last: a process that ends in between leaves the
// rest for the next time.
func (db *DB) dropDays(ctx context.Context, k *retentionBounds, total *Expired) error {
	if db.dialect != Postgres {
		return nil
	}
	if err := db.loadDays(ctx); err != nil {
		return err
	}
	if k.bodiesFrom != "" {
		bound := k.now.Add(-k.longest.Bodies)
		if err := db.dropBodies(ctx, bound, total); err != nil {
			return fmt.Errorf("drop bodies: %w", err)
		}
	}
	if k.entriesFrom == "" {
		return nil
	}
	bound := k.now.Add(-k.longest.Entries)
	for _, t := range slices.Backward(dayTables) {
		n, err := db.dropTable(ctx, t, bound)
		if err != nil {
			return fmt.Errorf("drop %s: %w", t.name, err)
		}
		if t.name == "requests" {
			total.Entries += n
		}
	}
	return nil
}

// dropTable drops the partitions of a table that are wholly before the bound, and deletes what is as old in the rest. It
// returns how many rows that were.
func (db *DB) dropTable(ctx context.Context, t dayTable, bound time.Time) (int64, error) {
	past, err := db.past(ctx, t, bound)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, name := range past {
		n, err := db.drop(ctx, name)
		if total += n; err != nil {
			return total, err
		}
		if day, ok := t.day(name); ok {
			db.days.forget(day)
		}
	}
	res, err := db.Exec(ctx, fmt.Sprintf(`delete from %s where %s < $1`, t.rest(), t.key), floorID(bound))
	if err != nil {
		return total, err
	}
	n, err := res.RowsAffected()
	return total + n, err
}

// past lists the partitions that end before the bound, oldest first.
func (db *DB) past(ctx context.Context, t dayTable, bound time.Time) ([]string, error) {
	names, err := db.partitions(ctx, t)
	if err != nil {
		return nil, err
	}
	db.days.mu.Lock()
	since := db.days.since
	db.days.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool {
		if name == t.before() {
			return since.After(bound)
		}
		day, ok := t.day(name)
		return !ok || day.AddDate(0, 0, 1).After(bound)
	}), nil
}

// drop drops one partition and returns how many rows it had. Others wait for it no longer than the lock is waited for.
func (db *DB) drop(ctx context.Context, name string) (n int64, err error) {
	err = db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, waitForLock); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `select count(*) from `+name).Scan(&n); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `drop table `+name)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("partition %s: %w", name, err)
	}
	return n, nil
}

// dropBodies marks the entries of days whose bodies are past their time, takes their previews out, and drops the bodies.
func (db *DB) dropBodies(ctx context.Context, bound time.Time, total *Expired) error {
	bodies := dayTable{"bodies", "request_id"}
	past, err := db.past(ctx, bodies, bound)
	if err != nil {
		return err
	}
	for _, name := range past {
		if err := db.markPartition(ctx, name, ""); err != nil {
			return err
		}
		n, err := db.drop(ctx, name)
		if err != nil {
			return err
		}
		total.Bodies += n
		if day, ok := bodies.day(name); ok {
			db.days.forget(day)
		}
	}
	low := floorID(bound)
	if err := db.markPartition(ctx, bodies.rest(), low); err != nil {
		return err
	}
	res, err := db.Exec(ctx, `delete from `+bodies.rest()+` where request_id < $1`, low)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	total.Bodies += n
	return err
}

// markPartition marks the entries whose bodies are in a partition of bodies, those before an id where one is given.
func (db *DB) markPartition(ctx context.Context, name, before string) error {
	workspace, after := "", ""
	q := `select workspace_id, request_id from ` + name + ` where (workspace_id, request_id) > ($1, $2) and ($3 = '' or request_id < $3)
		order by workspace_id, request_id limit ` + fmt.Sprint(expireBatch)
	for {
		type row struct{ workspace, id string }
		rows, err := db.Query(ctx, q, workspace, after, before)
		some, err := collect(rows, err, func(s Scanner) (r row, err error) {
			err = s.Scan(&r.workspace, &r.id)
			return r, err
		})
		if err != nil || len(some) == 0 {
			return err
		}
		byWorkspace := map[string][]string{}
		for _, r := range some {
			byWorkspace[r.workspace] = append(byWorkspace[r.workspace], r.id)
		}
		if err := db.InTx(ctx, func(tx *sql.Tx) error {
			for ws, ids := range byWorkspace {
				if err := forIDs(ctx, tx, ws, ids, markExpired); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		workspace, after = some[len(some)-1].workspace, some[len(some)-1].id
	}
}
