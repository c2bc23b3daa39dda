package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"fairlead/internal/requestlog"
)

// expireBatch is how many entries one transaction deletes, so that writers never wait long.
const expireBatch = 500

// Retention says how long entries and the texts of their bodies are kept; 0 is for always.
type Retention struct {
	Entries time.Duration
	Bodies  time.Duration
}

// Expired counts what was deleted.
type Expired struct {
	Entries int64
	Bodies  int64
}

// Expire deletes the entries and bodies that are past their retention: the workspace's own, or else the given one.
// The ledger and the roll-ups of hours and days stay. It works in small steps and may be ended between them. In PostgreSQL
// what is kept longest goes with its whole day, and is hidden until then.
func (db *DB) Expire(ctx context.Context, now time.Time, defaults Retention) (Expired, error) {
	var total Expired
	if err := db.Retain(ctx, now, defaults); err != nil {
		return total, err
	}
	kept := db.retention.Load()
	err := db.dropDays(ctx, kept, &total)
	for workspace := ""; err == nil; {
		if workspace, err = db.nextWorkspace(ctx, workspace); err != nil || workspace == "" {
			break
		}
		err = db.expireWorkspace(ctx, workspace, now, kept.rows(workspace), &total)
	}
	if err == nil {
		err = db.expireRatings(ctx, now, kept.own, defaults)
	}
	if err == nil {
		err = db.expireVersions(ctx, now, defaults)
	}
	if err == nil {
		err = db.expireRollups(ctx, now)
	}
	// Shrinking is done every time: deleting by filter leaves it to the next run when readers are in the way.
	if err = errors.Join(err, db.Shrink(ctx)); err != nil {
		return total, fmt.Errorf("expire entries: %w", err)
	}
	return total, nil
}

func (r Retention) or(defaults Retention) Retention {
	if r.Entries == 0 {
		r.Entries = defaults.Entries
	}
	if r.Bodies == 0 {
		r.Bodies = defaults.Bodies
	}
	return r
}

// LongestRetention is how long the workspace that keeps most keeps it; 0 is for always.
func (db *DB) LongestRetention(ctx context.Context, defaults Retention) (Retention, error) {
	own, err := db.retentions(ctx)
	return longest(own, defaults), err
}

func longest(own map[string]Retention, defaults Retention) Retention {
	most := defaults
	for _, r := range own {
		if r = r.or(defaults); defaults.Entries > 0 {
			most.Entries = max(most.Entries, r.Entries)
		}
		if defaults.Bodies > 0 {
			most.Bodies = max(most.Bodies, r.Bodies)
		}
	}
	return most
}

// retentions returns the workspaces that have a retention of their own.
func (db *DB) retentions(ctx context.Context) (map[string]Retention, error) {
	const q = `select id, entry_retention_ms, body_retention_ms from workspaces where entry_retention_ms > 0 or body_retention_ms > 0`
	rows, err := db.Query(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read retentions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	own := map[string]Retention{}
	for rows.Next() {
		var id string
		var entries, bodies int64
		if err := rows.Scan(&id, &entries, &bodies); err != nil {
			return nil, fmt.Errorf("read retentions: %w", err)
		}
		own[id] = Retention{time.Duration(entries) * time.Millisecond, time.Duration(bodies) * time.Millisecond}
	}
	return own, rows.Err()
}

// nextWorkspace walks the workspaces that have entries, without reading the entries.
func (db *DB) nextWorkspace(ctx context.Context, after string) (string, error) {
	var next sql.NullString
	err := db.QueryRow(ctx, `select min(workspace_id) from requests where workspace_id > $1`, after).Scan(&next)
	return next.String, err
}

func (db *DB) expireWorkspace(ctx context.Context, workspace string, now time.Time, keep Retention, total *Expired) error {
	if keep.Entries > 0 {
		n, err := db.inBatches(ctx, func(tx *sql.Tx) (int, error) {
			const q = `select id from requests where workspace_id = $1 and id < $2 order by id limit $3`
			ids, err := Column[string](ctx, tx, q, workspace, floorID(now.Add(-keep.Entries)), expireBatch)
			if err != nil {
				return 0, err
			}
			return len(ids), db.deleteEntries(ctx, tx, workspace, ids)
		})
		total.Entries += n
		if err != nil {
			return err
		}
	}
	if keep.Bodies <= 0 {
		return nil
	}
	n, err := db.inBatches(ctx, func(tx *sql.Tx) (int, error) {
		const q = `select request_id from bodies where workspace_id = $1 and request_id < $2 order by request_id limit $3`
		ids, err := Column[string](ctx, tx, q, workspace, floorID(now.Add(-keep.Bodies)), expireBatch)
		if err != nil {
			return 0, err
		}
		return len(ids), expireBodies(ctx, tx, workspace, ids)
	})
	total.Bodies += n
	if err != nil || db.dialect != SQLite {
		return err
	}
	n, err = db.expirePacked(ctx, workspace, floorID(now.Add(-keep.Bodies)))
	total.Bodies += n
	return err
}

// inBatches repeats fn, each time in a transaction of its own, until it finds less than a whole batch.
func (db *DB) inBatches(ctx context.Context, fn func(*sql.Tx) (int, error)) (int64, error) {
	var total int64
	for {
		var n int
		err := db.InTx(ctx, func(tx *sql.Tx) (err error) {
			n, err = fn(tx)
			return err
		})
		if err != nil {
			return total, err
		}
		total += int64(n)
		if n < expireBatch {
			return total, nil
		}
	}
}

// markExpired takes the previews out of entries and says that their texts are gone.
const markExpired = `update requests set preview = '', body_state = case body_state when 'stored' then 'expired' else body_state end where workspace_id = $1 and id in (%s)`

// expireBodies deletes texts and previews, and marks their entries.
func expireBodies(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	return forIDs(ctx, tx, workspace, ids, markExpired,
		`delete from bodies where workspace_id = $1 and request_id in (%s)`)
}

// deleteEntries deletes entries with everything of theirs except the ledger.
func (db *DB) deleteEntries(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if err := deleteRatings(ctx, tx, workspace, ids); err != nil {
		return err
	}
	if err := db.deleteTags(ctx, tx, workspace, ids); err != nil {
		return err
	}
	if err := db.emptyPlaces(ctx, tx, workspace, ids); err != nil {
		return err
	}
	return forIDs(ctx, tx, workspace, ids,
		`delete from bodies where workspace_id = $1 and request_id in (%s)`,
		`delete from details where workspace_id = $1 and request_id in (%s)`,
		`delete from requests where workspace_id = $1 and id in (%s)`)
}

func forIDs(ctx context.Context, tx *sql.Tx, workspace string, ids []string, statements ...string) error {
	if len(ids) == 0 {
		return nil
	}
	args := append([]any{workspace}, Args(ids)...)
	for _, q := range statements {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(q, Placeholders(2, len(ids))), args...); err != nil {
			return err
		}
	}
	return nil
}

// expireRollups deletes the rows of finer roll-ups that are no longer kept. One more bucket than promised stays.
func (db *DB) expireRollups(ctx context.Context, now time.Time) error {
	for _, u := range []unit{minutes, hours} {
		bound := fmt.Sprintf("%014d", u.horizon(now).Add(-u.width).UnixMilli()) // ids begin with the time
		q := fmt.Sprintf(`delete from %[1]s where id in (select id from %[1]s where id < $1 order by id limit $2)`, u.table)
		for n := int64(expireBatch); n == expireBatch; {
			res, err := db.Exec(ctx, q, bound, expireBatch)
			if err != nil {
				return err
			}
			if n, err = res.RowsAffected(); err != nil {
				return err
			}
		}
		if db.dialect == Postgres {
			if _, err := db.Exec(ctx, `delete from rollup_waiting where unit = $1 and id < $2`, u.table, bound); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteEntries deletes the entries that a filter selects, and returns their number. A dry run only counts them.
// The ledger and the roll-ups stay, with one exception: deleting all simulated entries deletes their figures too.
func (db *DB) DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error) {
	if dryRun {
		w := &Where{}
		db.match(w, &f)
		var n int64
		if err := db.QueryRow(ctx, `select count(*) from requests r where `+w.String(), w.Args...).Scan(&n); err != nil {
			return 0, fmt.Errorf("count entries to delete: %w", err)
		}
		return n, nil
	}
	n, err := db.inBatches(ctx, func(tx *sql.Tx) (int, error) {
		q, args := db.listing(&f, bounds{}, expireBatch)
		ids, err := Column[string](ctx, tx, q, args...)
		if err != nil {
			return 0, err
		}
		return len(ids), db.deleteEntries(ctx, tx, f.WorkspaceID, ids)
	})
	if err == nil && onlySimulated(&f) {
		err = db.deleteSimulatedFigures(ctx, f.WorkspaceID)
	}
	if err != nil {
		return n, fmt.Errorf("delete entries: %w", err)
	}
	_ = db.Shrink(ctx) // the entries are deleted; the next Expire shrinks what this cannot
	return n, nil
}

// onlySimulated reports whether a filter selects all simulated entries of a workspace and nothing else.
func onlySimulated(f *requestlog.Filter) bool {
	return f.Simulated != nil && *f.Simulated && len(f.Values()) == 1
}

func (db *DB) deleteSimulatedFigures(ctx context.Context, workspace string) error {
	return db.InTx(ctx, func(tx *sql.Tx) error {
		if db.dialect == Postgres { // first, so that nothing of it is folded in afterwards
			if _, err := tx.ExecContext(ctx, `delete from rollup_waiting where workspace_id = $1 and simulated = 1`, workspace); err != nil {
				return err
			}
		}
		for _, u := range []unit{minutes, hours, days} {
			if _, err := tx.ExecContext(ctx, `delete from `+u.table+` where workspace_id = $1 and simulated = 1`, workspace); err != nil {
				return err
			}
		}
		return nil
	})
}
