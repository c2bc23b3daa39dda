package reportstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// Slices implements report.Reader. A query with a filter by end user or session, or with more than two dimensions in its groups and
// filters, reads facts. If more than Limits.Facts facts can match, a query with more than two dimensions reads the sample, and other
// queries read the sums of days.
func (s *Store) Slices(ctx context.Context, q *report.Query) (report.Slices, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	r := &reading{store: s, q: q, needed: q.Needed(), found: report.Slices{Kept: true}}
	if err := s.db.InSnapshot(ctx, func(tx *sql.Tx) error { return r.read(ctx, tx) }); err != nil {
		return report.Slices{}, requestlog.WrapTimeout(ctx, fmt.Errorf("read report: %w", err))
	}
	if err := r.sum(ctx); err != nil {
		return report.Slices{}, requestlog.WrapTimeout(ctx, fmt.Errorf("sum report: %w", err))
	}
	return r.found, nil
}

// reading is the state of one call of Slices.
type reading struct {
	store  *Store
	q      *report.Query
	needed []report.Dimension
	tables []rows
	found  report.Slices
}

// sum adds the rows of all tables to the groups. If the query limits the number of groups, sum makes two passes. The first pass
// reads two figures of each row and finds the groups with the highest measure, or the groups with the most requests if the measure
// is latency. The second pass adds all figures and histograms of these groups.
func (r *reading) sum(ctx context.Context) error {
	conditions, all := r.q.Conditions(), &grouping{}
	if len(r.q.Within) > 0 {
		conditions = append(conditions, report.Condition{Dimension: r.q.By, Values: r.q.Within})
	}
	sel := newSelection(r.q.By, r.q.Then, conditions...)
	limited, measure, limit := r.q.By != "" && r.q.Limit > 0, cmp.Or(r.q.Measure, report.Spend), r.q.Limit
	if measure == report.Latency { // rank by requests, because merging the histograms of all groups takes too long
		measure, limit = report.Requests, max(limit, report.LatencyGroups)
	}
	if limited {
		for _, t := range r.tables {
			if err := cmp.Or(ctx.Err(), all.each(t, sel, func(i int, to *group) error {
				amount, requests := t.weigh(i, measure)
				to.measure += amount
				to.requests += requests
				return nil
			})); err != nil {
				return err
			}
		}
		top := all.top(limit, r.q.Then != "")
		values := map[string]bool{}
		for _, g := range top {
			g.sums()
			values[g.by] = true
		}
		sel.conditions = append(sel.conditions, condition{dimension: r.q.By, values: values})
	}
	for _, t := range r.tables {
		if err := cmp.Or(ctx.Err(), all.each(t, sel, func(i int, to *group) error {
			if limited && to.row == nil {
				return nil
			}
			return t.addTo(i, to.sums())
		})); err != nil {
			return err
		}
	}
	for _, g := range all.groups {
		if g.row != nil {
			r.found.Rows = append(r.found.Rows, *g.row)
		}
	}
	slices.SortFunc(r.found.Rows, func(a, b report.Row) int { return cmp.Or(strings.Compare(a.By, b.By), strings.Compare(a.Then, b.Then)) })
	return nil
}

func (r *reading) read(ctx context.Context, tx *sql.Tx) error {
	from, err := r.begin(ctx, tx)
	if err != nil || !from.Before(r.q.To) {
		return err
	}
	if len(r.needed) > 2 || r.selective() {
		exact, err := r.facts(ctx, tx, from, r.q.To, len(r.needed) > 2)
		if err != nil || exact || r.found.Sampled {
			return err
		}
	}
	const day = 24 * time.Hour
	low, high := from.Truncate(day), r.q.To.Truncate(day)
	if !low.Equal(from) {
		low = low.Add(day)
	}
	if low.After(high) {
		low, high = r.q.To, r.q.To
	}
	if err := r.days(ctx, tx, low, high); err != nil {
		return err
	}
	if !r.found.Kept && r.q.By == "" { // a total must be exact, so read facts
		r.tables, r.found.Kept = nil, true
		_, err := r.facts(ctx, tx, from, r.q.To, true)
		return err
	}
	for _, part := range [][2]time.Time{{from, low}, {high, r.q.To}} {
		if err := r.blocks(ctx, tx, "report_facts", "1", part[0], part[1]); err != nil {
			return err
		}
		if err := r.blocks(ctx, tx, "report_chunks", "1", part[0], part[1]); err != nil {
			return err
		}
	}
	return r.blocks(ctx, tx, "report_waiting", "1", from, r.q.To)
}

// selective reports whether the filter has end users or sessions. Only a few chunks contain requests that match such a filter.
func (r *reading) selective() bool { return len(r.q.User)+len(r.q.Session) > 0 }

// facts reads all facts of a range that can match the filter, and returns true. If sample is false, and there are too many facts or some
// are already deleted, it reads nothing and returns false. If sample is true, it skips the days with deleted facts; if there are too many
// facts, it then reads the sample instead and returns false.
func (r *reading) facts(ctx context.Context, tx *sql.Tx, from, to time.Time, sample bool) (exact bool, err error) {
	if oldest := r.store.db.Now().Add(24*time.Hour - report.FactAge).Truncate(24 * time.Hour); from.Before(oldest) {
		if !sample {
			return false, nil
		}
		from, r.found.Since = oldest, oldest
	}
	chunks, count, err := r.candidates(ctx, tx, from, to)
	if err != nil {
		return false, err
	}
	switch {
	case count <= r.store.Facts && r.selective():
		for start, numbers := range chunks {
			for some := range slices.Chunk(numbers, sqldb.DeleteBatch) {
				w := r.where(from, to)
				w.And("start = %s", start)
				w.Conds = append(w.Conds, "number in ("+strings.Join(some, ",")+")")
				if err := r.load(ctx, tx, `select start, 1, data from report_chunks where `+w.String(), w.Args, from, to); err != nil {
					return false, err
				}
			}
		}
	case count <= r.store.Facts:
		err = r.blocks(ctx, tx, "report_chunks", "1", from, to)
	case !sample:
		return false, nil
	default:
		r.found.Sampled = true
		err = r.blocks(ctx, tx, "report_samples", "weight", from, to)
	}
	for _, table := range []string{"report_facts", "report_waiting"} {
		if err == nil {
			err = r.blocks(ctx, tx, table, "1", from, to)
		}
	}
	return !r.found.Sampled, err
}

// candidates returns the chunks that can contain matching requests, by day, and the total number of facts in these chunks.
func (r *reading) candidates(ctx context.Context, tx *sql.Tx, from, to time.Time) (chunks map[int64][]string, count int64, err error) {
	w := r.where(from, to)
	if len(r.q.User) > 0 {
		users := requestlog.Terms(r.q.User)
		w.And("low <= %s", slices.Max(users))
		w.And("high >= %s", slices.Min(users))
	}
	sessions, column := requestlog.Terms(r.q.Session), "''"
	if len(sessions) > 0 {
		column = "sessions"
	}
	chunks = map[int64][]string{}
	rows, err := tx.QueryContext(ctx, `select start, number, facts, `+column+` from report_chunks where `+w.String(), w.Args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	err = sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var start, number, facts int64
		var hashes sql.RawBytes
		if err := row.Scan(&start, &number, &facts, &hashes); err != nil {
			return err
		}
		if len(sessions) == 0 || hasSession(hashes, sessions) {
			chunks[start] = append(chunks[start], strconv.FormatInt(number, 10))
			count += facts
		}
		return nil
	})
	return chunks, count, err
}

// where returns the condition on workspace, days and classes.
func (r *reading) where(from, to time.Time) *sqldb.Where {
	w := &sqldb.Where{}
	w.And("workspace_id = %s", r.q.WorkspaceID)
	w.And("start >= %s", from.Truncate(24*time.Hour).UnixMilli())
	w.And("start < %s", to.UnixMilli())
	r.classes(w)
	return w
}

// blocks reads the blocks of a range from a table.
func (r *reading) blocks(ctx context.Context, tx *sql.Tx, table, weight string, from, to time.Time) error {
	if !from.Before(to) {
		return nil
	}
	w := r.where(from, to)
	return r.load(ctx, tx, `select start, `+weight+`, data from `+table+` where `+w.String(), w.Args, from, to)
}

// load reads blocks with a statement that returns start, weight and data.
func (r *reading) load(ctx context.Context, tx *sql.Tx, q string, args []any, from, to time.Time) error {
	rows, err := tx.QueryContext(ctx, q, args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	return sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var millis, weight int64
		var data sql.RawBytes
		if err := row.Scan(&millis, &weight, &data); err != nil {
			return err
		}
		day := sqldb.FromMillis(millis).Truncate(24 * time.Hour)
		if start := sqldb.FromMillis(millis); start.After(day) && !start.Add(time.Hour).After(from) {
			return nil // the hour ends before the range
		}
		b, err := r.store.parse(data)
		if err != nil {
			return err
		}
		minute := func(t time.Time) uint64 {
			return uint64(min(max((t.Sub(day)+time.Minute-1)/time.Minute, 0), dayMinutes)) //nolint:gosec // the number of minutes is never negative
		}
		b.from, b.to, b.weight = minute(from.Truncate(time.Minute)), minute(to), weight
		r.tables = append(r.tables, b)
		return nil
	})
}

// begin returns the start of the range, or the time since which figures are stored if that is later.
func (r *reading) begin(ctx context.Context, tx *sql.Tx) (time.Time, error) {
	since, err := sqldb.Column[int64](ctx, tx, `select since from report_since where workspace_id = $1`, r.q.WorkspaceID)
	if err != nil {
		return time.Time{}, err
	}
	from := r.q.From
	for _, millis := range since {
		if at := sqldb.FromMillis(millis); at.After(from) {
			from, r.found.Since = at, at
		}
	}
	if from.Before(r.store.db.Now().Add(24*time.Hour - report.FactAge)) { // read the sums of the first day, as its facts may be deleted
		from = from.Truncate(24 * time.Hour)
	}
	return from, nil
}

// classes adds the condition on the classes that a query selects.
func (r *reading) classes(w *sqldb.Where) {
	var list []string
	for class := range 4 {
		simulated, playground := class&classSimulated != 0, class&classPlayground != 0
		if (r.q.Simulated == nil || *r.q.Simulated == simulated) && (r.q.Source == "" || (r.q.Source == requestlog.SourcePlayground) == playground) {
			list = append(list, strconv.Itoa(class))
		}
	}
	w.Conds = append(w.Conds, "class in ("+strings.Join(list, ",")+")")
}

// dayPlace identifies one day of one class of requests (see place).
type dayPlace struct{ start, class int64 }

// days adds the sums of whole days.
func (r *reading) days(ctx context.Context, tx *sql.Tx, from, to time.Time) error {
	if !from.Before(to) {
		return nil
	}
	g := grain{report.Model}
	switch len(r.needed) {
	case 1:
		g = newGrain(r.needed[0], "")
	case 2:
		g = newGrain(r.needed[0], r.needed[1])
	}
	wanted := []string{g.String()}
	_, tagA := g[0].Tag()
	_, tagB := g[1].Tag()
	if tagA || tagB { // if a day has no sums for the tag, they are derived from other sums
		wanted = append(wanted, string(report.Model), string(g[0]), otherTags)
		if g[1] != "" {
			wanted = append(wanted, string(g[1]))
		}
	}
	w := &sqldb.Where{}
	w.And("workspace_id = %s", r.q.WorkspaceID)
	w.In("grain", wanted)
	w.And("start >= %s", from.UnixMilli())
	w.And("start < %s", to.UnixMilli())
	r.classes(w)
	if !tagA && !tagB {
		rows, err := tx.QueryContext(ctx, `select data from report_days where `+w.String(), w.Args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
		return sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var data sql.RawBytes
			if err := row.Scan(&data); err != nil {
				return err
			}
			plain, err := r.store.codec.AppendUnpacked(nil, data) // a copy, because the next row overwrites data
			if err != nil {
				return err
			}
			return r.addDay(g, plain)
		})
	}
	stored := map[dayPlace]map[string][]byte{}
	rows, err := tx.QueryContext(ctx, `select start, class, grain, data from report_days where `+w.String(), w.Args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	if err := sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var at dayPlace
		var name string
		var data []byte
		if err := row.Scan(&at.start, &at.class, &name, &data); err != nil {
			return err
		}
		if stored[at] == nil {
			stored[at] = map[string][]byte{}
		}
		stored[at][name] = data
		return nil
	}); err != nil {
		return err
	}
	for _, grains := range stored {
		if err := r.addTagged(g, grains); err != nil {
			return err
		}
	}
	return nil
}

// addTagged adds the sums of one day for a grain that contains a tag.
func (r *reading) addTagged(g grain, stored map[string][]byte) error {
	var unpackErr error
	unpack := func(name string) ([]byte, bool) {
		data, ok := stored[name]
		if !ok {
			return nil, false
		}
		plain, err := r.store.codec.Unpack(data)
		if err != nil {
			unpackErr = err
		}
		return plain, err == nil
	}
	if plain, ok := unpack(g.String()); ok {
		return r.addDay(g, plain)
	}
	d := &day{}
	if err := d.fromOther(g, unpack); err != nil || unpackErr != nil {
		return fmt.Errorf("%w%w", err, unpackErr)
	}
	if _, other := stored[otherTags]; other { // the tag may be one for which the day keeps no sums
		for _, one := range d.groups {
			d.rest.Merge(&one.sums().Sums)
		}
		d.groups = nil
	}
	return r.addDay(g, d.encode())
}

// addDay adds the sums of a day.
func (r *reading) addDay(g grain, data []byte) error {
	d, err := parseDay(g, data)
	if err != nil {
		return err
	}
	r.found.Kept = r.found.Kept && d.rest.Requests == 0
	r.tables = append(r.tables, d)
	return nil
}
