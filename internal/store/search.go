package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// within takes the span of time out of a filter, and joins it with where a page begins. One bound on each side is all
// that a database walks by; a second one it would only check, row by row.
func (db *DB) within(f *requestlog.Filter, p requestlog.Page) (requestlog.Filter, bounds) {
	b := bounds{low: db.entriesKept(), high: p.Before, after: p.After, descending: p.After == ""}
	if !f.From.IsZero() {
		b.low = max(b.low, floorID(f.From))
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
// text or a value that no index has, may have to pass over any number of others. So may figures in PostgreSQL, where walking
// one index for each class would mean one for each class of each day.
func (db *DB) walked(f *requestlog.Filter) bool {
	switch conditions := len(f.Values()); {
	case conditions == 0:
		return true
	case conditions > 1, f.Q != "", f.Source == requestlog.SourceKey, db.dialect == Postgres && len(figureParts(f)) > 1 && len(f.Status) == 0:
		return false
	}
	return !slices.Contains(f.Outcome, string(requestlog.OK)) && !slices.Contains(f.Decision, string(route.Expected)) &&
		!slices.Contains(f.Status, usualStatus) && !slices.Contains(f.Requested, usualName) && (f.Simulated == nil || *f.Simulated) &&
		f.Stream == nil && (f.MinSaved == nil && f.MaxSaved == nil || onlyLosses(f))
}

const (
	firstStretch = time.Minute
	shortLook    = 50 * time.Millisecond  // a look at a stretch that took no longer lets the next one be much longer
	longLook     = 200 * time.Millisecond // one that took longer lets it be as long, a few times
	fewLooks     = 4                      // after which stretches grow whatever a look takes, so that there is an end
	leastLook    = 50 * time.Millisecond  // what a look may take however little time there is
	shrink       = 16                     // how much shorter a stretch becomes whose look was given up
)

// look looks through a part of a span and says whether it is enough. It may be given up, and must then change nothing.
type look func(ctx context.Context, part bounds) (enough bool, err error)

// search looks through a span in stretches, the newest first, until it is enough. Stretches grow, the faster the quicker
// a look is. When the time is up it ends with an UnfinishedError; a look that is still under way then is given up. Parts
// exclude each other. However short the time is, a search that ends gets on: its first look is repeated with less and
// less to look at.
func (db *DB) search(ctx context.Context, workspaceID string, b bounds, limit time.Duration, look look) error {
	if limit <= 0 {
		limit = db.timeout * 3 / 4 // the rest is for reading what was found
	}
	oldest, newest, err := db.ends(ctx, workspaceID, b)
	if err != nil || newest.IsZero() {
		return err
	}
	return searchSpan(ctx, b, oldest, newest, limit, look)
}

// searchSpan is search with known ends.
func searchSpan(ctx context.Context, b bounds, oldest, newest time.Time, limit time.Duration, look look) error {
	begun, stretch, looks := time.Now(), firstStretch, 0
	for edge := newest; ; {
		low := edge.Add(-stretch)
		part, last := b, !low.After(oldest)
		if !last {
			part.low = id.Floor("req", low)
		}
		start := time.Now()
		enough, err := look.within(ctx, patience(limit, begun, looks, stretch), part)
		switch {
		case errors.Is(err, errGivenUp) && looks == 0:
			stretch = max(stretch/shrink, time.Millisecond)
			continue
		case errors.Is(err, errGivenUp):
			return &requestlog.UnfinishedError{Before: b.high}
		case err != nil || enough || last:
			return err
		case time.Since(begun) > limit:
			return &requestlog.UnfinishedError{Before: part.low}
		}
		looks++
		switch took := time.Since(start); {
		case took < shortLook:
			stretch *= 4
		case took < longLook, looks >= fewLooks:
			stretch *= 2
		}
		b.high, edge = part.low, low
	}
}

// patience is how long the next look may take: what is left, or at first a part of it, so that there is time for a
// shorter look. The shortest one has all the time there is.
func patience(limit time.Duration, begun time.Time, looks int, stretch time.Duration) time.Duration {
	if looks == 0 && stretch <= time.Millisecond {
		return 0
	}
	least := max(limit/4, leastLook)
	if looks == 0 {
		return least
	}
	return max(limit-time.Since(begun), least)
}

// errGivenUp says that a look took longer than it may.
var errGivenUp = errors.New("the look took too long")

// within is a look that is given up when it takes too long; 0 for never.
func (l look) within(ctx context.Context, patience time.Duration, part bounds) (bool, error) {
	if patience <= 0 {
		return l(ctx, part)
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	enough, err := l(soon, part)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return false, errGivenUp
	}
	return enough, err
}

// ends returns when the oldest and the newest entry within the bounds were received; zero times when there are none.
func (db *DB) ends(ctx context.Context, workspaceID string, b bounds) (oldest, newest time.Time, err error) {
	w := &Where{}
	w.And("r.workspace_id = %s", workspaceID)
	w.Conds = append(w.Conds, b.conds(w, "r.id")...)
	q := fmt.Sprintf(`select coalesce((select min(r.id) from requests r where %[1]s), ''), coalesce((select max(r.id) from requests r where %[1]s), '')`, w)
	var first, last string
	if err := db.QueryRow(ctx, q, w.Args...).Scan(&first, &last); err != nil || last == "" {
		return oldest, newest, err
	}
	oldest, okOldest := id.Time(first)
	newest, okNewest := id.Time(last)
	if !okOldest || !okNewest { // not ids of ours: the span is one stretch
		return db.now(), db.now(), nil
	}
	return oldest, newest, nil
}
