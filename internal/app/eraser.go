package app

import (
	"context"
	"errors"
	"time"

	"fairlead.dev/internal/requestlog"
)

// eraser deletes entries of the request log, including entries that are still in the spool.
type eraser struct{ app *App }

// DeleteEntries flushes the spool first, so that entries that are not in the database yet are deleted too. During a deletion, new
// requests are queued with all their parts, because the database may just have deleted parts that they share with other requests.
func (e eraser) DeleteEntries(ctx context.Context, f requestlog.Filter, dryRun bool) (int64, error) {
	if !dryRun {
		defer e.app.known.Pause()()
	}
	arriving, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := e.app.spool.Flush(arriving); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	n, err := e.app.db.Log.DeleteEntries(ctx, f, dryRun)
	if err != nil || n == 0 || dryRun {
		return n, err
	}
	if err := e.app.db.Accounts.ReviseWorkspace(ctx, f.WorkspaceID); err != nil { // the response cache must not serve deleted texts
		return n, err
	}
	return n, e.app.keyring.Refresh(ctx)
}
