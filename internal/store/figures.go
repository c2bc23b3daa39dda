package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// maxBuckets bounds how many buckets one series may have.
const maxBuckets = 3000

// segment is a span of time that is read from one roll-up table.
type segment struct {
	unit     unit
	from, to time.Time
}

// segments covers a span with the coarsest rows that fit, and its ends with finer ones where those are still kept.
// Where they are not, the span grows to whole coarse buckets. Units are given coarsest first.
func segments(from, to, now time.Time, units []unit) []segment {
	if !from.Before(to) {
		return nil
	}
	u := units[0]
	low, high := u.ceil(from), u.floor(to)
	finer := len(units) > 1
	if !finer || from.Before(units[1].horizon(now)) {
		low = u.floor(from)
	}
	if !finer || high.Before(units[1].horizon(now)) {
		high = u.ceil(to)
	}
	if !low.Before(high) { // no whole bucket fits, and finer rows are there
		return segments(from, to, now, units[1:])
	}
	var out []segment
	if from.Before(low) {
		out = append(out, segments(from, low, now, units[1:])...)
	}
	out = append(out, segment{u, low, high})
	if high.Before(to) {
		out = append(out, segments(high, to, now, units[1:])...)
	}
	return out
}

// figureRow is one row of a roll-up table.
type figureRow struct {
	start                        time.Time
	key, model, provider, policy string
	sums                         requestlog.Sums
}

// coarsest is the grain with the fewest rows that still tells apart what the filter selects and by which it is summed up.
func coarsest(f *requestlog.RollupFilter, by rollupDimensions) rollupDimensions {
	needed := by
	for _, filtered := range []struct {
		values []string
		grain  rollupDimensions
	}{{f.Key, dimensionKey}, {f.Model, dimensionModel}, {f.Provider, dimensionProvider}, {f.Policy, dimensionPolicy}} {
		switch {
		case len(filtered.values) == 0, needed == filtered.grain:
		case needed == dimensionsNone:
			needed = filtered.grain
		default:
			return dimensionsAll
		}
	}
	return needed
}

// eachFigure calls fn for every roll-up row that the filter selects in the segments. Rows tell apart what is in by.
func (db *DB) eachFigure(ctx context.Context, f *requestlog.RollupFilter, by rollupDimensions, spans []segment, fn func(*figureRow)) error {
	for _, s := range spans {
		if err := db.segmentFigures(ctx, f, by, s, fn); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) segmentFigures(ctx context.Context, f *requestlog.RollupFilter, by rollupDimensions, s segment, fn func(*figureRow)) error {
	w := &Where{}
	w.And("workspace_id = %s", f.WorkspaceID)
	w.And("grain = %s", string(coarsest(f, by)))
	w.And("start >= %s", s.from.UnixMilli())
	w.And("start < %s", s.to.UnixMilli())
	w.In("key_id", f.Key)
	w.In("model", f.Model)
	w.In("provider", f.Provider)
	w.In("policy", f.Policy)
	if f.Simulated != nil {
		w.And("simulated = %s", Flag(*f.Simulated))
	}
	if f.Source != "" {
		w.And("playground = %s", Flag(f.Source == requestlog.SourcePlayground))
	}
	rows, err := db.Query(ctx, db.rollupSelect(s.unit, w), w.Args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r figureRow
		var start int64
		if err := scanSums(rows, &r.sums, &start, &r.key, &r.model, &r.provider, &r.policy); err != nil {
			return err
		}
		r.start = FromMillis(start)
		fn(&r)
	}
	return rows.Err()
}

// scanSums reads a row that begins with some columns of the caller's and ends with all counts and histograms.
func scanSums(row Scanner, s *requestlog.Sums, first ...any) error {
	var latency, ttft string
	f := &s.Figures
	if err := row.Scan(append(first,
		&f.Requests, &f.Served, &f.Attempts, &f.Failed, &f.Errors, &f.Rejected, &f.Expected, &f.Fallbacks, &f.Policies, &f.Priced, &f.Compared,
		&f.Cost, &f.ComparedCost, &f.BaselineCost, &f.InputTokens, &f.CachedTokens, &f.OutputTokens, &latency, &ttft)...); err != nil {
		return err
	}
	return mergeHistograms(s, latency, ttft)
}

// rollupSelect makes the statement that reads the rows of a roll-up table, and those that wait to be folded in.
func (db *DB) rollupSelect(u unit, w *Where) string {
	columns := strings.Join(slices.Concat([]string{"start", "key_id", "model", "provider", "policy"}, rollupCounts, rollupHistograms), ",")
	q := fmt.Sprintf("select %s from %s where %s", columns, u.table, w)
	if db.dialect == Postgres {
		q += fmt.Sprintf(" union all select %s from rollup_waiting where unit = '%s' and %s", columns, u.table, w)
	}
	return q
}

// Series sums entries up in buckets of a minute, an hour or a day, without gaps. Minutes are kept for two days: a span
// that begins earlier has hours instead. Days of another zone than UTC are summed up from hours, as long as those are
// retention. With more buckets than a series may have, as without From, it begins with the first request.
func (db *DB) Series(ctx context.Context, q requestlog.SeriesQuery) ([]requestlog.Bucket, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	from, to, units := db.span(&q.RollupFilter), db.until(&q.RollupFilter), []unit{days, hours, minutes}
	switch {
	case q.Step <= time.Minute && !from.Before(minutes.horizon(db.now())):
		units = units[2:]
	case q.Step <= time.Hour:
		units = units[1:]
	}
	cut, width := units[0].floor, units[0].width
	next := func(t time.Time) time.Time { return t.Add(width) }
	if units[0] == days && q.Zone != nil && !from.Before(hours.horizon(db.now())) {
		units = units[1:]
		cut = func(t time.Time) time.Time { return requestlog.DayStart(t, q.Zone) }
		next = func(t time.Time) time.Time { return requestlog.NextDay(t, q.Zone) }
	}
	sums := map[time.Time]*requestlog.Sums{}
	first := from
	if to.Sub(from) > maxBuckets*width {
		first = to
	}
	err := db.eachFigure(ctx, &q.RollupFilter, dimensionsNone, segments(from, to, db.now(), units), func(r *figureRow) {
		at := cut(r.start)
		if sums[at] == nil {
			sums[at] = &requestlog.Sums{}
		}
		sums[at].Merge(&r.sums)
		if at.Before(first) {
			first = at
		}
	})
	if err != nil {
		return nil, slow(ctx, fmt.Errorf("read figures over time: %w", err))
	}
	if to.Sub(first) > maxBuckets*width {
		return nil, tooManyBuckets()
	}
	return fill(sums, cut(first), to, next), nil
}

// tooManyBuckets refuses a range with requests in more buckets than an answer may have.
func tooManyBuckets() error {
	return &llm.Error{Kind: llm.InvalidRequest, Param: "from", Message: fmt.Sprintf("More than %d buckets; choose a shorter range.", maxBuckets)}
}

// fill returns every bucket from first to last; those without requests have zeros.
func fill(sums map[time.Time]*requestlog.Sums, first, to time.Time, next func(time.Time) time.Time) []requestlog.Bucket {
	var out []requestlog.Bucket
	for at := first; at.Before(to) && len(out) <= maxBuckets; at = next(at) {
		b := requestlog.Bucket{Start: at}
		if s := sums[at]; s != nil {
			b.Figures = s.Total()
		}
		out = append(out, b)
	}
	return out
}

// span is where a query begins.
func (db *DB) span(f *requestlog.RollupFilter) time.Time {
	if f.From.IsZero() {
		return time.UnixMilli(0).UTC()
	}
	return f.From.UTC()
}

// until is where a query ends: without To, with what is there now.
func (db *DB) until(f *requestlog.RollupFilter) time.Time {
	if f.To.IsZero() {
		return minutes.ceil(db.now()).Add(time.Minute)
	}
	return f.To.UTC()
}

// Breakdown sums entries up by model, provider, key or policy, most requests first. A model or provider that was tried
// And never served is there too.
func (db *DB) Breakdown(ctx context.Context, q requestlog.BreakdownQuery) ([]requestlog.Group, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	by, name, err := dimension(q.By)
	if err != nil {
		return nil, err
	}
	sums := map[string]*requestlog.Sums{}
	spans := segments(db.span(&q.RollupFilter), db.until(&q.RollupFilter), db.now(), []unit{days, hours, minutes})
	if err := db.eachFigure(ctx, &q.RollupFilter, by, spans, func(r *figureRow) {
		key := name(r)
		if sums[key] == nil {
			sums[key] = &requestlog.Sums{}
		}
		sums[key].Merge(&r.sums)
	}); err != nil {
		return nil, slow(ctx, fmt.Errorf("read figures by %s: %w", q.By, err))
	}
	groups := make([]requestlog.Group, 0, len(sums))
	for key, s := range sums {
		groups = append(groups, requestlog.Group{Name: key, Figures: s.Total()})
	}
	slices.SortFunc(groups, func(a, b requestlog.Group) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(b.Attempts, a.Attempts), cmp.Compare(a.Name, b.Name))
	})
	if q.Limit > 0 && len(groups) > q.Limit {
		groups = groups[:q.Limit]
	}
	return groups, nil
}

// dimension is the grain to break down by, and how to read its value from a row.
func dimension(by string) (rollupDimensions, func(*figureRow) string, error) {
	switch by {
	case "":
		return dimensionsNone, func(*figureRow) string { return "" }, nil
	case "model":
		return dimensionModel, func(r *figureRow) string { return r.model }, nil
	case "provider":
		return dimensionProvider, func(r *figureRow) string { return r.provider }, nil
	case "key":
		return dimensionKey, func(r *figureRow) string { return r.key }, nil
	case "policy":
		return dimensionPolicy, func(r *figureRow) string { return r.policy }, nil
	}
	return "", nil, &llm.Error{Kind: llm.InvalidRequest, Param: "by", Message: fmt.Sprintf("Cannot break down by %q; use model, provider, key or policy.", by)}
}
