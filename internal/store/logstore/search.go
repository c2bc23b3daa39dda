package logstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
)

const (
	firstStretch = time.Minute
	fastStep     = 50 * time.Millisecond  // after a faster step, the next stretch of the time span is four times as long, otherwise twice
	slowStep     = 200 * time.Millisecond // after a slower step among the first steps, the next stretch has the same length
	steadySteps  = 4                      // number of steps after which stretches always grow, so that the search ends
	minStep      = 50 * time.Millisecond  // minimum time for a step, however little time is left
	shrinkFactor = 16                     // divisor for the first stretch after its step timed out
)

// step searches one stretch of a time span and reports whether enough entries were found. It must have no effect if it is cancelled.
type step func(ctx context.Context, part idBounds) (enough bool, err error)

// search searches a time span in stretches, newest first, until enough entries are found. Stretches do not overlap. Their length grows
// faster when steps are quick. When the time limit is reached, search cancels the current step and returns an UnfinishedError. Every
// search makes progress, even with a short limit: the first step is repeated with a shorter stretch until it succeeds.
func (s *Store) search(ctx context.Context, workspaceID string, b idBounds, limit time.Duration, run step) error {
	if limit <= 0 {
		limit = s.db.Timeout() * 3 / 4 // the rest is for reading the results
	}
	oldest, newest, err := s.ends(ctx, workspaceID, b)
	if err != nil || newest.IsZero() {
		return err
	}
	return searchSpan(ctx, b, oldest, newest, limit, run)
}

// searchSpan searches between the times of the oldest and the newest entry.
func searchSpan(ctx context.Context, b idBounds, oldest, newest time.Time, limit time.Duration, run step) error {
	begun, stretch, steps := time.Now(), firstStretch, 0
	for edge := newest; ; {
		low := edge.Add(-stretch)
		part, last := b, !low.After(oldest)
		if !last {
			part.Low = id.Floor("req", low)
		}
		start := time.Now()
		enough, err := run.withTimeout(ctx, stepTimeout(limit, begun, steps, stretch), part)
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
		switch elapsed := time.Since(start); {
		case elapsed < fastStep:
			stretch *= 4
		case elapsed < slowStep, steps >= steadySteps:
			stretch *= 2
		}
		b.High, edge = part.Low, low
	}
}

// stepTimeout returns the time limit of the next step. The first step gets only a quarter of the time, so that it can be repeated
// with a shorter stretch. For the shortest stretch, stepTimeout returns 0, which means no limit.
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

// withTimeout runs a step with a timeout; 0 means no timeout. It returns errStepTimeout when the step times out.
func (s step) withTimeout(ctx context.Context, timeout time.Duration, part idBounds) (bool, error) {
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

// ends returns the times of the oldest and the newest entry within the bounds, or zero times without entries.
func (s *Store) ends(ctx context.Context, workspaceID string, b idBounds) (oldest, newest time.Time, err error) {
	w := (queryBuilder{}).Where(&requestlog.Filter{WorkspaceID: workspaceID}, b)
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
