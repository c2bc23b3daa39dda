package logstore

import (
	"bytes"
	"compress/flate"
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
	"fairlead.dev/internal/store/sqldb"
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

func TestWritingBatchAgainKeepsExistingEntries(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	first, second, third, fourth := storedEntry("ws", "first", time.Now()), storedEntry("ws", "second", time.Now()), storedEntry("ws", "third", time.Now()), storedEntry("ws", "fourth", time.Now())
	writeAll(t, db, first, second)

	changed := first
	changed.Decision = &route.Decision{PolicyChange: route.PolicyChange{Alone: "changed"}}
	writeAll(t, db, third, second, fourth, changed)
	writeAll(t, db, third, fourth)

	for _, e := range []requestlog.Entry{first, second, third, fourth} {
		checkStored(t, db, e)
	}
	if n := countRows(t, db, "packs"); n != 2 {
		t.Errorf("%d blocks, want 2", n)
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

// TestEntriesWithoutBlocksAreRead opens a log from a version without blocks, where each entry has rows for its details and
// bodies.
func TestEntriesWithoutBlocksAreRead(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	now := time.Now()
	old, older, fresh := storedEntry("ws", "old", now), storedEntry("ws", "older", now.Add(-time.Hour)), storedEntry("ws", "fresh", now)
	for _, e := range []requestlog.Entry{old, older} {
		writeBeforeBlocks(t, db, e)
	}

	writeAll(t, db, fresh, old)

	for _, e := range []requestlog.Entry{old, older, fresh} {
		checkStored(t, db, e)
	}
	listed, err := db.Entries(t.Context(), requestlog.Filter{WorkspaceID: "ws"}, requestlog.Page{})
	if err != nil || len(listed) != 3 {
		t.Errorf("%d entries, %v; want 3", len(listed), err)
	}
	if expired, err := db.Expire(t.Context(), now, Retention{Bodies: time.Minute}); err != nil || expired != (Expired{Bodies: 1}) {
		t.Errorf("expired %+v, %v; want one body", expired, err)
	}
	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws"}, false); n != 3 || err != nil {
		t.Errorf("%d entries deleted, %v; want 3", n, err)
	}
	for _, table := range []string{"details", "bodies", "packs", "packed_bodies", "tags"} {
		if n := countRows(t, db, table); n != 0 {
			t.Errorf("%d rows remain in %s, want 0", n, table)
		}
	}
}

// TestDeflatedBodiesAreReadFromBlocks reads a block whose bodies were deflated before the whole block was compressed.
func TestDeflatedBodiesAreReadFromBlocks(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	stays, goes := storedEntry("ws", "stays", time.Now()), storedEntry("ws", "goes", time.Now())
	writeAll(t, db, stays, goes)
	var before entryblock.Slots
	for _, e := range []requestlog.Entry{stays, goes} {
		slot := append(entryblock.AppendSized(nil, []byte(e.ID)), 1)
		slot = entryblock.AppendSized(slot, append([]byte{entryblock.Plain}, e.Body.Request...))
		before = append(before, entryblock.AppendSized(slot, deflated(t, e.Body.Response)))
	}
	if _, err := db.Exec(t.Context(), `update packed_bodies set content = $1`, db.codec.EncodeSlots(before)); err != nil {
		t.Fatal(err)
	}

	checkStored(t, db, stays)
	checkStored(t, db, goes)
	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws", Lists: requestlog.Lists{ID: []string{goes.ID}}}, false); n != 1 || err != nil {
		t.Fatalf("%d entries deleted, %v; want 1", n, err)
	}
	checkStored(t, db, stays)
	checkGone(t, db, goes)
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

// writeBeforeBlocks writes an entry in the format of versions without blocks.
func writeBeforeBlocks(t *testing.T, db *testDB, e requestlog.Entry) {
	t.Helper()
	r := record{entry: &e, request: requestRow(&e)}
	if err := db.encodeRows(&r, &batchBuffers{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		in  *sqldb.Inserter
		row []any
	}{{db.inserters.requests, r.request}, {db.inserters.details, r.detail}, {db.inserters.bodies, r.body}, {db.inserters.tags, []any{e.WorkspaceID, "name", e.ID}}} {
		if _, err := db.Exec(t.Context(), part.in.Statements()[0], part.row...); err != nil {
			t.Fatal(err)
		}
	}
}

// deflated returns a text packed in the format of earlier versions.
func deflated(t *testing.T, text []byte) []byte {
	t.Helper()
	packed := bytes.NewBuffer([]byte{1})
	w, err := flate.NewWriter(packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
