package store

import (
	"strings"
	"testing"
)

// TestReadingRatingsWalksAnIndex keeps corrections cheap for a workspace that rates everything.
func TestReadingRatingsWalksAnIndex(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	for _, c := range []struct {
		q    string
		args []any
		want string
	}{
		{nextRated, []any{"ws", "m"}, "ratings_model (workspace_id=? AND model>?)"},
		{countedRatings, []any{"ws", "m", 0, 10}, "ratings_model (workspace_id=? AND model=? AND at>?)"},
		{signalCounts, []any{"ws", 0}, "COVERING INDEX ratings_signal (workspace_id=? AND at>?)"},
	} {
		plan := strings.Join(queryPlan(t, db, c.q, c.args), "\n")
		if !strings.Contains(plan, c.want) || strings.Contains(plan, "SCAN") || (c.q != signalCounts && strings.Contains(plan, "TEMP B-TREE")) {
			t.Errorf("%s: %s", c.q, plan)
		}
	}
}
