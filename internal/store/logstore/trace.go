package logstore

import (
	"context"
	"errors"
	"fmt"

	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

// Traced returns a page of matching entries whose id is less than before, newest first, with compressed traces. next is the value of before
// for the next page; it is empty on the last page.
func (s *Store) Traced(ctx context.Context, f requestlog.Filter, before string, limit int) (rows []replay.Row, next string, err error) {
	ctx, cancel := s.db.Bounded(ctx)
	defer cancel()
	ids, err := s.newest(ctx, &f, requestlog.Page{Before: before}, limit)
	unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
	if err != nil && !partial {
		return nil, "", requestlog.WrapTimeout(ctx, fmt.Errorf("list requests: %w", err))
	}
	if rows, err = s.traces(ctx, f.WorkspaceID, ids); err != nil {
		return nil, "", requestlog.WrapTimeout(ctx, fmt.Errorf("read traces: %w", err))
	}
	switch {
	case partial:
		next = unfinished.Before
	case len(ids) >= limit:
		next = ids[len(ids)-1]
	}
	return rows, next, nil
}

// traces reads entries with their traces, in the order of the ids. It omits entries that were deleted in the meantime.
func (s *Store) traces(ctx context.Context, workspaceID string, ids []string) ([]replay.Row, error) {
	byID := make(map[string]replay.Row, len(ids))
	if err := s.details.each(ctx, s.db.Query, detailParts{trace: true}, workspaceID, ids, func(d detail) error {
		byID[d.id] = replay.Row{ID: d.id, Summary: d.summary, Trace: d.trace}
		return nil
	}); err != nil {
		return nil, err
	}
	rows := make([]replay.Row, 0, len(ids))
	for _, id := range ids {
		if row, ok := byID[id]; ok {
			rows = append(rows, row)
		}
	}
	return rows, nil
}
