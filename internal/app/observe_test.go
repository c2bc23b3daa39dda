package app

import (
	"path/filepath"
	"testing"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/spool"
)

func TestSpentCountsEntriesInSpoolAndStoreOnce(t *testing.T) {
	t.Parallel()
	i := openInstance(t)
	queue, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	a := &App{storageParts: storageParts{db: i.Store}, logParts: logParts{spool: queue}}
	now := time.Now()
	stored, both, waiting, older := costing(now, 1), costing(now, 20), costing(now, 300), costing(now.Add(-time.Hour), 4000)
	// An entry is in the spool and in the database while it is delivered, and after a crash.
	if err := i.Store.Log.WriteEntries(t.Context(), []requestlog.Entry{stored, both, older}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []requestlog.Entry{both, waiting, older} {
		if err := queue.End(&e); err != nil {
			t.Fatal(err)
		}
	}

	for _, budget := range []string{"key:key_1", "ws:ws_1"} {
		got, err := a.spent(t.Context(), budget, now.Add(-time.Minute))
		if want := money.Amount(321); err != nil || got != want {
			t.Errorf("%s: spent %d, %v; want %d", budget, got, err, want)
		}
	}
}

func costing(at time.Time, cost money.Amount) requestlog.Entry {
	e := servedEntry("ws_1", at)
	e.Cost = &cost
	return e
}
