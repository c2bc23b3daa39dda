package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// deleteRatings deletes what was said about requests. Corrections must hear of it when ratings are gone that count.
func deleteRatings(ctx context.Context, tx *sql.Tx, workspace string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	among := fmt.Sprintf(`delete from ratings where workspace_id = $1 and request_id in (%s) and source `, Placeholders(2, len(ids)))
	args := append([]any{workspace}, Args(ids)...)
	if _, err := tx.ExecContext(ctx, among+`= 'signal'`, args...); err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, among+`<> 'signal'`, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return ratingsChanged(ctx, tx, workspace)
}

// expireRatings deletes ratings that are past the retention of requests and were left without one, such as those of a
// request whose entry was lost. The others went with their request.
func (db *DB) expireRatings(ctx context.Context, now time.Time, own map[string]Retention, defaults Retention) error {
	for workspace := ""; ; {
		var next sql.NullString
		if err := db.QueryRow(ctx, `select min(workspace_id) from ratings where workspace_id > $1`, workspace).Scan(&next); err != nil {
			return err
		}
		if workspace = next.String; workspace == "" {
			return nil
		}
		keep := own[workspace].or(defaults)
		if keep.Entries <= 0 {
			continue
		}
		if _, err := db.inBatches(ctx, func(tx *sql.Tx) (int, error) {
			const q = `select distinct request_id from ratings where workspace_id = $1 and request_id < $2 order by request_id limit $3`
			ids, err := Column[string](ctx, tx, q, workspace, floorID(now.Add(-keep.Entries)), expireBatch)
			if err != nil {
				return 0, err
			}
			return len(ids), deleteRatings(ctx, tx, workspace, ids)
		}); err != nil {
			return err
		}
	}
}
