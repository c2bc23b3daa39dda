package figurestore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
)

// Slices implements report.Reader for the dimensions model, provider, key and policy.
func (s *Store) Slices(ctx context.Context, q *report.Query) (report.Slices, error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	by, value, err := dimension(string(q.By))
	if err != nil {
		return report.Slices{}, err
	}
	dimensions, then := by, func(*figureRow) string { return "" }
	if q.Then != "" {
		if _, then, err = dimension(string(q.Then)); err != nil {
			return report.Slices{}, err
		}
		dimensions = dimensionsAll
	}
	sums := map[[2]string]*requestlog.Sums{}
	spans := segments(span(&q.RollupFilter), s.until(&q.RollupFilter), s.db.Now(), []unit{days, hours, minutes})
	if err := s.eachFigure(ctx, &q.RollupFilter, dimensions, spans, func(r *figureRow) {
		key := [2]string{value(r), then(r)}
		if sums[key] == nil {
			sums[key] = &requestlog.Sums{}
		}
		sums[key].Merge(&r.sums)
	}); err != nil {
		return report.Slices{}, requestlog.WrapTimeout(ctx, fmt.Errorf("read figures by %s and %s: %w", q.By, q.Then, err))
	}
	found := report.Slices{Kept: true, Rows: make([]report.Row, 0, len(sums))}
	for key, sum := range sums {
		found.Rows = append(found.Rows, report.Row{By: key[0], Then: key[1], Sums: *sum})
	}
	slices.SortFunc(found.Rows, func(a, b report.Row) int { return strings.Compare(a.By+"\x00"+a.Then, b.By+"\x00"+b.Then) })
	return found, nil
}
