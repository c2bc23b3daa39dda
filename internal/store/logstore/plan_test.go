package logstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// TestEveryFilterUsesAnIndex checks that no filter scans a whole table or sorts more than one page of rows per filter value, so
// that lists stay fast with millions of rows.
func TestEveryFilterUsesAnIndex(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	two := []string{"one", "two"}
	from := time.Now().Add(-time.Hour)
	for name, test := range map[string]struct {
		filter requestlog.Filter
		index  string
	}{
		"nothing":          {requestlog.Filter{}, "sqlite_autoindex_requests_1"},
		"ids":              {requestlog.Filter{Lists: requestlog.Lists{ID: two}}, "sqlite_autoindex_requests_1"},
		"models":           {requestlog.Filter{Lists: requestlog.Lists{Model: two}}, "requests_model"},
		"requested":        {requestlog.Filter{Lists: requestlog.Lists{Requested: two}}, "requests_requested"},
		"usual requested":  {requestlog.Filter{Lists: requestlog.Lists{Requested: []string{"auto"}}}, "sqlite_autoindex_requests_1"},
		"providers":        {requestlog.Filter{Lists: requestlog.Lists{Provider: two}}, "requests_provider"},
		"keys":             {requestlog.Filter{Lists: requestlog.Lists{Key: two}}, "requests_key"},
		"policies":         {requestlog.Filter{Lists: requestlog.Lists{Policy: two}}, "requests_policy"},
		"sessions":         {requestlog.Filter{Lists: requestlog.Lists{Session: two}}, "requests_session"},
		"users":            {requestlog.Filter{Lists: requestlog.Lists{User: two}}, "requests_end_user"},
		"rare decisions":   {requestlog.Filter{Lists: requestlog.Lists{Decision: []string{"fallback", "policy"}}}, "requests_decision"},
		"rare outcomes":    {requestlog.Filter{Lists: requestlog.Lists{Outcome: []string{"partial", "rejected"}}}, "requests_outcome"},
		"usual outcome":    {requestlog.Filter{Lists: requestlog.Lists{Outcome: []string{"ok"}}}, "sqlite_autoindex_requests_1"},
		"error statuses":   {requestlog.Filter{Lists: requestlog.Lists{Status: []int{429, 502}}}, "requests_status"},
		"tags":             {requestlog.Filter{Lists: requestlog.Lists{Tag: two}}, "sqlite_autoindex_tags_1"},
		"unpriced":         {requestlog.Filter{Unpriced: true}, "requests_unpriced"},
		"expensive":        {requestlog.Filter{Ranges: requestlog.Ranges{MinCost: new(money.Dollar)}}, "requests_cost"},
		"negative savings": {requestlog.Filter{Ranges: requestlog.Ranges{MaxSaved: new(money.Amount(-1))}}, "requests_saved"},
		"savings":          {requestlog.Filter{Ranges: requestlog.Ranges{MinSaved: new(money.Dollar)}}, "sqlite_autoindex_requests_1"},
		"slow":             {requestlog.Filter{Ranges: requestlog.Ranges{MinLatency: time.Second}}, "requests_latency"},
		"streams":          {requestlog.Filter{Stream: new(true)}, "sqlite_autoindex_requests_1"},
		"simulated":        {requestlog.Filter{Simulated: new(true)}, "requests_simulated"},
		"playground":       {requestlog.Filter{Source: requestlog.SourcePlayground}, "requests_key"},
		"requests by key":  {requestlog.Filter{Source: requestlog.SourceKey}, "requests_"}, // matches any index, because the index differs for listing and counting
		"text":             {requestlog.Filter{Q: "x"}, "sqlite_autoindex_requests_1"},
	} {
		for _, bounded := range []bool{false, true} {
			f := test.filter
			f.WorkspaceID = "ws"
			if bounded {
				f.From = from
			}
			counting, countArgs := db.query().Counting(&f, idBounds{}, 1000)
			for _, line := range queryPlan(t, db, counting, countArgs) {
				if strings.HasPrefix(line, "SEARCH r ") && !strings.Contains(line, test.index) && !strings.Contains(line, "(workspace_id=? AND id=?)") {
					t.Errorf("counting %s (bounded %v) uses another index: %s", name, bounded, line)
				}
			}
			q, args := db.query().Listing(&f, idBounds{High: "req_z", Descending: true}, 50)
			for _, line := range queryPlan(t, db, q, args) {
				if strings.HasPrefix(line, "SCAN r") || strings.HasPrefix(line, "SCAN g") {
					t.Errorf("%s (bounded %v) reads a whole table: %s", name, bounded, line)
				}
				if searches := strings.HasPrefix(line, "SEARCH r ") || strings.HasPrefix(line, "SEARCH g "); searches && !strings.Contains(line, test.index) && test.index != "sqlite_autoindex_tags_1" {
					t.Errorf("%s (bounded %v) uses another index: %s", name, bounded, line)
				}
				if strings.Contains(line, "TEMP B-TREE FOR ORDER BY") && !strings.Contains(q, "union") && name != "ids" {
					t.Errorf("%s (bounded %v) sorts: %s", name, bounded, line)
				}
			}
		}
	}
}

func queryPlan(t *testing.T, db *testDB, q string, args []any) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), "explain query plan "+q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestRankingUsesItsIndex(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	for _, column := range []string{"cost", "latency"} {
		f := requestlog.Filter{WorkspaceID: "ws", From: time.Now().Add(-time.Hour)}
		q, args := db.query().Ranking(&f, column, ofClass(column, 5), 50)
		plan := strings.Join(queryPlan(t, db, q, args), "\n")
		if !strings.Contains(plan, fmt.Sprintf("requests_%s (workspace_id=? AND %s_class=? AND id>?)", column, column)) {
			t.Errorf("ranking by %s does not use its index: %s", column, plan)
		}
		f.Model = []string{"one"}
		q, args = db.query().Ranking(&f, column, fmt.Sprintf("r.%s is not null", column), 50)
		if plan := strings.Join(queryPlan(t, db, q, args), "\n"); !strings.Contains(plan, "requests_model (workspace_id=? AND model=? AND id>?)") {
			t.Errorf("ranking of one model by %s does not use the model index: %s", column, plan)
		}
	}
}
