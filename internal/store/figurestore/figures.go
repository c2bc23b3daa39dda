package figurestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// MaxBuckets is the maximum number of buckets in a series.
const MaxBuckets = 3000

// segment is a time span read from one roll-up table.
type segment struct {
	unit     unit
	from, to time.Time
}

// segments divides a time range into segments. It uses the coarsest buckets that fit, and finer buckets at the two ends if they are
// still stored. Otherwise it extends the range to whole coarse buckets. Units are given coarsest first.
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
	if !low.Before(high) { // the range contains no whole bucket, so use finer buckets
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

// coarsest returns the dimensions of the smallest set of roll-up rows that can be filtered by f and grouped by the given
// dimensions.
func coarsest(f *requestlog.RollupFilter, by rollupDimensions) rollupDimensions {
	needed := by
	for _, filtered := range []struct {
		values []string
		needs  rollupDimensions
	}{{f.Key, dimensionKey}, {f.Model, dimensionModel}, {f.Provider, dimensionProvider}, {f.Policy, dimensionPolicy}} {
		switch {
		case len(filtered.values) == 0, needed == filtered.needs:
		case needed == dimensionsNone:
			needed = filtered.needs
		default:
			return dimensionsAll
		}
	}
	return needed
}

// eachFigure calls fn for every roll-up row that the filter selects in the segments. The rows are separated at least by the given
// dimensions.
func (s *Store) eachFigure(ctx context.Context, f *requestlog.RollupFilter, by rollupDimensions, spans []segment, fn func(*figureRow)) error {
	for _, span := range spans {
		if err := s.segmentFigures(ctx, f, by, span, fn); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) segmentFigures(ctx context.Context, f *requestlog.RollupFilter, by rollupDimensions, span segment, fn func(*figureRow)) error {
	w := &sqldb.Where{}
	w.And("workspace_id = %s", f.WorkspaceID)
	w.And("grain = %s", string(coarsest(f, by)))
	w.And("start >= %s", span.from.UnixMilli())
	w.And("start < %s", span.to.UnixMilli())
	w.In("key_id", requestlog.Terms(f.Key))
	w.In("model", requestlog.Terms(f.Model))
	w.In("provider", requestlog.Terms(f.Provider))
	w.In("policy", requestlog.Terms(f.Policy))
	if f.Simulated != nil {
		w.And("simulated = %s", sqldb.Flag(*f.Simulated))
	}
	if f.Source != "" {
		w.And("playground = %s", sqldb.Flag(f.Source == requestlog.SourcePlayground))
	}
	columns := strings.Join(slices.Concat([]string{"start", "key_id", "model", "provider", "policy"}, countColumns(), histogramColumns()), ",")
	q := fmt.Sprintf("select %s from %s where %s", columns, span.unit.table(), w)
	if s.db.Dialect() == sqldb.Postgres { // include the rows that are queued for the roll-up
		q += fmt.Sprintf(" union all select %s from rollup_waiting where unit = '%s' and %s", columns, span.unit.table(), w)
	}
	rows, err := s.db.Query(ctx, q, w.Args...) //nolint:rowserrcheck // sqldb.Each checks rows.Err
	return sqldb.Each(rows, err, func(row sqldb.Scanner) error {
		var r figureRow
		var start int64
		if err := scanSums(row, &r.sums, &start, &r.key, &r.model, &r.provider, &r.policy); err != nil {
			return err
		}
		r.start = sqldb.FromMillis(start)
		fn(&r)
		return nil
	})
}

// scanSums scans the first columns of a row into first, and the counts and histograms that follow into s.
func scanSums(row sqldb.Scanner, s *requestlog.Sums, first ...any) error {
	var latency, ttft string
	f := &s.Figures
	if err := row.Scan(append(first,
		&f.Requests, &f.Served, &f.Attempts, &f.Failed, &f.Errors, &f.Rejected, &f.Expected, &f.Fallbacks, &f.Policies, &f.Priced, &f.Compared,
		&f.Cost, &f.ComparedCost, &f.BaselineCost, &f.InputTokens, &f.CachedTokens, &f.OutputTokens, &f.CacheHits, &f.CacheSaved, &latency, &ttft)...); err != nil {
		return err
	}
	return mergeHistograms(s, latency, ttft)
}

// Series returns figures in buckets of a minute, an hour or a day, without gaps. Minutes are kept for two days; for a range that
// begins earlier, Series returns hours instead. Days of a zone other than UTC are summed from hours while the hours are kept. A
// range with more than MaxBuckets buckets, such as one without From, begins with the first request.
func (s *Store) Series(ctx context.Context, q requestlog.SeriesQuery) ([]requestlog.Bucket, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	from, to, units := span(&q.RollupFilter), s.until(&q.RollupFilter), []unit{days, hours, minutes}
	switch {
	case q.Step <= time.Minute && !from.Before(minutes.horizon(s.db.Now())):
		units = units[2:]
	case q.Step <= time.Hour:
		units = units[1:]
	}
	cut, width := units[0].floor, units[0].width()
	next := func(t time.Time) time.Time { return t.Add(width) }
	if units[0] == days && q.Zone != nil && !from.Before(hours.horizon(s.db.Now())) {
		units = units[1:]
		cut = func(t time.Time) time.Time { return requestlog.DayStart(t, q.Zone) }
		next = func(t time.Time) time.Time { return requestlog.NextDay(t, q.Zone) }
	}
	sums := map[time.Time]*requestlog.Sums{}
	first := from
	if to.Sub(from) > MaxBuckets*width {
		first = to
	}
	err := s.eachFigure(ctx, &q.RollupFilter, dimensionsNone, segments(from, to, s.db.Now(), units), func(r *figureRow) {
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
		return nil, requestlog.WrapTimeout(ctx, fmt.Errorf("read figures over time: %w", err))
	}
	if to.Sub(first) > MaxBuckets*width {
		return nil, TooManyBuckets()
	}
	var out []requestlog.Bucket
	for at := cut(first); at.Before(to) && len(out) <= MaxBuckets; at = next(at) {
		b := requestlog.Bucket{Start: at}
		if sum := sums[at]; sum != nil {
			b.Figures = sum.Total()
		}
		out = append(out, b)
	}
	return out, nil
}

// TooManyBuckets returns the error for a range with requests in more than MaxBuckets buckets.
func TooManyBuckets() error {
	return &llm.Error{Kind: llm.InvalidRequest, Param: "from", Message: fmt.Sprintf("The range has more than %d buckets. Choose a shorter range.", MaxBuckets)}
}

// span returns the start of the time range of a query.
func span(f *requestlog.RollupFilter) time.Time {
	if f.From.IsZero() {
		return time.UnixMilli(0).UTC()
	}
	return f.From.UTC()
}

// until returns the end of the time range of a query, or the current time if the range has no end.
func (s *Store) until(f *requestlog.RollupFilter) time.Time {
	if f.To.IsZero() {
		return minutes.ceil(s.db.Now()).Add(time.Minute)
	}
	return f.To.UTC()
}

// Breakdown sums entries by model, provider, key or policy, most requests first. It includes a model or provider that
// was tried but never served a request.
func (s *Store) Breakdown(ctx context.Context, q requestlog.BreakdownQuery) ([]requestlog.Group, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	by, name, err := dimension(q.By)
	if err != nil {
		return nil, err
	}
	sums := map[string]*requestlog.Sums{}
	spans := segments(span(&q.RollupFilter), s.until(&q.RollupFilter), s.db.Now(), []unit{days, hours, minutes})
	if err := s.eachFigure(ctx, &q.RollupFilter, by, spans, func(r *figureRow) {
		key := name(r)
		if sums[key] == nil {
			sums[key] = &requestlog.Sums{}
		}
		sums[key].Merge(&r.sums)
	}); err != nil {
		return nil, requestlog.WrapTimeout(ctx, fmt.Errorf("read figures by %s: %w", q.By, err))
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

// dimension returns the dimension to group by and a function that returns its value in a row.
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
	return "", nil, &llm.Error{Kind: llm.InvalidRequest, Param: "by", Message: fmt.Sprintf("Cannot break down by %q. Use model, provider, key or policy.", by)}
}
