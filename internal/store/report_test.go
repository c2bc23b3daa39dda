package store_test

import (
	"context"
	"database/sql"
	"testing"
	"time"
)

// Another process folds while it holds the lock. A change of the sums must wait for it, because the fold writes sums that it has read before.
func TestChangesOfReportsWaitForAFold(t *testing.T) {
	t.Parallel()
	db := openPostgres(t)
	const foldLock = 0x7265706f727473
	if _, err := db.Exec(t.Context(), `insert into report_waiting (workspace_id, start, class, facts, data) values ('ws_1', 0, 0, 1, '')`); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(context.Context) error{
		"delete simulated": func(ctx context.Context) error { return db.Report.DeleteSimulated(ctx, "ws_1") },
		"expire": func(ctx context.Context) error {
			return db.Report.Expire(ctx, time.Now(), func(string) time.Duration { return time.Hour })
		},
	} {
		done := make(chan error, 1)
		if err := db.InTx(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), `select pg_advisory_xact_lock($1)`, foldLock); err != nil {
				return err
			}
			go func() { done <- change(t.Context()) }()
			for waiting := 0; waiting == 0; {
				select {
				case err := <-done:
					t.Errorf("%s did not wait: %v", name, err)
					done <- err
					return nil
				default:
				}
				if err := tx.QueryRowContext(t.Context(), `select count(*) from pg_locks where locktype = 'advisory' and not granted`).Scan(&waiting); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
