package logstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"fairlead.dev/internal/requestlog"
)

// Limits of one page of a search in stored text. The next page continues where the search stopped.
const (
	maxScannedRows  = 20_000
	maxScannedBytes = 64 << 20
	maxScanTime     = 2 * time.Second
	scanRows        = 100 // rows per step
)

// newestWithText lists the ids of the newest entries whose request or response contains Filter.Text, ignoring case. It reads the stored
// bodies of the entries that match the rest of the filter. At a limit, it returns an UnfinishedError with the last entry that it read.
func (s *Store) newestWithText(ctx context.Context, f *requestlog.Filter, p requestlog.Page, limit int) ([]string, error) {
	within := maxScanTime
	if p.Within > 0 {
		within = min(within, p.Within)
	}
	text, deadline := strings.ToLower(f.Text), time.Now().Add(within)
	var found []string
	rows, size := 0, 0
	for {
		p.Within = max(time.Until(deadline), time.Millisecond)
		ids, err := s.newest(ctx, f, p, scanRows)
		unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
		if err != nil && !partial {
			return nil, err
		}
		for _, id := range ids {
			body, err := s.EntryBody(ctx, f.WorkspaceID, id)
			if err != nil && !errors.Is(err, requestlog.ErrNotFound) { // a body that has expired or was deleted contains no text
				return nil, err
			}
			if body.ContainsText(text) {
				if found = append(found, id); len(found) == limit {
					return found, nil
				}
			}
			rows, size = rows+1, size+len(body.Request)+len(body.Response)
			if rows == maxScannedRows || size >= maxScannedBytes || !time.Now().Before(deadline) {
				return found, &requestlog.UnfinishedError{Before: id}
			}
		}
		if partial {
			return found, unfinished
		}
		if len(ids) < scanRows {
			return found, nil
		}
		p.Before = ids[len(ids)-1]
	}
}
