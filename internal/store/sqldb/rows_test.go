package sqldb

import (
	"strings"
	"testing"
)

// A column is sent as one array, so many large bodies in one statement would exceed server limits.
func TestLargeRowsAreSplitIntoStatements(t *testing.T) {
	t.Parallel()
	rows := func(n, size int) [][]any {
		out := make([][]any, n)
		for i := range out {
			out[i] = []any{"ws", "req", make([]byte, size/2), []byte(strings.Repeat("x", size/2)), 0}
		}
		return out
	}
	in := NewInserter("bodies", TextFields("workspace_id"), "")
	for _, test := range []struct {
		name    string
		dialect Dialect
		rows    [][]any
		want    int
	}{
		{"small rows together", Postgres, rows(500, 2000), 500},
		{"limit of rows", Postgres, rows(postgresRows+1, 10), postgresRows},
		{"limit of bytes", Postgres, rows(20, 1<<20), 15},
		{"a large row alone", Postgres, rows(2, postgresBytes+2), 1},
		{"a whole group", SQLite, rows(sqliteRows+1, 10), sqliteRows},
		{"fewer rows than a group", SQLite, rows(sqliteRows-1, 10), 1},
	} {
		if got := in.group(test.dialect, test.rows); got != test.want {
			t.Errorf("%s: %d rows per statement, want %d", test.name, got, test.want)
		}
	}
}
