package feedbackstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// DeleteOf deletes the feedback on requests, in the transaction that deletes the requests. If it deletes feedback, the corrections
// change and DeleteOf increments the revision.
func DeleteOf(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	q := fmt.Sprintf(`delete from ratings where workspace_id = $1 and request_id in (%s)`, sqldb.Placeholders(2, len(ids)))
	res, err := tx.ExecContext(ctx, q, append([]any{workspace}, sqldb.Args(ids)...)...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return ratingsChanged(ctx, tx, workspace)
}

// Expire deletes feedback on requests that are older than the workspace's retention (0 for unlimited). Feedback is
// normally deleted with its request; Expire finds feedback whose entry was lost.
func (s *Store) Expire(ctx context.Context, now time.Time, retention func(workspace string) time.Duration) error {
	for workspace := ""; ; {
		var next sql.NullString
		if err := s.db.QueryRow(ctx, `select min(workspace_id) from ratings where workspace_id > $1`, workspace).Scan(&next); err != nil {
			return err
		}
		if workspace = next.String; workspace == "" {
			return nil
		}
		keep := retention(workspace)
		if keep <= 0 {
			continue
		}
		if _, err := s.db.InBatches(ctx, func(tx *sql.Tx) (int, error) {
			const q = `select distinct request_id from ratings where workspace_id = $1 and request_id < $2 order by request_id limit $3`
			ids, err := sqldb.Column[string](ctx, tx, q, workspace, requestlog.FloorID(now.Add(-keep)), sqldb.DeleteBatch)
			if err != nil {
				return 0, err
			}
			return len(ids), DeleteOf(ctx, tx, workspace, ids)
		}); err != nil {
			return err
		}
	}
}
