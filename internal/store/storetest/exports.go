package storetest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/export"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/sqldb"
	"fairlead.dev/internal/store/storetest/accounttest"
)

// recordsAreExportedInOrder checks that each change and each request is in the journal once, in the order of storing, until it is exported.
func recordsAreExportedInOrder(t *testing.T, db *store.DB) {
	ctx, ws, other := t.Context(), newTenant(t, db), newTenant(t, db)
	write(t, db, sample(ws, now))
	if _, ok, err := db.ExportState(ctx); ok || err != nil {
		t.Fatalf("the export has a state before its start: %v", err)
	}
	mustWait(t, db) // nothing is recorded before the start
	must(t, db.StartExport(ctx))
	must(t, db.StartExport(ctx))

	change := accounttest.Event(ws, "key.create")
	must(t, db.Accounts.WriteAudit(ctx, change))
	first, second, elsewhere := sample(ws, now), sample(ws, now), sample(other, now)
	late := sample(ws, now.Add(-time.Hour)) // delivered later by another replica
	write(t, db, first)
	write(t, db, elsewhere)
	write(t, db, second)
	write(t, db, first, late) // first is repeated
	records := mustWait(t, db, change.ID, first.ID, elsewhere.ID, second.ID, late.ID)
	if diff := cmp.Diff(&change, records[0].Audit); diff != "" {
		t.Error(diff)
	}
	whole, err := db.Log.Entry(ctx, ws, late.ID)
	must(t, err)
	if got := records[4].Entry; got == nil || got.Decision == nil || got.WorkspaceID != ws || !cmp.Equal(whole.Decision.Because, got.Decision.Because) || len(got.Attempts) != len(late.Attempts) {
		t.Errorf("the entry is exported without its trace: %+v", got)
	}

	if _, err := db.Log.DeleteEntries(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{ID: []string{second.ID}}}, false); err != nil {
		t.Fatal(err)
	}
	records = mustWait(t, db, change.ID, first.ID, elsewhere.ID, second.ID, late.ID)
	if r := records[3]; r.Audit != nil || r.Entry != nil {
		t.Error("a deleted request is exported")
	}
	must(t, db.FinishExport(ctx, []int64{records[0].Number, records[2].Number}, func(s *export.State) { s.Sent, s.Error = 2, "status 500" }))
	mustWait(t, db, first.ID, second.ID, late.ID)
	must(t, db.StartExport(ctx)) // a restart keeps the state
	want := export.State{Since: now, Sent: 2, Error: "status 500", Oldest: now.Truncate(time.Millisecond)}
	if got, ok, err := db.ExportState(ctx); err != nil || !ok || !cmp.Equal(want, got) {
		t.Errorf("state: %v\n%s", err, cmp.Diff(want, got))
	}

	// A transaction that took its number first can commit last. Its record must not be skipped.
	if db.Dialect() == sqldb.Postgres {
		must(t, db.InTx(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `insert into export_journal (workspace_id, record_id) values ($1, 'req_slow')`, ws); err != nil {
				return err
			}
			fast := accounttest.Event(ws, "key.update")
			if err := db.Accounts.WriteAudit(ctx, fast); err != nil {
				return err
			}
			all := mustWait(t, db, first.ID, second.ID, late.ID, fast.ID)
			for _, r := range all {
				if err := db.FinishExport(ctx, []int64{r.Number}, func(*export.State) {}); err != nil {
					return err
				}
			}
			return nil
		}))
		mustWait(t, db, "req_slow")
	}
	if n, err := db.StopExport(ctx); err != nil || n == 0 {
		t.Errorf("%d records discarded, %v", n, err)
	}
	write(t, db, sample(ws, now))
	mustWait(t, db)
}

// mustWait fails unless the records with the given ids wait for export, in this order. It returns them.
func mustWait(t *testing.T, db *store.DB, want ...string) []export.Record {
	t.Helper()
	records, err := db.ExportRecords(t.Context(), 100)
	must(t, err)
	var got []string
	for _, r := range records {
		got = append(got, r.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	return records
}
