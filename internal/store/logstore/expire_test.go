package logstore

import (
	"testing"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/internal/store/sqldb"
)

func TestExpireUsesRetentionOfWorkspace(t *testing.T) {
	t.Parallel()
	pgtest.EachDialect(t, func(t *testing.T, dsn, dir string) {
		db := openTest(t, dsn, dir, sqldb.Options{})
		const q = `insert into workspaces (id, name, default_model, pinned_embed, log_bodies, entry_retention_ms, budget, created_at, revision)
			values ($1, '', '', '', 1, $2, '', 0, 0)`
		for name, keep := range map[string]time.Duration{"short": day, "long": 90 * day, "usual": 0} {
			if _, err := db.Exec(t.Context(), q, name, keep.Milliseconds()); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now()
		var entries []requestlog.Entry
		for _, workspace := range []string{"short", "long", "usual"} {
			for _, age := range []time.Duration{0, 10 * day, 60 * day} {
				entries = append(entries, requestlog.Entry{ID: id.New("req", now.Add(-age)), Owner: requestlog.Owner{WorkspaceID: workspace}, Timing: requestlog.Timing{Time: now.Add(-age)}})
			}
		}
		if err := db.WriteEntries(t.Context(), entries); err != nil {
			t.Fatal(err)
		}

		total, err := db.Expire(t.Context(), now, Retention{Entries: 30 * day})

		if err != nil || total.Entries != 3 {
			t.Errorf("expired %+v, %v; want 3 entries", total, err)
		}
		for workspace, want := range map[string]int{"short": 1, "usual": 2, "long": 3} {
			if n, err := db.Count(t.Context(), requestlog.Filter{WorkspaceID: workspace}, 10); err != nil || n != want {
				t.Errorf("%s has %d entries, %v; want %d", workspace, n, err, want)
			}
		}
	})
}
