package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/internal/money"
	"fairlead/internal/requestlog"
)

// TestEveryFilterWalksAnIndexInOrder keeps lists fast with millions of rows: no filter may read a whole table, or sort
// more than a page of each value.
func TestEveryFilterWalksAnIndexInOrder(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	two := []string{"one", "two"}
	from := time.Now().Add(-time.Hour)
	for name, test := range map[string]struct {
		filter requestlog.Filter
		index  string
	}{
		"nothing":          {requestlog.Filter{}, "sqlite_autoindex_requests_1"},
		"ids":              {requestlog.Filter{ID: two}, "sqlite_autoindex_requests_1"},
		"models":           {requestlog.Filter{Model: two}, "requests_model"},
		"requested":        {requestlog.Filter{Requested: two}, "requests_requested"},
		"usual requested":  {requestlog.Filter{Requested: []string{"auto"}}, "sqlite_autoindex_requests_1"},
		"providers":        {requestlog.Filter{Provider: two}, "requests_provider"},
		"keys":             {requestlog.Filter{Key: two}, "requests_key"},
		"policies":         {requestlog.Filter{Policy: two}, "requests_policy"},
		"sessions":         {requestlog.Filter{Session: two}, "requests_session"},
		"users":            {requestlog.Filter{User: two}, "requests_end_user"},
		"rare decisions":   {requestlog.Filter{Decision: []string{"fallback", "policy"}}, "requests_decision"},
		"rare outcomes":    {requestlog.Filter{Outcome: []string{"partial", "rejected"}}, "requests_outcome"},
		"usual outcome":    {requestlog.Filter{Outcome: []string{"ok"}}, "sqlite_autoindex_requests_1"},
		"error statuses":   {requestlog.Filter{Status: []int{429, 502}}, "requests_status"},
		"tags":             {requestlog.Filter{Tag: two}, "sqlite_autoindex_tags_1"},
		"unpriced":         {requestlog.Filter{Unpriced: true}, "requests_unpriced"},
		"dear":             {requestlog.Filter{MinCost: new(money.Dollar)}, "requests_cost"},
		"negative savings": {requestlog.Filter{MaxSaved: new(money.Amount(-1))}, "requests_saved"},
		"savings":          {requestlog.Filter{MinSaved: new(money.Dollar)}, "sqlite_autoindex_requests_1"},
		"slow":             {requestlog.Filter{MinLatency: time.Second}, "requests_latency"},
		"streams":          {requestlog.Filter{Stream: new(true)}, "sqlite_autoindex_requests_1"},
		"simulated":        {requestlog.Filter{Simulated: new(true)}, "requests_simulated"},
		"playground":       {requestlog.Filter{Source: requestlog.SourcePlayground}, "requests_key"},
		"by keys":          {requestlog.Filter{Source: requestlog.SourceKey}, "requests_"}, // In order of ids, or counting only
		"text":             {requestlog.Filter{Q: "x"}, "sqlite_autoindex_requests_1"},
	} {
		for _, bounded := range []bool{false, true} {
			f := test.filter
			f.WorkspaceID = "ws"
			if bounded {
				f.From = from
			}
			counting, countArgs := db.counting(&f, bounds{}, 1000)
			for _, line := range queryPlan(t, db, counting, countArgs) {
				if strings.HasPrefix(line, "SEARCH r ") && !strings.Contains(line, test.index) && !strings.Contains(line, "(workspace_id=? AND id=?)") {
					t.Errorf("counting %s (bounded %v) walks another index: %s", name, bounded, line)
				}
			}
			q, args := db.listing(&f, bounds{high: "req_z", descending: true}, 50)
			for _, line := range queryPlan(t, db, q, args) {
				if strings.HasPrefix(line, "SCAN r") || strings.HasPrefix(line, "SCAN g") {
					t.Errorf("%s (bounded %v) reads a whole table: %s", name, bounded, line)
				}
				if walks := strings.HasPrefix(line, "SEARCH r ") || strings.HasPrefix(line, "SEARCH g "); walks && !strings.Contains(line, test.index) && test.index != "sqlite_autoindex_tags_1" {
					t.Errorf("%s (bounded %v) walks another index: %s", name, bounded, line)
				}
				if strings.Contains(line, "TEMP B-TREE FOR ORDER BY") && !strings.Contains(q, "union") && name != "ids" {
					t.Errorf("%s (bounded %v) sorts: %s", name, bounded, line)
				}
			}
		}
	}
}

func queryPlan(t *testing.T, db *DB, q string, args []any) []string {
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

func TestRankingWalksItsIndex(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	for _, column := range []string{"cost", "latency"} {
		f := requestlog.Filter{WorkspaceID: "ws", From: time.Now().Add(-time.Hour)}
		q, args := db.ranking(&f, column, ofClass(column, 5), 50)
		plan := strings.Join(queryPlan(t, db, q, args), "\n")
		if !strings.Contains(plan, fmt.Sprintf("requests_%s (workspace_id=? AND %s_class=? AND id>?)", column, column)) {
			t.Errorf("by %s: %s", column, plan)
		}
		f.Model = []string{"one"}
		q, args = db.ranking(&f, column, fmt.Sprintf("r.%s is not null", column), 50)
		if plan := strings.Join(queryPlan(t, db, q, args), "\n"); !strings.Contains(plan, "requests_model (workspace_id=? AND model=? AND id>?)") {
			t.Errorf("few by %s: %s", column, plan)
		}
	}
}

func TestClassesKeepTheOrder(t *testing.T) {
	t.Parallel()
	numbers := []int64{-1 << 63, -1 << 40, -5, -4, -1, 0, 1, 2, 3, 4, 5, 15, 16, 1 << 40, 1<<63 - 1}
	for i := range len(numbers) - 1 {
		if low, high := class(numbers[i]), class(numbers[i+1]); low > high || high > maxClass || low < -maxClass {
			t.Errorf("class of %d is %d, of %d is %d", numbers[i], low, numbers[i+1], high)
		}
	}
}

func TestSegmentsCoverARangeOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 34, 56, 0, time.UTC)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	for _, test := range []struct {
		name     string
		from, to time.Time
		want     string
	}{
		{"within an hour", at(15, 10, 5), at(15, 10, 20), "minutes 15T10:05-15T10:20"},
		{"over hours", at(15, 8, 5), at(15, 11, 20), "minutes 15T08:05-15T09:00, hours 15T09:00-15T11:00, minutes 15T11:00-15T11:20"},
		{"old ends grow to hours", at(10, 8, 5), at(10, 11, 20), "hours 10T08:00-10T12:00"},
		{"days with finer ends", at(10, 8, 5), at(15, 11, 20), "hours 10T08:00-11T00:00, days 11T00:00-15T00:00, hours 15T00:00-15T11:00, minutes 15T11:00-15T11:20"},
		{"whole days", at(3, 0, 0), at(5, 0, 0), "days 03T00:00-05T00:00"},
		{"nothing", at(5, 0, 0), at(5, 0, 0), ""},
	} {
		var got []string
		for _, s := range segments(test.from, test.to, now, []unit{days, hours, minutes}) {
			got = append(got, fmt.Sprintf("%s %s-%s", strings.TrimPrefix(s.unit.table, "rollup_"), s.from.Format("02T15:04"), s.to.Format("02T15:04")))
		}
		if joined := strings.Join(got, ", "); joined != test.want {
			t.Errorf("%s: %s, want %s", test.name, joined, test.want)
		}
	}
}
