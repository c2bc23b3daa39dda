package logstore

import (
	"context"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// firstDays is the number of days that walk reads in its first step. Each further step reads moreDays times as many days. Most pages
// are full after the first step, so PostgreSQL rarely plans for every partition.
const (
	firstDays = 2
	moreDays  = 4
)

// walk lists entries in order by following an index.
func (s *Store) walk(ctx context.Context, f *requestlog.Filter, b idBounds, limit int, list listing) error {
	found, edge := 0, s.db.Now()
	if at, ok := id.Time(b.High); ok && at.Before(edge) {
		edge = at
	}
	for span := firstDays; ; span *= moreDays {
		part, low := b, edge.AddDate(0, 0, -span)
		last := s.db.Dialect() != sqldb.Postgres || !b.Descending || len(f.ID) > 0 || !low.After(s.partitions.Oldest()) || id.Floor("req", low) <= b.Low
		if !last {
			part.Low = id.Floor("req", low)
		}
		n, err := list(ctx, f, part, limit-found)
		if err != nil {
			return err
		}
		if found += n; last || found >= limit {
			return nil
		}
		edge, b.High = low, part.Low
	}
}
