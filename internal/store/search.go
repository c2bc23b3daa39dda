package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// within takes the span of time out of a filter, and joins it with where a page begins. One bound on each side is all
// that a database walks by; a second one it would only check, row by row.
func within(f *requestlog.Filter, p requestlog.Page) (requestlog.Filter, bounds) {
	b := bounds{high: p.Before, after: p.After, descending: p.After == ""}
	if !f.From.IsZero() {
		b.low = floorID(f.From)
	}
	if !f.To.IsZero() {
		if to := floorID(f.To); b.high == "" || to < b.high {
			b.high = to
		}
	}
	timeless := *f
	timeless.From, timeless.To = time.Time{}, time.Time{}
	return timeless, b
}

// walked reports whether an index leads from one matching entry to the next. A filter with several conditions, or with a
// text or a value that no index has, may have to pass over any number of others.
func walked(f *requestlog.Filter) bool {
	switch conditions := len(f.Values()); {
	case conditions == 0:
		return true
	case conditions > 1, f.Q != "":
		return false
	}
	return !slices.Contains(f.Outcome, string(requestlog.OK)) && !slices.Contains(f.Decision, string(route.Expected)) &&
		!slices.Contains(f.Status, usualStatus) && (f.Simulated == nil || *f.Simulated)
}

const (
	firstStretch = time.Minute
	shortLook    = 50 * time.Millisecond  // a look at a stretch that took no longer lets the next one be much longer
	longLook     = 200 * time.Millisecond // one that took longer lets it be as long, a few times
	fewLooks     = 4                      // after which stretches grow whatever a look takes, so that there is an end
)

// search looks through a span in stretches, the newest first, until look says that it is enough. Stretches grow, the
// faster the quicker a look is. When the time is up it ends with an UnfinishedError. Bounds given to look exclude each other.
func (db *DB) search(ctx context.Context, workspaceID string, b bounds, limit time.Duration, look func(bounds) (bool, error)) error {
	oldest, newest, err := db.ends(ctx, workspaceID, b)
	if err != nil || newest.IsZero() {
		return err
	}
	begun := time.Now()
	stretch := firstStretch
	for low, looks := newest, 1; ; looks++ {
		low = low.Add(-stretch)
		part := b
		last := !low.After(oldest)
		if !last {
			part.low = id.Floor("req", low)
		}
		start := time.Now()
		enough, err := look(part)
		if err != nil || enough || last {
			return err
		}
		if limit > 0 && time.Since(begun) > limit || ctx.Err() != nil {
			return &requestlog.UnfinishedError{Before: part.low}
		}
		switch took := time.Since(start); {
		case took < shortLook:
			stretch *= 4
		case took < longLook, looks >= fewLooks:
			stretch *= 2
		}
		b.high = part.low
	}
}

// ends returns when the oldest and the newest entry within the bounds were received; zero times when there are none.
func (db *DB) ends(ctx context.Context, workspaceID string, b bounds) (oldest, newest time.Time, err error) {
	w := &where{}
	w.and("r.workspace_id = %s", workspaceID)
	w.conds = append(w.conds, b.conds(w, "r.id")...)
	q := fmt.Sprintf(`select coalesce((select min(r.id) from requests r where %[1]s), ''), coalesce((select max(r.id) from requests r where %[1]s), '')`, w)
	var first, last string
	if err := db.queryRow(ctx, q, w.args...).Scan(&first, &last); err != nil || last == "" {
		return oldest, newest, err
	}
	oldest, okOldest := id.Time(first)
	newest, okNewest := id.Time(last)
	if !okOldest || !okNewest { // not ids of ours: the span is one stretch
		return db.now(), db.now(), nil
	}
	return oldest, newest, nil
}
