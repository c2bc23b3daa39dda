package feedbackstore

import (
	"strings"
	"testing"

	"fairlead.dev/internal/store/sqldb"
)

// TestReadingRatingsUsesAnIndex checks that computing corrections is cheap for a workspace with many ratings.
func TestReadingRatingsUsesAnIndex(t *testing.T) {
	t.Parallel()
	db, err := sqldb.Open(t.Context(), "sqlite", t.TempDir(), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, c := range []struct {
		q    string
		args []any
		want string
	}{
		{nextRated, []any{"ws", "m"}, "ratings_model (workspace_id=? AND model>?)"},
		{countedRatings, []any{"ws", "m", 0, 10}, "ratings_model (workspace_id=? AND model=? AND at>?)"},
	} {
		rows, err := db.Query(t.Context(), "explain query plan "+c.q, c.args...)
		lines, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (line string, err error) {
			var id, parent, unused int
			err = row.Scan(&id, &parent, &unused, &line)
			return line, err
		})
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if !strings.Contains(plan, c.want) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: plan %s, want %q without a scan", c.q, plan, c.want)
		}
	}
}
