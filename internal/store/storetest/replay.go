package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store"
)

// Replay runs the tests for reading stored decisions in order to recompute them. open returns a new, empty database.
func Replay(t *testing.T, open func(t testing.TB) *store.DB) {
	t.Helper()
	db := open(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *store.DB)
	}{
		{"TracesRoundTrip", tracesReadBack},
		{"TracePagesCoverAllOnce", tracePagesCoverAll},
		{"TracesAreFilteredLikeEntries", tracesAreFiltered},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, db)
		})
	}
}

// traced returns the complete entry of a row.
func traced(t *testing.T, row replay.Row) requestlog.Entry {
	t.Helper()
	var e requestlog.Entry
	must(t, json.Unmarshal(row.Summary, &e))
	room := make([]byte, 3, 16) // Trace appends to room and must not change its content
	text, err := row.Trace(room)
	must(t, err)
	var parts struct {
		Trace *route.Decision `json:"trace"`
	}
	must(t, json.Unmarshal(text[3:], &parts))
	e.Decision = parts.Trace
	return e
}

func tracesReadBack(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	short, long, without := sample(ws, now), sample(ws, now.Add(-time.Minute)), sample(ws, now.Add(-time.Hour))
	long.Decision.Alone = strings.Repeat("provider/model ", 1000) // long enough to be compressed
	without.Decision = nil
	write(t, db, short, long, without)

	rows, next, err := db.Log.Traced(t.Context(), requestlog.Filter{WorkspaceID: ws}, "", 10)
	must(t, err)

	if next != "" || len(rows) != 3 {
		t.Fatalf("%d rows, next page %q; want 3 and none", len(rows), next)
	}
	for i, want := range []requestlog.Entry{short, long, without} {
		got := traced(t, rows[i])
		if diff := cmp.Diff(want.Decision, got.Decision); diff != "" {
			t.Errorf("row %d: %s", i, diff)
		}
		if rows[i].ID != want.ID || got.Usage != want.Usage || *got.Cost != *want.Cost || got.Model != want.Model {
			t.Errorf("row %d is %+v, want %+v", i, got, want)
		}
	}
}

func tracePagesCoverAll(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	var want []string
	for i := range 23 {
		e := sample(ws, now.Add(-time.Duration(i)*time.Hour))
		write(t, db, e)
		want = append(want, e.ID)
	}

	var got []string
	for before := ""; ; {
		rows, next, err := db.Log.Traced(t.Context(), requestlog.Filter{WorkspaceID: ws}, before, 5)
		must(t, err)
		for _, row := range rows {
			got = append(got, row.ID)
		}
		if next == "" {
			break
		}
		before = next
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func tracesAreFiltered(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	var want []string
	for i := range 12 {
		e := sample(ws, now.Add(-time.Duration(i)*time.Hour))
		e.Requested = []string{"auto", "small-b", "auto:cost"}[i%3]
		e.Stream = i%2 == 0
		write(t, db, e)
		if i%3 == 0 && i%2 == 0 && i < 9 {
			want = append(want, e.ID)
		}
	}
	f := requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{Requested: []string{"auto"}}, Stream: new(true), From: now.Add(-8 * time.Hour)}

	rows, _, err := db.Log.Traced(t.Context(), f, "", 50)
	must(t, err)

	var got []string
	for _, row := range rows {
		got = append(got, row.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || slices.Contains(got, "") {
		t.Errorf("IDs %q (-want +got):\n%s", got, diff)
	}
	if rows, next, err := db.Log.Traced(t.Context(), requestlog.Filter{WorkspaceID: newWorkspace()}, "", 5); err != nil || next != "" || len(rows) > 0 {
		t.Errorf("workspace without requests: %d rows, next page %q, %v; want none", len(rows), next, err)
	}
}
