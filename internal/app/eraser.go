package app

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/internal/requestlog"
)

// eraser deletes entries, including those that are still in the spool.
type eraser struct{ app *App }

// DeleteEntries flushes the spool first, so that a deleted entry that was visible live does not reappear. Requests that end meanwhile
// are queued whole, because the parts that they share with deleted requests are deleted.
func (e eraser) DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error) {
	if !dryRun {
		defer e.app.known.Pause()()
	}
	arriving, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := e.app.spool.Flush(arriving); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	return e.app.db.Log.DeleteEntries(ctx, f, dryRun)
}
