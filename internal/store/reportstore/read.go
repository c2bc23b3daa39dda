package reportstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/report"
	"fairlead/internal/requestlog"
	"fairlead/internal/store/sqldb"
)

// Slices implements report.Reader. A query with more than two dimensions in its groups and filters reads facts only, for at most
// report.MaxFactRange.
func (s *Store) Slices(ctx context.Context, q *report.Query) (report.Slices, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	needed := q.Needed()
	if len(needed) > 2 && q.To.Sub(q.From) > report.MaxFactRange+time.Hour {
		return report.Slices{}, &llm.Error{
			Kind: llm.InvalidRequest, Param: "from",
			Message: "A report with more than two dimensions in its groups and filters covers at most 7 days. Choose a shorter range, or remove a group or a filter.",
		}
	}
	r := &reading{store: s, q: q, needed: needed, found: report.Slices{Kept: true}, sums: sums{}}
	r.selection = selection{by: q.By, then: q.Then, conditions: q.Conditions()}
	if err := s.db.InSnapshot(ctx, func(tx *sql.Tx) error { return r.read(ctx, tx) }); err != nil {
		return report.Slices{}, requestlog.WrapTimeout(ctx, fmt.Errorf("read report: %w", err))
	}
	for _, row := range r.sums {
		r.found.Rows = append(r.found.Rows, *row)
	}
	slices.SortFunc(r.found.Rows, func(a, b report.Row) int {
		return strings.Compare(a.By+separator+a.Then, b.By+separator+b.Then)
	})
	return r.found, nil
}

// reading is one call of Slices.
type reading struct {
	store     *Store
	q         *report.Query
	needed    []report.Dimension
	selection selection
	sums      sums
	found     report.Slices
}

func (r *reading) read(ctx context.Context, tx *sql.Tx) error {
	from, err := r.begin(ctx, tx)
	if err != nil {
		return err
	}
	to := r.q.To
	if !from.Before(to) {
		return nil
	}
	const day = 24 * time.Hour
	low, high := from.Truncate(day), to.Truncate(day)
	if !low.Equal(from) {
		low = low.Add(day)
	}
	if len(r.needed) <= 2 && low.Before(high) {
		if err := r.days(ctx, tx, low, high); err != nil {
			return err
		}
	} else {
		low, high = to, to
	}
	for _, part := range []struct {
		table    string
		from, to time.Time
	}{{"report_facts", from, low}, {"report_facts", high, to}, {"report_waiting", from, to}} {
		if err := r.facts(ctx, tx, part.table, part.from, part.to); err != nil {
			return err
		}
	}
	return nil
}

// begin returns the start of the covered part of the range.
func (r *reading) begin(ctx context.Context, tx *sql.Tx) (time.Time, error) {
	since, err := sqldb.Column[int64](ctx, tx, `select since from report_since where workspace_id in ('', $1)`, r.q.WorkspaceID)
	if err != nil {
		return time.Time{}, err
	}
	from := r.q.From
	for _, millis := range since {
		if at := sqldb.FromMillis(millis); at.After(from) {
			from, r.found.Since = at, at
		}
	}
	if from.Before(r.store.db.Now().Add(24*time.Hour - report.FactAge)) { // the facts of the first day may be deleted; its sums begin at since
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

// facts adds the facts between two times from a table.
func (r *reading) facts(ctx context.Context, tx *sql.Tx, table string, from, to time.Time) error {
	if !from.Before(to) {
		return nil
	}
	w := &sqldb.Where{}
	w.And("workspace_id = %s", r.q.WorkspaceID)
	w.And("start >= %s", from.Truncate(time.Hour).UnixMilli())
	w.And("start < %s", to.UnixMilli())
	r.classes(w)
	rows, err := tx.QueryContext(ctx, `select start, data from `+table+` where `+w.String(), w.Args...) //nolint:rowserrcheck // Each checks it
	return sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var millis int64
		var data sql.RawBytes
		if err := row.Scan(&millis, &data); err != nil {
			return err
		}
		b, err := r.store.parse(data)
		if err != nil {
			return err
		}
		start := sqldb.FromMillis(millis)
		first, last := 0, 60
		if from.After(start) {
			first = int(from.Sub(start).Minutes())
		}
		if end := start.Add(time.Hour); to.Before(end) {
			last = int((to.Sub(start) + time.Minute - 1) / time.Minute)
		}
		return b.scan(&r.selection, first, last, r.sums)
	})
}

// dayPlace identifies a day of one class.
type dayPlace struct{ start, class int64 }

// days adds the sums of whole days.
func (r *reading) days(ctx context.Context, tx *sql.Tx, from, to time.Time) error {
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
	if tagA || tagB { // a day without the tag has no sums by it
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
		rows, err := tx.QueryContext(ctx, `select data from report_days where `+w.String(), w.Args...) //nolint:rowserrcheck // Each checks it
		return sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var data sql.RawBytes
			if err := row.Scan(&data); err != nil {
				return err
			}
			plain, err := r.store.codec.Unpack(data)
			if err != nil {
				return err
			}
			return r.addDay(g, plain)
		})
	}
	stored := map[dayPlace]map[string][]byte{}
	rows, err := tx.QueryContext(ctx, `select start, class, grain, data from report_days where `+w.String(), w.Args...) //nolint:rowserrcheck // Each checks it
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

// addTagged adds the sums of one day by a grain with a tag.
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
	d := &day{groups: sums{}}
	if err := d.fromOther(g, unpack); err != nil || unpackErr != nil {
		return fmt.Errorf("%w%w", err, unpackErr)
	}
	if _, other := stored[otherTags]; other { // the tag may be one of those that the day does not keep
		for _, row := range d.groups {
			d.rest.Merge(&row.Sums)
		}
		d.groups = sums{}
	}
	return r.addDay(g, d.encode())
}

// addDay adds the groups of a day that the filter selects.
func (r *reading) addDay(g grain, data []byte) error {
	var rest requestlog.Sums
	if err := eachGroup(data, &rest, func(_ []byte, a, b string, data []byte) ([]byte, error) {
		value := func(d report.Dimension) string {
			if d == "" {
				return ""
			}
			if d == g[0] {
				return a
			}
			return b
		}
		for i := range r.selection.conditions {
			c := &r.selection.conditions[i]
			if !matches(c, value(c.Dimension)) {
				return new(requestlog.Sums).MergeBinary(data)
			}
		}
		return r.sums.row(value(r.q.By), value(r.q.Then)).MergeBinary(data)
	}); err != nil {
		return err
	}
	if rest.Requests > 0 {
		r.found.Kept = false
		if len(r.selection.conditions) == 0 {
			r.found.Rest.Merge(&rest)
		}
	}
	return nil
}
