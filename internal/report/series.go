package report

import (
	"context"
	"time"

	"fairlead.dev/internal/requestlog"
)

// Series holds the figures of a query over time, grouped by its first dimension.
type Series struct {
	From, To time.Time
	Step     time.Duration  // width of a bin; days in a zone can be an hour longer or shorter
	Zone     *time.Location // time zone of daily bins; nil for UTC
	Groups   []string       // values with the highest measure in the whole range
	Bins     []Bin
}

// Bin contains the figures of one time interval.
type Bin struct {
	Start  time.Time
	Total  requestlog.Figures
	Groups []requestlog.Figures // figures of the groups, in the order of Series.Groups
}

// Series runs a query for each bin of its range. It ignores the second grouping level. Each bin needs a separate query, so the bin
// width is chosen to get at most about a hundred bins. Daily bins begin at midnight in zone if the whole range has hourly buckets, and the
// query is not grouped by key or member and uses at most one dimension, which the overview roll-ups contain. Otherwise they begin at
// midnight UTC, like the other roll-ups.
func (s *Source) Series(ctx context.Context, q Query, zone *time.Location, now time.Time) (*Series, error) {
	q.Then = ""
	whole, err := s.Run(ctx, q, now)
	if err != nil {
		return nil, err
	}
	q.round(now)
	width := bucketWidth(now.Sub(q.From))
	r := &Series{From: q.From, To: q.To, Step: max(stepFor(q.To.Sub(q.From)), width)}
	start, next := q.From.Truncate(r.Step), func(t time.Time) time.Time { return t.Add(r.Step) }
	if needed := q.Needed(); r.Step == day && width < day && zone != nil && rolledOnly(needed) && len(needed) <= 1 && q.By != Key && q.By != Member {
		r.Zone = zone
		start, next = requestlog.DayStart(q.From, zone), func(t time.Time) time.Time { return requestlog.NextDay(t, zone) }
	}
	index := map[string]int{}
	for i := range whole.Groups {
		index[whole.Groups[i].Value] = i
		r.Groups = append(r.Groups, whole.Groups[i].Value)
	}
	for ; start.Before(q.To); start = next(start) {
		part := q
		if start.After(part.From) {
			part.From = start
		}
		if end := next(start); end.Before(part.To) {
			part.To = end
		}
		groups := part
		groups.Limit = 0
		if q.By != Member { // Within does not support members, because their rows may be grouped by key
			groups.Within = r.Groups
		}
		part.By = ""
		all, err := s.read(ctx, &part)
		if err != nil {
			return nil, err
		}
		bin := Bin{Start: start, Total: all.total(), Groups: make([]requestlog.Figures, len(r.Groups))}
		if len(r.Groups) > 0 {
			found, err := s.read(ctx, &groups)
			if err != nil {
				return nil, err
			}
			for _, n := range s.groups(found.Rows, q.By, false) {
				if i, ok := index[n.value]; ok {
					bin.Groups[i] = n.sums.Total()
				}
			}
		}
		r.Bins = append(r.Bins, bin)
	}
	return r, nil
}

// stepFor returns the width of the bins for a range.
func stepFor(span time.Duration) time.Duration {
	switch {
	case span <= 90*time.Minute:
		return time.Minute
	case span <= 8*time.Hour:
		return 5 * time.Minute
	case span <= 3*day+time.Hour:
		return time.Hour
	case span <= 100*day:
		return day
	}
	return 7 * day
}
