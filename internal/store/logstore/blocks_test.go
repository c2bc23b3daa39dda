package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store/entryblock"
)

// storedEntry returns an entry with a trace and with bodies that no other entry has.
func storedEntry(workspace, name string, at time.Time) requestlog.Entry {
	return requestlog.Entry{
		ID: id.New("req", at), Owner: requestlog.Owner{WorkspaceID: workspace},
		Timing: requestlog.Timing{Time: at.UTC().Truncate(time.Millisecond)},
		Call:   requestlog.Call{Preview: "preview of " + name}, BodyState: requestlog.BodyStored,
		Routing: requestlog.Routing{Decision: &route.Decision{Kind: route.Expected, PolicyChange: route.PolicyChange{Alone: name}}},
		Labels:  requestlog.Labels{Tags: map[string]string{"name": name}},
		Body:    requestlog.Body{Request: []byte("request of " + name), Response: []byte(strings.Repeat("response to "+name, 300)), Streamed: true},
	}
}

// checkStored checks that the stored entry and its stored bodies equal e.
func checkStored(t *testing.T, db *testDB, e requestlog.Entry) {
	t.Helper()
	got, err := db.Entry(t.Context(), e.WorkspaceID, e.ID)
	if err != nil {
		t.Fatalf("entry %s: %v", e.Decision.Alone, err)
	}
	if got.Body, err = db.EntryBody(t.Context(), e.WorkspaceID, e.ID); err != nil {
		t.Fatalf("body of %s: %v", e.Decision.Alone, err)
	}
	if diff := cmp.Diff(e, got, cmp.Comparer(sameText)); diff != "" {
		t.Error(diff)
	}
}

// sameText reports whether two texts are equal. An empty text differs from nil. It keeps cmp from comparing long texts byte by byte.
func sameText(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func checkGone(t *testing.T, db *testDB, e requestlog.Entry) {
	t.Helper()
	_, err := db.Entry(t.Context(), e.WorkspaceID, e.ID)
	_, errBody := db.EntryBody(t.Context(), e.WorkspaceID, e.ID)
	if !errors.Is(err, requestlog.ErrNotFound) || !errors.Is(errBody, requestlog.ErrNotFound) {
		t.Errorf("read of deleted entry %s: %v, body: %v; want ErrNotFound", e.Decision.Alone, err, errBody)
	}
}

func countRows(t *testing.T, db *testDB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `select count(*) from `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBlocksOfSeveralWorkspacesAreRead(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	var all []requestlog.Entry
	for i := range 3*entryblock.MaxEntries + 5 {
		e := storedEntry(fmt.Sprintf("ws%d", i%2), fmt.Sprint(i), time.Now())
		if i%7 == 0 { // the body is long enough to fill a block by itself
			e.Body.Response = []byte(strings.Repeat(fmt.Sprintf("%d ", i), entryblock.MaxBytes))
		}
		all = append(all, e)
	}

	writeAll(t, db, all[:entryblock.MaxEntries+3]...)
	writeAll(t, db, all[entryblock.MaxEntries+3:]...)

	for _, e := range all {
		checkStored(t, db, e)
	}
	if usage, err := db.Usage(t.Context()); err != nil || int(usage.Bodies) != len(all) {
		t.Errorf("usage %+v, %v; want %d bodies", usage, err, len(all))
	}
}

func TestDeletedEntryIsRemovedFromItsBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openFile(t, dir)
	stays, goes := storedEntry("ws", "stays", time.Now()), storedEntry("ws", "deleted-canary", time.Now())
	writeAll(t, db, stays, goes)
	if found := findInFiles(t, dir, "deleted-canary"); len(found) == 0 {
		t.Fatal("the text is not in the files before the deletion")
	}

	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws", Lists: requestlog.Lists{ID: []string{goes.ID}}}, false); n != 1 || err != nil {
		t.Fatalf("%d entries deleted, %v; want 1", n, err)
	}

	checkStored(t, db, stays)
	checkGone(t, db, goes)
	if found := findInFiles(t, dir, "deleted-canary"); len(found) > 0 {
		t.Errorf("deleted text is still in %v", found)
	}
	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws"}, false); n != 1 || err != nil {
		t.Fatalf("%d entries deleted, %v; want 1", n, err)
	}
	if n, m := countRows(t, db, "packs"), countRows(t, db, "packed_bodies"); n+m != 0 {
		t.Errorf("%d and %d blocks without entries remain, want none", n, m)
	}
	again := storedEntry("ws", "again", time.Now())
	writeAll(t, db, again)
	checkStored(t, db, again)
}

func TestExpiredBodiesAreRemovedFromTheirBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openFile(t, dir)
	now := time.Now()
	stays, goes := storedEntry("ws", "stays", now), storedEntry("ws", "deleted-canary", now.Add(-time.Hour))
	goes.Decision.Alone, goes.Tags = "", nil
	writeAll(t, db, goes, stays)

	expired, err := db.Expire(t.Context(), now, Retention{Bodies: time.Minute})

	if err != nil || expired != (Expired{Bodies: 1}) {
		t.Errorf("expired %+v, %v; want one body", expired, err)
	}
	checkStored(t, db, stays)
	if found := findInFiles(t, dir, "deleted-canary"); len(found) > 0 {
		t.Errorf("expired text is still in %v", found)
	}
	if e, err := db.Entry(t.Context(), "ws", goes.ID); err != nil || e.BodyState != requestlog.BodyExpired || e.Preview != "" {
		t.Errorf("entry %+v, %v; want it without a preview and with an expired body", e, err)
	}
	if _, err := db.EntryBody(t.Context(), "ws", goes.ID); !errors.Is(err, requestlog.ErrNotFound) {
		t.Errorf("read of an expired body: %v, want ErrNotFound", err)
	}
}

// TestBodiesOfAnyLengthAreRead checks that empty bodies differ from missing bodies. It uses lengths just below and above the length
// at which the length prefix needs another byte.
func TestBodiesOfAnyLengthAreRead(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	var all []requestlog.Entry
	for _, body := range []requestlog.Body{
		{},
		{Request: []byte{}},
		{Response: []byte{}},
		{Request: []byte("x"), Response: []byte(strings.Repeat("y", 126))},
		{Request: []byte(strings.Repeat("x", 127)), Response: []byte(strings.Repeat("y", 1<<14-2))},
		{Request: []byte(strings.Repeat("x", 1<<14-1))},
		{Response: []byte(strings.Repeat("many responses ", 1<<18))},
	} {
		e := storedEntry("ws", fmt.Sprint(len(all)), time.Now())
		e.Body = body
		all = append(all, e)
	}

	writeAll(t, db, all...)

	for _, e := range all {
		checkStored(t, db, e)
	}
}
