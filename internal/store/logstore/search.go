package logstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/store/logquery"
)

const (
	firstStretch = time.Minute
	fastStep     = 50 * time.Millisecond  // a step below this makes the next stretch much longer
	slowStep     = 200 * time.Millisecond // a step above this keeps the length of the stretch, for the first steps
	steadySteps  = 4                      // after which stretches always grow, so that the search ends
	minStep      = 50 * time.Millisecond  // minimum time for a step, however little time is left
	shrinkFactor = 16                     // by which the first stretch shrinks when its step timed out
)

// step searches a part of a span and reports whether enough was found. It may be cancelled, and must then change nothing.
type step func(ctx context.Context, part logquery.Bounds) (enough bool, err error)

// search searches a span in stretches, newest first, until enough was found. Stretches grow, faster when steps are quick.
// When the time is over it returns an UnfinishedError and cancels the current step. Stretches do not overlap. Every search
// makes progress, however short its time: the first step is repeated with a shorter stretch until it succeeds.
func (s *Store) search(ctx context.Context, workspaceID string, b logquery.Bounds, limit time.Duration, run step) error {
	if limit <= 0 {
		limit = s.db.Timeout() * 3 / 4 // the rest is for reading the results
	}
	oldest, newest, err := s.ends(ctx, workspaceID, b)
	if err != nil || newest.IsZero() {
		return err
	}
	return searchSpan(ctx, b, oldest, newest, limit, run)
}

// searchSpan is search with known ends.
func searchSpan(ctx context.Context, b logquery.Bounds, oldest, newest time.Time, limit time.Duration, run step) error {
	begun, stretch, steps := time.Now(), firstStretch, 0
	for edge := newest; ; {
		low := edge.Add(-stretch)
		part, last := b, !low.After(oldest)
		if !last {
			part.Low = id.Floor("req", low)
		}
		start := time.Now()
		enough, err := run.within(ctx, stepTimeout(limit, begun, steps, stretch), part)
		switch {
		case errors.Is(err, errStepTimeout) && steps == 0:
			stretch = max(stretch/shrinkFactor, time.Millisecond)
			continue
		case errors.Is(err, errStepTimeout):
			return &requestlog.UnfinishedError{Before: b.High}
		case err != nil || enough || last:
			return err
		case time.Since(begun) > limit:
			return &requestlog.UnfinishedError{Before: part.Low}
		}
		steps++
		switch took := time.Since(start); {
		case took < fastStep:
			stretch *= 4
		case took < slowStep, steps >= steadySteps:
			stretch *= 2
		}
		b.High, edge = part.Low, low
	}
}

// stepTimeout returns how long the next step may take: the remaining time, or a part of the remaining time for the
// first step, so that a shorter step can follow. It returns 0, no limit, for the shortest stretch.
func stepTimeout(limit time.Duration, begun time.Time, steps int, stretch time.Duration) time.Duration {
	if steps == 0 && stretch <= time.Millisecond {
		return 0
	}
	least := max(limit/4, minStep)
	if steps == 0 {
		return least
	}
	return max(limit-time.Since(begun), least)
}

var errStepTimeout = errors.New("search step timed out")

// within runs a step with a timeout; 0 for none.
func (s step) within(ctx context.Context, timeout time.Duration, part logquery.Bounds) (bool, error) {
	if timeout <= 0 {
		return s(ctx, part)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	enough, err := s(bounded, part)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return false, errStepTimeout
	}
	return enough, err
}

// ends returns the times of the oldest and the newest entry within the bounds; zero times when there are none.
func (s *Store) ends(ctx context.Context, workspaceID string, b logquery.Bounds) (oldest, newest time.Time, err error) {
	w := (logquery.Builder{}).Where(&requestlog.Filter{WorkspaceID: workspaceID}, b)
	q := fmt.Sprintf(`select coalesce((select min(r.id) from requests r where %[1]s), ''), coalesce((select max(r.id) from requests r where %[1]s), '')`, w)
	var first, last string
	if err := s.db.QueryRow(ctx, q, w.Args...).Scan(&first, &last); err != nil || last == "" {
		return oldest, newest, err
	}
	oldest, okOldest := id.Time(first)
	newest, okNewest := id.Time(last)
	if !okOldest || !okNewest { // ids without a time: search the span in one stretch
		return s.db.Now(), s.db.Now(), nil
	}
	return oldest, newest, nil
}
