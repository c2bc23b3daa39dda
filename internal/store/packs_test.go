package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// storedEntry is an entry whose trace and texts are its own.
func storedEntry(workspace, name string, at time.Time) requestlog.Entry {
	return requestlog.Entry{
		ID: id.New("req", at), WorkspaceID: workspace, Time: at.UTC().Truncate(time.Millisecond), Preview: "preview of " + name, BodyState: requestlog.BodyStored,
		Decision: &route.Decision{Kind: route.Expected, Alone: name}, Tags: map[string]string{"name": name},
		Body: requestlog.Body{Request: []byte("request of " + name), Response: []byte(strings.Repeat("answer to "+name, 300)), Streamed: true},
	}
}

// checkStored reads an entry with everything it has.
func checkStored(t *testing.T, db *DB, e requestlog.Entry) {
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

// sameText spares cmp from looking at long texts byte by byte. One that is empty is not one that is not there.
func sameText(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func checkGone(t *testing.T, db *DB, e requestlog.Entry) {
	t.Helper()
	_, err := db.Entry(t.Context(), e.WorkspaceID, e.ID)
	_, errBody := db.EntryBody(t.Context(), e.WorkspaceID, e.ID)
	if !errors.Is(err, requestlog.ErrNotFound) || !errors.Is(errBody, requestlog.ErrNotFound) {
		t.Errorf("%s is read: %v, %v", e.Decision.Alone, err, errBody)
	}
}

func countRows(t *testing.T, db *DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `select count(*) from `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPacksOfSeveralWorkspacesAndSizesAreRead(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	var all []requestlog.Entry
	for i := range 3*Size + 5 {
		e := storedEntry(fmt.Sprintf("ws%d", i%2), fmt.Sprint(i), time.Now())
		if i%7 == 0 { // fills a pack by itself
			e.Body.Response = []byte(strings.Repeat(fmt.Sprintf("%d ", i), maxBlockBytes))
		}
		all = append(all, e)
	}

	writeAll(t, db, all[:Size+3]...)
	writeAll(t, db, all[Size+3:]...)

	for _, e := range all {
		checkStored(t, db, e)
	}
	if usage, err := db.Usage(t.Context()); err != nil || int(usage.Bodies) != len(all) {
		t.Errorf("usage %+v, %v; want %d bodies", usage, err, len(all))
	}
}

func TestABatchWrittenAgainWithOthersKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	first, second, third, fourth := storedEntry("ws", "first", time.Now()), storedEntry("ws", "second", time.Now()), storedEntry("ws", "third", time.Now()), storedEntry("ws", "fourth", time.Now())
	writeAll(t, db, first, second)

	changed := first
	changed.Decision = &route.Decision{Alone: "changed"}
	writeAll(t, db, third, second, fourth, changed)
	writeAll(t, db, third, fourth)

	for _, e := range []requestlog.Entry{first, second, third, fourth} {
		checkStored(t, db, e)
	}
	if n := countRows(t, db, "packs"); n != 2 {
		t.Errorf("%d packs, want 2", n)
	}
}

func TestWhatIsDeletedLeavesItsPack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openFile(t, dir)
	stays, goes := storedEntry("ws", "stays", time.Now()), storedEntry("ws", "goes-away-for-good", time.Now())
	writeAll(t, db, stays, goes)
	if found := findInFiles(t, dir, "goes-away-for-good"); len(found) == 0 {
		t.Fatal("the text is not in the files to begin with")
	}

	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws", ID: []string{goes.ID}}, false); n != 1 || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}

	checkStored(t, db, stays)
	checkGone(t, db, goes)
	if found := findInFiles(t, dir, "goes-away-for-good"); len(found) > 0 {
		t.Errorf("deleted text is still in %v", found)
	}
	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws"}, false); n != 1 || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}
	if n, m := countRows(t, db, "packs"), countRows(t, db, "packed_bodies"); n+m != 0 {
		t.Errorf("%d and %d packs without entries are left", n, m)
	}
	again := storedEntry("ws", "again", time.Now())
	writeAll(t, db, again)
	checkStored(t, db, again)
}

func TestExpiredTextsLeaveTheirPack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := openFile(t, dir)
	now := time.Now()
	stays, goes := storedEntry("ws", "stays", now), storedEntry("ws", "goes-away-for-good", now.Add(-time.Hour))
	goes.Decision.Alone, goes.Tags = "", nil
	writeAll(t, db, goes, stays)

	expired, err := db.Expire(t.Context(), now, Retention{Bodies: time.Minute})

	if err != nil || expired != (Expired{Bodies: 1}) {
		t.Errorf("expired %+v, %v", expired, err)
	}
	checkStored(t, db, stays)
	if found := findInFiles(t, dir, "goes-away-for-good"); len(found) > 0 {
		t.Errorf("expired text is still in %v", found)
	}
	if e, err := db.Entry(t.Context(), "ws", goes.ID); err != nil || e.BodyState != requestlog.BodyExpired || e.Preview != "" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := db.EntryBody(t.Context(), "ws", goes.ID); !errors.Is(err, requestlog.ErrNotFound) {
		t.Errorf("an expired body: %v", err)
	}
}

// TestEntriesFromBeforePacksAreRead opens a log whose details and bodies are in rows of their own.
func TestEntriesFromBeforePacksAreRead(t *testing.T) {
	t.Parallel()
	db := connectTo(t, "sqlite", t.TempDir())
	const packs = 12
	if err := db.migrate(t.Context(), embedded()[:packs-1]); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	old, older, fresh := storedEntry("ws", "old", now), storedEntry("ws", "older", now.Add(-time.Hour)), storedEntry("ws", "fresh", now)
	for _, e := range []requestlog.Entry{old, older} {
		writeBeforePacks(t, db, e)
	}
	if err := db.migrate(t.Context(), embedded()); err != nil {
		t.Fatal(err)
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
		t.Errorf("expired %+v, %v", expired, err)
	}
	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws"}, false); n != 3 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	for _, table := range []string{"details", "bodies", "packs", "packed_bodies", "tags"} {
		if n := countRows(t, db, table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

// TestDeflatedBodiesAreReadFromPacks has a pack as it was written when each body was compressed by itself, and the pack again.
func TestDeflatedBodiesAreReadFromPacks(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	stays, goes := storedEntry("ws", "stays", time.Now()), storedEntry("ws", "goes", time.Now())
	writeAll(t, db, stays, goes)
	var before Slots
	for _, e := range []requestlog.Entry{stays, goes} {
		slot := append(AppendSized(nil, []byte(e.ID)), 1)
		slot = AppendSized(slot, append([]byte{Plain}, e.Body.Request...))
		before = append(before, AppendSized(slot, deflated(t, string(e.Body.Response))))
	}
	if _, err := db.Exec(t.Context(), `update packed_bodies set content = $1`, db.codec.EncodeSlots(before)); err != nil {
		t.Fatal(err)
	}

	checkStored(t, db, stays)
	checkStored(t, db, goes)
	if n, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws", ID: []string{goes.ID}}, false); n != 1 || err != nil {
		t.Fatalf("%d deleted, %v", n, err)
	}
	checkStored(t, db, stays)
	checkGone(t, db, goes)
}

// TestBodiesOfAnyLengthComeBack tells a text that is empty from one that is not there, and has lengths on both sides of what takes a byte more to say.
func TestBodiesOfAnyLengthComeBack(t *testing.T) {
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
		{Response: []byte(strings.Repeat("many answers ", 1<<18))},
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

// writeBeforePacks writes an entry in the form that it had before there were packs.
func writeBeforePacks(t *testing.T, db *DB, e requestlog.Entry) {
	t.Helper()
	r := record{entry: &e, request: requestRow(&e)}
	if err := db.ownRows(&r, &batchBuffers{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		in  *Inserter
		row []any
	}{{insertRequests, r.request[:len(requestFields)]}, {insertDetails, r.detail}, {insertBodies, r.body}, {insertTags, []any{e.WorkspaceID, "name", e.ID}}} {
		if _, err := db.Exec(t.Context(), part.in.one, part.row...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedPacksAreErrors(t *testing.T) {
	t.Parallel()
	p := NewCodec()
	whole := p.EncodeSlots(Slots{[]byte("one"), nil, []byte(strings.Repeat("three", 1000))})
	for _, content := range [][]byte{whole[:len(whole)-1], {Plain, 200}, {Plain, 3, 'x'}, {packedQuick, 1}} {
		if all, err := p.DecodeSlots(content); err == nil {
			t.Errorf("%x was read as %d slots", content[:2], len(all))
		}
	}
	for _, slot := range []string{"", "\x01i", "\x01i\x00\x05", "\x01i\x00\x00\x09"} {
		if _, err := p.DecodeSlotBody([]byte(slot)); err == nil {
			t.Errorf("%q was read as a body", slot)
		}
	}
}
