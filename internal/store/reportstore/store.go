// Package reportstore stores the roll-ups of the report. Every batch of entries is queued as blocks of facts. A fact contains the
// dimensions and figures of one request, and a block stores facts by column. Fold stores the queued facts by hour and adds them to
// the daily sums for every dimension and every pair of dimensions. When a day has ended, Fold sorts its facts by end user and keeps a
// sample. A query reads the sums of whole days, and facts for the rest of its range.
package reportstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/sqldb"
)

// Limits bound the work of a query. Tests lower them.
type Limits struct {
	Facts      int64 // number of facts above which a query reads the sample or the sums of days instead
	SampleSize int   // maximum number of facts that one step of Fold adds to the sample of a day
}

// Store implements report.Reader.
type Store struct {
	Limits
	db      *sqldb.DB
	codec   *entryblock.Codec
	waiting *sqldb.Inserter
	facts   *sqldb.Inserter
	days    *sqldb.Inserter
	chunks  *sqldb.Inserter
	samples *sqldb.Inserter
	folding sync.Mutex
}

// New returns a store that uses db.
func New(db *sqldb.DB) *Store {
	text, number, bytes := sqldb.TextFields, sqldb.NumberFields, sqldb.BytesFields
	return &Store{
		Limits: Limits{Facts: report.MaxFacts, SampleSize: 4000},
		db:     db, codec: entryblock.NewCodec(),
		waiting: sqldb.NewInserter("report_waiting", slices.Concat(text("workspace_id"), number("start", "class", "facts"), bytes("data")), ""),
		facts:   sqldb.NewInserter("report_facts", slices.Concat(text("workspace_id"), number("start", "number", "class", "facts"), bytes("data")), ""),
		days: sqldb.NewInserter("report_days", slices.Concat(text("workspace_id", "grain"), number("start", "class"), bytes("data")),
			"on conflict (workspace_id, grain, start, class) do update set data = excluded.data"),
		chunks: sqldb.NewInserter("report_chunks", slices.Concat(text("workspace_id"), number("start", "number", "class", "facts"), text("low", "high"), bytes("sessions", "data")),
			"on conflict (workspace_id, start, number) do update set low = excluded.low, high = excluded.high, sessions = excluded.sessions, data = excluded.data"),
		samples: sqldb.NewInserter("report_samples", slices.Concat(text("workspace_id"), number("start", "number", "class", "weight"), bytes("data")), ""),
	}
}

// Statements returns the SQLite statements of Write, for Prepare.
func (s *Store) Statements() []string { return s.waiting.Statements() }

// Batch collects the facts of a batch of entries. The zero Batch is empty.
type Batch struct {
	blocks map[place]*builder
}

// place identifies the facts of one workspace, hour and class. The class separates simulated requests and requests from the playground from
// other requests.
type place struct {
	workspace string
	start     int64 // start of the hour in Unix milliseconds; start of the day in the field at of type step
	class     int64
}

// The bits of a class; both are 0 for requests that are neither simulated nor from the playground.
const (
	classSimulated  = 1
	classPlayground = 2
)

// Add counts an entry.
func (b *Batch) Add(e *requestlog.Entry) {
	at := place{workspace: e.WorkspaceID, start: e.Stamp().UTC().Truncate(time.Hour).UnixMilli()}
	if e.Simulated {
		at.class |= classSimulated
	}
	if e.Source() == requestlog.SourcePlayground {
		at.class |= classPlayground
	}
	if b.blocks == nil {
		b.blocks = map[place]*builder{}
	}
	if b.blocks[at] == nil {
		b.blocks[at] = &builder{}
	}
	b.blocks[at].add(e)
}

// Write queues the facts of a batch in the transaction that writes its entries.
func (s *Store) Write(ctx context.Context, tx *sql.Tx, b *Batch) error {
	rows := make([][]any, 0, len(b.blocks))
	for at, facts := range b.blocks {
		rows = append(rows, []any{at.workspace, at.start, at.class, int64(facts.n), s.codec.Pack(facts.encode())})
	}
	_, err := s.db.Insert(ctx, tx, s.waiting, rows)
	return err
}

// parse decompresses and parses a block, which does not share memory with data.
func (s *Store) parse(data []byte) (*block, error) {
	plain, err := s.codec.AppendUnpacked(nil, data)
	if err != nil {
		return nil, err
	}
	return parseBlock(plain)
}

const (
	foldFacts = 50_000 // number of facts after which a step of Fold stops reading blocks
	foldEarly = 20_000 // number of queued facts of one hour that are added without waiting for the end of the hour
	foldDelay = 2 * time.Minute
	foldLock  = 0x7265706f727473
	dayMillis = 24 * 60 * 60 * 1000
)

// query runs a statement that reads, in or outside a transaction.
type query func(ctx context.Context, q string, args ...any) (*sql.Rows, error)

// Fold performs one step and reports whether more can be done: it adds queued facts of one day to the hourly facts and the daily sums or,
// if no queued facts are due, sorts the facts of a finished day. Queued facts are due when their hour has finished, or earlier if the hour
// has many. Readers see each fact once. With SQLite, Fold computes the rows before the transaction, so that writers do not wait. This is
// safe, because no other process folds facts.
func (s *Store) Fold(ctx context.Context) (more bool, err error) {
	if s.db.Dialect() == sqldb.SQLite {
		s.folding.Lock()
		defer s.folding.Unlock()
		step, err := s.nextStep(ctx, s.db.Query)
		if err != nil || step == nil {
			return false, wrapFold(err)
		}
		return true, wrapFold(s.db.InTx(ctx, func(tx *sql.Tx) error { return s.apply(ctx, tx, step) }))
	}
	err = s.change(ctx, func(tx *sql.Tx) error {
		step, err := s.nextStep(ctx, tx.QueryContext)
		if err != nil || step == nil {
			return err
		}
		more = true
		return s.apply(ctx, tx, step)
	})
	return more && err == nil, wrapFold(err)
}

// change runs do in a transaction that excludes all other changes of folded facts and sums, including those of other processes. Otherwise
// a step of Fold could write sums that it read before the change.
func (s *Store) change(ctx context.Context, do func(tx *sql.Tx) error) error {
	s.folding.Lock()
	defer s.folding.Unlock()
	return s.db.InTx(ctx, func(tx *sql.Tx) error {
		if s.db.Dialect() == sqldb.Postgres {
			if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock($1)`, foldLock); err != nil {
				return err
			}
		}
		return do(tx)
	})
}

func wrapFold(err error) error {
	if err != nil {
		return fmt.Errorf("add queued facts to report roll-ups: %w", err)
	}
	return nil
}

// step holds the rows that one call of Fold writes.
type step struct {
	at      place
	waiting []int64    // queued rows to delete
	hours   [][2]int64 // keys (start, number) of the rows of report_facts to delete
	facts   [][]any    // rows of report_facts
	days    [][]any    // rows of report_days
	chunks  [][]any    // rows of report_chunks
	samples [][]any    // rows of report_samples
}

// nextStep computes the next step, or returns nil when no facts are due.
func (s *Store) nextStep(ctx context.Context, query query) (*step, error) {
	closed := s.db.Now().Add(-foldDelay).UTC().Truncate(time.Hour).UnixMilli()
	at, found, err := due(ctx, query, `select workspace_id, start, class from report_waiting where start < $1 order by start limit 1`, closed)
	if err == nil && !found {
		at, found, err = due(ctx, query, `select workspace_id, start, class from report_waiting group by workspace_id, start, class having sum(facts) >= $1 limit 1`, foldEarly)
		closed = at.start + 1
	}
	if err != nil {
		return nil, err
	}
	if !found {
		return s.sortStep(ctx, query)
	}
	st := &step{at: at}
	st.at.start -= at.start % dayMillis
	whole := &builder{}
	hour, hourStart, last := &builder{}, int64(0), int64(0)
	flush := func() {
		if hour.n > 0 {
			st.facts = append(st.facts, []any{at.workspace, hourStart, last, at.class, int64(hour.n), s.codec.Pack(hour.encode())})
		}
		hour = &builder{}
	}
	const queued = `select number, start, data from report_waiting where workspace_id = $1 and class = $2 and start >= $3 and start < $4
		order by start, number limit 3000`
	rows, err := query(ctx, queued, at.workspace, at.class, st.at.start, min(st.at.start+dayMillis, closed)) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		if whole.n >= foldFacts {
			return nil
		}
		var number, start int64
		var data []byte
		if err := row.Scan(&number, &start, &data); err != nil {
			return err
		}
		b, err := s.parse(data)
		if err != nil {
			return err
		}
		if start != hourStart {
			flush()
		}
		hourStart, last = start, number
		st.waiting = append(st.waiting, number)
		if err := hour.append(b, nil); err != nil {
			return err
		}
		return whole.append(b, nil)
	}); err != nil {
		return nil, err
	}
	flush()
	return st, s.addDays(ctx, query, st, whole)
}

// due returns the workspace, start and class of the first row that a query finds.
func due(ctx context.Context, query query, q string, arg any) (at place, found bool, err error) {
	rows, err := query(ctx, q, arg) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	err = sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		found = true
		return row.Scan(&at.workspace, &at.start, &at.class)
	})
	return at, found, err
}

// addDays computes the rows of report_days that include the facts.
func (s *Store) addDays(ctx context.Context, query query, st *step, whole *builder) error {
	facts, err := parseBlock(whole.encode())
	if err != nil {
		return err
	}
	stored := map[string][]byte{}
	var tags []string
	rows, err := query(ctx, `select grain, data from report_days where workspace_id = $1 and start = $2 and class = $3`, st.at.workspace, st.at.start, st.at.class) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var name string
		var data []byte
		if err := row.Scan(&name, &data); err != nil {
			return err
		}
		plain, err := s.codec.Unpack(data)
		stored[name] = plain
		if tag, ok := report.Dimension(name).Tag(); ok && !strings.Contains(tag, separator) {
			tags = append(tags, tag)
		}
		return err
	}); err != nil {
		return err
	}
	slices.Sort(tags)
	tags = tagsOf(tags, whole)
	for _, g := range grains(tags) {
		d := &day{}
		if err := d.start(g, stored); err != nil {
			return err
		}
		if err := d.add(facts, &selection{by: g[0], then: g[1]}); err != nil {
			return err
		}
		d.prune(g.limit())
		st.days = append(st.days, []any{st.at.workspace, g.String(), st.at.start, st.at.class, s.codec.Pack(d.encode())})
	}
	other := false
	for _, text := range whole.text[tagColumn].values {
		eachTag(text, func(name, _ string) { other = other || !slices.Contains(tags, name) })
	}
	if _, marked := stored[otherTags]; !marked && other {
		st.days = append(st.days, []any{st.at.workspace, otherTags, st.at.start, st.at.class, []byte{}})
	}
	return nil
}

// otherTags is the grain that marks a day with more than maxTags tag names.
const otherTags = "other tags"

// start adds the stored sums of a grain to d. If a tag is new to the day, all earlier requests count as having an empty value for it.
func (d *day) start(g grain, stored map[string][]byte) error {
	if data, ok := stored[g.String()]; ok {
		before, err := parseDay(g, data)
		if err != nil {
			return err
		}
		d.rest = before.rest
		return d.add(before, &selection{by: g[0], then: g[1]})
	}
	return d.fromOther(g, func(name string) ([]byte, bool) {
		data, ok := stored[name]
		return data, ok
	})
}

// fromOther adds the sums of a day that has no sums for a tag of the grain. It reads the sums of a grain without the tag, and counts the
// requests as having the empty value for the tag.
func (d *day) fromOther(g grain, stored func(name string) ([]byte, bool)) error {
	for position, dimension := range g {
		other := g[1-position]
		if _, tag := dimension.Tag(); !tag || other == "" {
			continue
		}
		if data, ok := stored(string(other)); ok {
			before, err := parseDay(grain{other}, data)
			if err != nil {
				return err
			}
			d.rest = before.rest
			sel := selection{by: g[0], then: g[1]}
			if position == 0 {
				sel.by = ""
			} else {
				sel.then = ""
			}
			return d.add(before, &sel)
		}
	}
	data, ok := stored(string(report.Model))
	if !ok {
		return nil
	}
	before, err := parseDay(grain{report.Model}, data)
	if err != nil {
		return err
	}
	d.find("", "").sums().Merge(&before.rest)
	return d.add(before, &selection{})
}

// apply writes a step.
func (s *Store) apply(ctx context.Context, tx *sql.Tx, st *step) error {
	for _, row := range st.hours {
		if _, err := tx.ExecContext(ctx, `delete from report_facts where workspace_id = $1 and start = $2 and number = $3`, st.at.workspace, row[0], row[1]); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(st.waiting, sqldb.DeleteBatch) {
		if _, err := tx.ExecContext(ctx, `delete from report_waiting where number in (`+sqldb.Placeholders(1, len(some))+`)`, sqldb.Args(some)...); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		into *sqldb.Inserter
		rows [][]any
	}{{s.facts, st.facts}, {s.days, st.days}, {s.chunks, st.chunks}, {s.samples, st.samples}} {
		if _, err := s.db.Insert(ctx, tx, part.into, part.rows); err != nil {
			return err
		}
	}
	return nil
}

// tables lists the tables with facts or sums.
func tables() []string {
	return []string{"report_waiting", "report_facts", "report_chunks", "report_samples", "report_days"}
}

// DeleteSimulated deletes the figures of simulated requests.
func (s *Store) DeleteSimulated(ctx context.Context, workspace string) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		for _, table := range tables() {
			if _, err := tx.ExecContext(ctx, `delete from `+table+` where workspace_id = $1 and class in (1, 3)`, workspace); err != nil {
				return err
			}
		}
		return nil
	})
}

// Expire deletes facts after report.FactAge, and all figures of a day when the retention of its entries is over: values such as end users
// must not outlive the entries. keep returns the retention of a workspace; 0 means forever.
func (s *Store) Expire(ctx context.Context, now time.Time, keep func(workspace string) time.Duration) error {
	workspaces := map[string]bool{}
	for _, table := range tables() {
		for last := ""; ; {
			var next sql.NullString
			if err := s.db.QueryRow(ctx, `select min(workspace_id) from `+table+` where workspace_id > $1`, last).Scan(&next); err != nil {
				return fmt.Errorf("expire report roll-ups: %w", err)
			}
			if !next.Valid {
				break
			}
			last = next.String
			workspaces[last] = true
		}
	}
	for _, workspace := range slices.Sorted(maps.Keys(workspaces)) {
		if err := s.expire(ctx, workspace, now, keep(workspace)); err != nil {
			return fmt.Errorf("expire report roll-ups: %w", err)
		}
	}
	return nil
}

func (s *Store) expire(ctx context.Context, workspace string, now time.Time, keep time.Duration) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"report_facts", "report_chunks", "report_samples"} {
			if _, err := tx.ExecContext(ctx, `delete from `+table+` where workspace_id = $1 and start < $2`, workspace, now.Add(-report.FactAge).UnixMilli()); err != nil {
				return err
			}
		}
		if keep <= 0 {
			return nil
		}
		first := now.Add(-keep).UTC().Truncate(24 * time.Hour).UnixMilli() // the first day that is kept
		var deleted int64
		for _, table := range tables() {
			res, err := tx.ExecContext(ctx, `delete from `+table+` where workspace_id = $1 and start < $2`, workspace, first)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			deleted += n
		}
		if deleted == 0 {
			return nil
		}
		_, err := tx.ExecContext(ctx, `insert into report_since (workspace_id, since) values ($1, $2)
			on conflict (workspace_id) do update set since = excluded.since`, workspace, first)
		return err
	})
}
