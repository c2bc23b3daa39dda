package feedbackstore

import (
	"context"
	"database/sql"
	"fmt"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/store/sqldb"
)

// SyncExploration adds the replica's trials to the totals of the workspace and replaces the replica's claim to an amount for further
// trials. It returns the new totals and the amount that was granted. The first statement locks the exploration row of the workspace,
// which serialises the replicas.
func (s *Store) SyncExploration(ctx context.Context, c feedback.Claim) (total feedback.Exploration, granted money.Amount, err error) {
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		// The statement inserts no row if the workspace was deleted.
		const add = `insert into exploration (workspace_id, requests, trials, spent, tried, extra, quality)
			select id, cast($2 as bigint), cast($3 as bigint), cast($4 as bigint), cast($5 as bigint), cast($6 as bigint), cast($7 as double precision)
			from workspaces where id = $1 on conflict (workspace_id) do update set requests = exploration.requests + excluded.requests, trials = exploration.trials + excluded.trials,
			spent = exploration.spent + excluded.spent, tried = exploration.tried + excluded.tried, extra = exploration.extra + excluded.extra,
			quality = exploration.quality + excluded.quality`
		a := &c.Added
		res, err := tx.ExecContext(ctx, add, c.WorkspaceID, a.Requests, a.Trials, int64(a.Spent), int64(a.Tried), int64(a.Extra), a.Quality)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		const sum = `select requests, trials, spent, tried, extra, quality from exploration where workspace_id = $1`
		if err := tx.QueryRowContext(ctx, sum, c.WorkspaceID).Scan(&total.Requests, &total.Trials, &total.Spent, &total.Tried, &total.Extra, &total.Quality); err != nil {
			return err
		}
		const drop = `delete from exploration_claims where workspace_id = $1 and (replica = $2 or expires <= $3)`
		if _, err := tx.ExecContext(ctx, drop, c.WorkspaceID, c.Replica, sqldb.Millis(c.Now)); err != nil {
			return err
		}
		var claimed money.Amount
		const others = `select coalesce(sum(amount), 0) from exploration_claims where workspace_id = $1`
		if err := tx.QueryRowContext(ctx, others, c.WorkspaceID).Scan(&claimed); err != nil {
			return err
		}
		if granted = c.Grant(&total, claimed); granted <= 0 {
			return nil
		}
		const claim = `insert into exploration_claims (workspace_id, replica, amount, expires) values ($1, $2, $3, $4)`
		_, err = tx.ExecContext(ctx, claim, c.WorkspaceID, c.Replica, int64(granted), sqldb.Millis(c.Expires))
		return err
	})
	if err != nil {
		return total, 0, fmt.Errorf("update the exploration counts of workspace %s: %w", c.WorkspaceID, err)
	}
	return total, granted, nil
}

// restartExploration deletes the trials of a workspace.
func restartExploration(ctx context.Context, tx *sql.Tx, workspaceID string) error {
	for _, q := range []string{`delete from exploration where workspace_id = $1`, `delete from exploration_claims where workspace_id = $1`} {
		if _, err := tx.ExecContext(ctx, q, workspaceID); err != nil {
			return err
		}
	}
	return nil
}
