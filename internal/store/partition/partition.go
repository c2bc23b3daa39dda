// Package partition manages the daily partitions of the request log in PostgreSQL. It creates partitions ahead of time,
// moves entries into them, and drops them. SQLite has no partitions.
package partition

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/store/sqldb"
)

// Table is a table with one partition per day (UTC). Key is the column that selects the partition. It contains either request ids, which
// begin with the time, or scopes, whose high bits are the number of the day.
type Table struct {
	Name, Key string
	Numbered  bool // whether Key is the number of a scope
}

// ScopeBits is the number of low bits that distinguish the scopes of a day. A scope is a day of a workspace; see package messagestore.
const ScopeBits = 24

// Tables returns the partitioned tables in the order in which a day's partitions are created. They are dropped in reverse order, with
// requests last, so that an interrupted run can continue.
func Tables() []Table {
	return []Table{
		{Name: "requests", Key: "id"},
		{Name: "details", Key: "request_id"},
		{Name: "bodies", Key: "request_id"},
		{Name: "tags", Key: "request_id"},
		{Name: "message_parts", Key: "scope", Numbered: true},
		{Name: "message_segments", Key: "scope", Numbered: true},
	}
}

// floor returns the smallest key of a day.
func (t Table) floor(day time.Time) string {
	if t.Numbered {
		return strconv.FormatInt(outline.DayOf(day)<<ScopeBits, 10)
	}
	return id.Floor("req", day)
}

// timeOf returns the time of a key; false for an id without a time, and for an empty key.
func (t Table) timeOf(key string) (time.Time, bool) {
	if !t.Numbered {
		return id.Time(key)
	}
	number, err := strconv.ParseInt(key, 10, 64)
	return time.Unix(number>>ScopeBits*24*60*60, 0), err == nil
}

// CreateLock is the key of the advisory lock held while a partition is created.
const CreateLock = 0x64617973

const (
	daysAhead   = 3                    // number of days for which partitions are created in advance
	maxAge      = 400 * 24 * time.Hour // older entries stay in the default partition, because they would need many short-lived partitions
	retryAfter  = time.Minute          // pause after a failed creation; entries go to the default partition in the meantime
	lockTimeout = "set local lock_timeout = '500ms'"
)

// Set manages the partitions of a database. It caches the catalog; a missing cache entry costs one catalog query.
type Set struct {
	db    *sqldb.DB
	cache partitionCache
}

// partitionCache is the part of the PostgreSQL catalog that this process has read.
type partitionCache struct {
	mu     sync.Mutex
	loaded bool
	known  map[time.Time]bool
	failed map[time.Time]time.Time // time of the last failed creation by day
}

// NewSet returns the partitions of db.
func NewSet(db *sqldb.DB) *Set {
	return &Set{db: db, cache: partitionCache{known: map[time.Time]bool{}, failed: map[time.Time]time.Time{}}}
}

// Day returns the start of the day (UTC) that contains t.
func Day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (t Table) partition(day time.Time) string { return t.Name + "_d" + day.Format("20060102") }

// Default returns the partition for entries whose day has no partition.
func (t Table) Default() string { return t.Name + "_rest" }

// day parses the day from a partition name.
func (t Table) day(partition string) (time.Time, bool) {
	digits, ok := strings.CutPrefix(partition, t.Name+"_d")
	day, err := time.Parse("20060102", digits)
	return day, ok && err == nil
}

// Prepare creates missing partitions for the IDs of a batch. It ignores failures: entries without a partition go to the default
// partition, and Maintain moves them later.
func (s *Set) Prepare(ctx context.Context, ids []string) {
	if s.db.Dialect() != sqldb.Postgres {
		return
	}
	now := s.db.Now()
	for _, name := range ids {
		at, ok := id.Time(name)
		if !ok || at.Before(now.Add(-maxAge)) || at.After(now.Add(daysAhead*24*time.Hour)) {
			continue
		}
		_ = s.create(ctx, Day(at)) // Maintain retries and reports the error
	}
}

// Maintain creates the partitions of the days around now and moves entries out of the default partitions.
func (s *Set) Maintain(ctx context.Context) error {
	if s.db.Dialect() != sqldb.Postgres {
		return nil
	}
	today := Day(s.db.Now())
	for i := -1; i <= daysAhead; i++ {
		if err := s.create(ctx, today.AddDate(0, 0, i)); err != nil {
			return err
		}
	}
	return s.emptyDefaults(ctx)
}

// emptyDefaults creates the partitions of the days whose entries are in the default partitions.
func (s *Set) emptyDefaults(ctx context.Context) error {
	for _, t := range Tables() {
		low, high := t.floor(s.db.Now().Add(-maxAge)), t.floor(s.db.Now().AddDate(0, 0, daysAhead))
		for after := low; ; {
			var next sql.NullString
			q := fmt.Sprintf(`select min(%[1]s) from %[2]s where %[1]s >= '%[3]s' and %[1]s < '%[4]s'`, t.Key, t.Default(), after, high)
			if err := s.db.QueryRow(ctx, q).Scan(&next); err != nil {
				return fmt.Errorf("read default partition %s: %w", t.Default(), err)
			}
			at, ok := t.timeOf(next.String)
			if !ok {
				break // no row, or an ID without a time
			}
			s.cache.forget(Day(at))
			if err := s.create(ctx, Day(at)); err != nil {
				return err
			}
			after = t.floor(Day(at).AddDate(0, 0, 1))
		}
	}
	return nil
}

// create creates the partitions of a day unless they exist.
func (s *Set) create(ctx context.Context, day time.Time) error {
	if err := s.load(ctx); err != nil {
		return err
	}
	if !s.cache.wanted(day, s.db.Now()) {
		return nil
	}
	for _, t := range Tables() {
		if err := s.db.InTx(ctx, func(tx *sql.Tx) error { return t.create(ctx, tx, day) }); err != nil {
			s.cache.setFailed(day, s.db.Now())
			return fmt.Errorf("create partition %s: %w", t.partition(day), err)
		}
	}
	s.cache.setKnown(day)
	return nil
}

// create creates one partition. It moves the day's rows from the default partition before attaching, because PostgreSQL
// rejects a partition whose rows are in another one. Unlike creating in place, attaching does not block readers and
// writers.
func (t Table) create(ctx context.Context, tx *sql.Tx, day time.Time) error {
	if _, err := tx.ExecContext(ctx, lockTimeout); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, CreateLock); err != nil {
		return err
	}
	name := t.partition(day)
	var exists bool
	if err := tx.QueryRowContext(ctx, `select to_regclass($1) is not null`, name).Scan(&exists); err != nil || exists {
		return err
	}
	low, high := t.floor(day), t.floor(day.AddDate(0, 0, 1))
	for _, q := range []string{
		`create table ` + name + ` (like ` + t.Name + ` including defaults including indexes)`,
		`lock table ` + t.Default() + ` in access exclusive mode`,
		fmt.Sprintf(`with moved as (delete from %[1]s where %[2]s >= '%[3]s' and %[2]s < '%[4]s' returning *) insert into %[5]s select * from moved`, t.Default(), t.Key, low, high, name),
		fmt.Sprintf(`alter table %s attach partition %s for values from ('%s') to ('%s')`, t.Name, name, low, high),
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// load reads the existing partitions once.
func (s *Set) load(ctx context.Context) error {
	s.cache.mu.Lock()
	loaded := s.cache.loaded
	s.cache.mu.Unlock()
	if loaded {
		return nil
	}
	tables := Tables()
	last := tables[len(tables)-1]
	names, err := s.partitions(ctx, last)
	if err != nil {
		return err
	}
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.cache.loaded = true
	for _, name := range names {
		if day, ok := last.day(name); ok {
			s.cache.known[day] = true
		}
	}
	return nil
}

// partitions lists the partitions of a table, oldest first.
func (s *Set) partitions(ctx context.Context, t Table) ([]string, error) {
	const q = `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass($1) order by c.relname`
	names, err := s.db.Strings(ctx, q, []any{t.Name})
	if err != nil {
		return nil, fmt.Errorf("list partitions of %s: %w", t.Name, err)
	}
	return names, nil
}

// Expired lists the partitions of a table that end before bound, oldest first.
func (s *Set) Expired(ctx context.Context, t Table, bound time.Time) ([]string, error) {
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	names, err := s.partitions(ctx, t)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool {
		day, ok := t.day(name)
		return !ok || day.AddDate(0, 0, 1).After(bound)
	}), nil
}

// DropTable drops the partitions of a table that end before bound, and deletes rows of the same age from its default
// partition. It returns the number of deleted rows.
func (s *Set) DropTable(ctx context.Context, t Table, bound time.Time) (int64, error) {
	expired, err := s.Expired(ctx, t, bound)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, name := range expired {
		n, err := s.Drop(ctx, t, name)
		if total += n; err != nil {
			return total, err
		}
	}
	n, err := s.DeleteDefault(ctx, t, bound)
	return total + n, err
}

// DeleteDefault deletes the rows before bound from a table's default partition.
func (s *Set) DeleteDefault(ctx context.Context, t Table, bound time.Time) (int64, error) {
	res, err := s.db.Exec(ctx, fmt.Sprintf(`delete from %s where %s < '%s'`, t.Default(), t.Key, t.floor(bound)))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Drop drops one partition and returns the number of its rows. The lock timeout limits how long other transactions
// wait.
func (s *Set) Drop(ctx context.Context, t Table, name string) (n int64, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, lockTimeout); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `select count(*) from `+name).Scan(&n); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `drop table `+name)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("drop partition %s: %w", name, err)
	}
	if day, ok := t.day(name); ok {
		s.cache.forget(day)
	}
	return n, nil
}

// Oldest returns the first day with a known partition, or the current time if none is known.
func (s *Set) Oldest() time.Time {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	first := time.Now()
	for day := range s.cache.known {
		if day.Before(first) {
			first = day
		}
	}
	return first
}

// wanted reports whether the partitions of a day must be created now.
func (c *partitionCache) wanted(day, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[day] {
		return false
	}
	failed, ok := c.failed[day]
	return !ok || now.Sub(failed) >= retryAfter || now.Before(failed)
}

func (c *partitionCache) setKnown(day time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[day] = true
	delete(c.failed, day)
}

func (c *partitionCache) setFailed(day, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[day] = now
}

// forget removes a day from the cache, so that its partitions are checked again: another replica may have dropped them.
func (c *partitionCache) forget(day time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, day)
}
