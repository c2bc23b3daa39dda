package app

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"fairlead/internal/config"
	"fairlead/internal/requestlog"
	"fairlead/internal/spool"
)

// settleTime is how long a reader of the log waits for the entries of requests that have just ended.
const settleTime = 300 * time.Millisecond

// freshReader reads the log, and lets the entries that this replica has queued arrive in the database before.
type freshReader struct {
	requestlog.Reader
	spool *spool.Spool
}

// Entries implements requestlog.Reader.
func (r freshReader) Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	if p.Before == "" { // later pages have older entries
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

const (
	instanceWait  = time.Second // longer than a server gathers entries for a batch
	instancePause = 50 * time.Millisecond
)

// AwaitEntries lets the entries that a server has queued in this data directory arrive in the store, and gives up after a second.
func (i *Instance) AwaitEntries(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, instanceWait)
	defer cancel()
	tick := time.NewTicker(instancePause)
	defer tick.Stop()
	for {
		if n, err := spool.Waiting(spoolDir(i.Config)); err == nil && n == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C: // a segment that the server has just removed is an error, too
		}
	}
}

func spoolDir(c config.Config) string { return filepath.Join(c.DataDir, "spool") }
