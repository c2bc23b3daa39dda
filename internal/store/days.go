package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead/internal/id"
)

// dayTable is a table that PostgreSQL keeps in partitions of a day (UTC). Its key is the column with the request's id,
// which begins with the time: a day is a range of ids.
type dayTable struct{ name, key string }

// dayTables hold the log, in the order in which a day is made. It is dropped in the reverse order, so that a request whose
// row is there has everything else too.
var dayTables = []dayTable{{"requests", "id"}, {"details", "request_id"}, {"bodies", "request_id"}, {"tags", "request_id"}}

const (
	daysAhead   = 3                    // partitions that are there before their day
	daysBack    = 400 * 24 * time.Hour // older entries are kept in the rest: their days would be many, and short-lived
	daysLock    = 0x64617973           // key of the advisory lock under which a partition is made
	daysRetry   = time.Minute          // after a day could not be made; its entries are in the rest meanwhile
	daysSince   = "log_days_since"     // setting: what is before this moment is in the partition of everything before
	waitForLock = "set local lock_timeout = '500ms'"
)

// partitionCache is what this process knows of the partitions. Not knowing one costs a look into the catalogue, no more.
type partitionCache struct {
	mu     sync.Mutex
	loaded bool
	since  time.Time
	known  map[time.Time]bool
	failed map[time.Time]time.Time // when making a day last failed
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (t dayTable) partition(day time.Time) string { return t.name + "_d" + day.Format("20060102") }

func (t dayTable) rest() string { return t.name + "_rest" }

func (t dayTable) before() string { return t.name + "_before" }

// day reads the day of a partition from its name.
func (t dayTable) day(partition string) (time.Time, bool) {
	digits, ok := strings.CutPrefix(partition, t.name+"_d")
	day, err := time.Parse("20060102", digits)
	return day, ok && err == nil
}

// prepareDays makes the partitions that a batch needs, where they are missing. It is no condition for writing: what has no
// partition goes to the rest, and is sorted out later.
func (db *DB) prepareDays(ctx context.Context, records []record) {
	if db.dialect != Postgres {
		return
	}
	now := db.now()
	for _, r := range records {
		at, ok := id.Time(r.entry.ID)
		if !ok || at.Before(now.Add(-daysBack)) || at.After(now.Add(daysAhead*24*time.Hour)) {
			continue
		}
		_ = db.makeDay(ctx, dayOf(at)) // told by MakeDays, which tries again
	}
}

// MakeDays makes the partitions of the days around now, and sorts entries into theirs that came before them. SQLite has
// none.
func (db *DB) MakeDays(ctx context.Context) error {
	if db.dialect != Postgres {
		return nil
	}
	today := dayOf(db.now())
	for i := -1; i <= daysAhead; i++ {
		if err := db.makeDay(ctx, today.AddDate(0, 0, i)); err != nil {
			return err
		}
	}
	return db.sortRest(ctx)
}

// sortRest makes the partitions of the days whose entries are in the rest.
func (db *DB) sortRest(ctx context.Context) error {
	low, high := id.Floor("req", db.now().Add(-daysBack)), id.Floor("req", db.now().AddDate(0, 0, daysAhead))
	for _, t := range dayTables {
		for after := low; ; {
			var next sql.NullString
			q := fmt.Sprintf(`select min(%[1]s) from %[2]s where %[1]s >= $1 and %[1]s < $2`, t.key, t.rest())
			if err := db.QueryRow(ctx, q, after, high).Scan(&next); err != nil {
				return fmt.Errorf("look through %s: %w", t.rest(), err)
			}
			at, ok := id.Time(next.String)
			if !ok {
				break // none left, or none of ours
			}
			db.days.forget(dayOf(at))
			if err := db.makeDay(ctx, dayOf(at)); err != nil {
				return err
			}
			after = id.Floor("req", dayOf(at).AddDate(0, 0, 1))
		}
	}
	return nil
}

// makeDay makes the partitions of a day unless they are there. What is before the log was partitioned has its place.
func (db *DB) makeDay(ctx context.Context, day time.Time) error {
	if err := db.loadDays(ctx); err != nil {
		return err
	}
	if !db.days.wanted(day, db.now()) {
		return nil
	}
	for _, t := range dayTables {
		if err := db.InTx(ctx, func(tx *sql.Tx) error { return t.make(ctx, tx, day) }); err != nil {
			db.days.failedAt(day, db.now())
			return fmt.Errorf("make the partition %s: %w", t.partition(day), err)
		}
	}
	db.days.made(day)
	return nil
}

// make makes one partition. It is filled from the rest before it is attached, because a day can only be told apart when no
// row of it is elsewhere; attaching, unlike creating it in place, lets others read and write meanwhile.
func (t dayTable) make(ctx context.Context, tx *sql.Tx, day time.Time) error {
	if _, err := tx.ExecContext(ctx, waitForLock); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, daysLock); err != nil {
		return err
	}
	name := t.partition(day)
	var there bool
	if err := tx.QueryRowContext(ctx, `select to_regclass($1) is not null`, name).Scan(&there); err != nil || there {
		return err
	}
	low, high := id.Floor("req", day), id.Floor("req", day.AddDate(0, 0, 1))
	for _, q := range []string{
		`create table ` + name + ` (like ` + t.name + ` including defaults including indexes)`,
		`lock table ` + t.rest() + ` in access exclusive mode`,
		fmt.Sprintf(`with moved as (delete from %[1]s where %[2]s >= '%[3]s' and %[2]s < '%[4]s' returning *) insert into %[5]s select * from moved`, t.rest(), t.key, low, high, name),
		fmt.Sprintf(`alter table %s attach partition %s for values from ('%s') to ('%s')`, t.name, name, low, high),
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// loadDays reads once what partitions there are.
func (db *DB) loadDays(ctx context.Context) error {
	db.days.mu.Lock()
	loaded := db.days.loaded
	db.days.mu.Unlock()
	if loaded {
		return nil
	}
	text, err := db.Setting(ctx, daysSince)
	if err != nil {
		return err
	}
	since, _ := strconv.ParseInt(text, 10, 64) // none: everything is in days
	last := dayTables[len(dayTables)-1]
	names, err := db.partitions(ctx, last)
	if err != nil {
		return err
	}
	db.days.mu.Lock()
	defer db.days.mu.Unlock()
	db.days.loaded, db.days.since = true, time.UnixMilli(since)
	for _, name := range names {
		if day, ok := last.day(name); ok {
			db.days.known[day] = true
		}
	}
	return nil
}

// partitions lists the partitions of a table, oldest first.
func (db *DB) partitions(ctx context.Context, t dayTable) ([]string, error) {
	const q = `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass($1) order by c.relname`
	names, err := db.Strings(ctx, q, []any{t.name})
	if err != nil {
		return nil, fmt.Errorf("list the partitions of %s: %w", t.name, err)
	}
	return names, nil
}

func newPartitionCache() *partitionCache {
	return &partitionCache{known: map[time.Time]bool{}, failed: map[time.Time]time.Time{}}
}

// wanted says whether a day has to be made now.
func (b *partitionCache) wanted(day, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[day] || day.Before(b.since) {
		return false
	}
	failed, ok := b.failed[day]
	return !ok || now.Sub(failed) >= daysRetry || now.Before(failed)
}

func (b *partitionCache) made(day time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[day] = true
	delete(b.failed, day)
}

func (b *partitionCache) failedAt(day, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed[day] = now
}

// forget lets a day be looked for again: another replica may have dropped it.
func (b *partitionCache) forget(day time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, day)
}
