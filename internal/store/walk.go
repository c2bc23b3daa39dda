package store

import (
	"context"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
)

// firstDays is how many days a list without a beginning looks through at first, and how much more each time after. Most
// pages are full then, and PostgreSQL need not plan for every day there is.
const (
	firstDays = 2
	moreDays  = 4
)

// walk lists ids in order by walking an index.
func (db *DB) walk(ctx context.Context, f *requestlog.Filter, b bounds, limit int) ([]string, error) {
	var all []string
	for edge, span := db.newestEdge(b), firstDays; ; span *= moreDays {
		part, low := b, edge.AddDate(0, 0, -span)
		last := db.dialect != Postgres || !b.descending || len(f.ID) > 0 || !low.After(db.days.oldest()) || id.Floor("req", low) <= b.low
		if !last {
			part.low = id.Floor("req", low)
		}
		q, args := db.listing(f, part, limit-len(all))
		some, err := db.Strings(ctx, q, args)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if last || len(all) >= limit {
			return all, nil
		}
		edge, b.high = low, part.low
	}
}

// newestEdge is where a list begins.
func (db *DB) newestEdge(b bounds) time.Time {
	if at, ok := id.Time(b.high); ok && at.Before(db.now()) {
		return at
	}
	return db.now()
}

// Oldest is the first day that this process knows a partition of; the present one where it knows none.
func (b *partitionCache) oldest() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := time.Now()
	for day := range b.known {
		if day.Before(first) {
			first = day
		}
	}
	return first
}
