package logstore

import (
	"context"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/store/logquery"
	"fairlead/internal/store/sqldb"
)

// firstDays is the number of days that a list without a start reads first, and moreDays the factor for each further step.
// Most pages are full after the first step, and PostgreSQL need not plan for every partition.
const (
	firstDays = 2
	moreDays  = 4
)

// walk lists ids in order by following an index.
func (s *Store) walk(ctx context.Context, f *requestlog.Filter, b logquery.Bounds, limit int) ([]string, error) {
	var all []string
	for edge, span := s.newestEdge(b), firstDays; ; span *= moreDays {
		part, low := b, edge.AddDate(0, 0, -span)
		last := s.db.Dialect() != sqldb.Postgres || !b.Descending || len(f.ID) > 0 || !low.After(s.partitions.Oldest()) || id.Floor("req", low) <= b.Low
		if !last {
			part.Low = id.Floor("req", low)
		}
		q, args := s.query().Listing(f, part, limit-len(all))
		some, err := s.db.Strings(ctx, q, args)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if last || len(all) >= limit {
			return all, nil
		}
		edge, b.High = low, part.Low
	}
}

// newestEdge returns the time at which a list begins.
func (s *Store) newestEdge(b logquery.Bounds) time.Time {
	if at, ok := id.Time(b.High); ok && at.Before(s.db.Now()) {
		return at
	}
	return s.db.Now()
}
