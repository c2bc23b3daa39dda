package app

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/spool"
)

// settleTime is the maximum time that a reader waits for the delivery of entries in the spool.
const settleTime = 300 * time.Millisecond

// freshReader reads the log. It waits up to settleTime for the delivery of entries in this replica's spool, so that new entries are
// found.
type freshReader struct {
	requestlog.Reader
	spool *spool.Spool
}

// Entries implements requestlog.Reader.
func (r freshReader) Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	if p.Before == "" { // later pages contain only older entries
		r.spool.Settle(ctx, settleTime)
	}
	return r.Reader.Entries(ctx, f, p)
}

// Count implements requestlog.Reader.
func (r freshReader) Count(ctx context.Context, f requestlog.Filter, limit int) (int, error) {
	r.spool.Settle(ctx, settleTime)
	return r.Reader.Count(ctx, f, limit)
}

// Entry implements requestlog.Reader.
func (r freshReader) Entry(ctx context.Context, workspaceID, requestID string) (requestlog.Entry, error) {
	e, err := r.Reader.Entry(ctx, workspaceID, requestID)
	if !errors.Is(err, requestlog.ErrNotFound) {
		return e, err
	}
	r.spool.Settle(ctx, settleTime)
	return r.Reader.Entry(ctx, workspaceID, requestID)
}
