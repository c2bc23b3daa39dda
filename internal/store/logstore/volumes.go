package logstore

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store/figurestore"
)

// volumes maps the start of each bucket to its counts.
type volumes map[time.Time]*requestlog.Volume

func (v volumes) at(start time.Time) *requestlog.Volume {
	if v[start] == nil {
		v[start] = &requestlog.Volume{Start: start}
	}
	return v[start]
}

// Volumes counts matching entries in buckets of time. It reads the entries, because roll-ups lack most of the columns that filters use.
// If the period has too many buckets, the result begins with the bucket of the first entry.
func (s *Store) Volumes(ctx context.Context, q requestlog.VolumeQuery) ([]requestlog.Volume, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	if err := requestlog.RejectText(&q.Filter); err != nil {
		return nil, err
	}
	timeless, b := s.query().Within(&q.Filter, requestlog.Page{})
	all := volumes{}
	// cut returns the start of the bucket that contains a time, and next the start of the following bucket.
	cut := func(t time.Time) time.Time { return t.UTC().Truncate(q.Step) }
	next := func(t time.Time) time.Time { return t.Add(q.Step) }
	if q.Step == 24*time.Hour && q.Zone != nil {
		cut = func(t time.Time) time.Time { return requestlog.DayStart(t, q.Zone) }
		next = func(t time.Time) time.Time { return requestlog.NextDay(t, q.Zone) }
	}
	err := s.search(ctx, q.WorkspaceID, b, q.Within, func(ctx context.Context, part idBounds) (bool, error) {
		some, err := s.volumesOf(ctx, &timeless, part, cut)
		if err != nil {
			return false, err
		}
		for start, v := range some {
			sum := all.at(start)
			sum.Requests += v.Requests
			sum.Errors += v.Errors
			sum.Fallbacks += v.Fallbacks
		}
		return false, nil
	})
	if err != nil {
		err = requestlog.WrapTimeout(ctx, fmt.Errorf("count requests over time: %w", err))
	}
	first := q.From
	if q.To.Sub(first) > figurestore.MaxBuckets*q.Step {
		first = q.To
		for start := range all {
			if start.Before(first) {
				first = start
			}
		}
	}
	if q.To.Sub(first) > figurestore.MaxBuckets*q.Step {
		return nil, figurestore.TooManyBuckets()
	}
	var out []requestlog.Volume
	for at := cut(first); at.Before(q.To); at = next(at) {
		out = append(out, *all.at(at))
	}
	return out, err
}

// volumesOf counts the entries within the bounds.
func (s *Store) volumesOf(ctx context.Context, f *requestlog.Filter, b idBounds, cut func(time.Time) time.Time) (volumes, error) {
	w := s.query().Where(f, b)
	rows, err := s.db.Query(ctx, `select r.id, r.outcome, r.decision from requests r where `+w.String(), w.Args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	counted := volumes{}
	for rows.Next() {
		var name, outcome, decision string
		if err := rows.Scan(&name, &outcome, &decision); err != nil {
			return nil, err
		}
		at, ok := id.Time(name)
		if !ok {
			continue // an id without a time
		}
		v := counted.at(cut(at))
		v.Requests++
		if requestlog.Outcome(outcome).IsError() {
			v.Errors++
		}
		if decision == string(route.Fallback) {
			v.Fallbacks++
		}
	}
	return counted, rows.Err()
}
