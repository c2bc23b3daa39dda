package store

import (
	"context"
	"fmt"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// volumes are counts by the start of their bucket.
type volumes map[time.Time]*requestlog.Volume

func (v volumes) at(start time.Time) *requestlog.Volume {
	if v[start] == nil {
		v[start] = &requestlog.Volume{Start: start}
	}
	return v[start]
}

// first is the start of the first bucket; without any, the end.
func (v volumes) first(end time.Time) time.Time {
	for start := range v {
		if start.Before(end) {
			end = start
		}
	}
	return end
}

// Volumes counts matching entries in buckets of time. It reads the entries themselves, because roll-ups do not know most
// of what a filter can ask for. Like a series, it begins with the first entry when there would be too many buckets.
func (db *DB) Volumes(ctx context.Context, q requestlog.VolumeQuery) ([]requestlog.Volume, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	timeless, b := db.within(&q.Filter, requestlog.Page{})
	all := volumes{}
	cut, next := cutter(&q)
	err := db.search(ctx, q.WorkspaceID, b, q.Within, func(ctx context.Context, part bounds) (bool, error) {
		some, err := db.volumesOf(ctx, &timeless, part, cut)
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
		err = slow(ctx, fmt.Errorf("count requests over time: %w", err))
	}
	first := q.From
	if q.To.Sub(first) > maxBuckets*q.Step {
		first = all.first(q.To)
	}
	if q.To.Sub(first) > maxBuckets*q.Step {
		return nil, tooManyBuckets()
	}
	var out []requestlog.Volume
	for at := cut(first); at.Before(q.To); at = next(at) {
		out = append(out, *all.at(at))
	}
	return out, err
}

// cutter says where the buckets of a query begin: the one of a moment, and the one after it.
func cutter(q *requestlog.VolumeQuery) (cut, next func(time.Time) time.Time) {
	if q.Step == days.width && q.Zone != nil {
		return func(t time.Time) time.Time { return requestlog.DayStart(t, q.Zone) },
			func(t time.Time) time.Time { return requestlog.NextDay(t, q.Zone) }
	}
	return func(t time.Time) time.Time { return t.UTC().Truncate(q.Step) }, func(t time.Time) time.Time { return t.Add(q.Step) }
}

// volumesOf counts the entries of one part.
func (db *DB) volumesOf(ctx context.Context, f *requestlog.Filter, b bounds, cut func(time.Time) time.Time) (volumes, error) {
	w := &Where{}
	db.match(w, f)
	w.Conds = append(w.Conds, b.conds(w, "r.id")...)
	rows, err := db.Query(ctx, `select r.id, r.outcome, r.decision from requests r where `+w.String(), w.Args...)
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
			continue // not an id of ours: nobody knows when it was
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
