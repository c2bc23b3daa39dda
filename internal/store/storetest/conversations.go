package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/entryblock"
	"fairlead.dev/internal/store/logstore"
	"fairlead.dev/internal/store/sqldb"
)

// Writer writes the turns of sessions like a replica.
type Writer struct {
	scope outline.Scope
	known *outline.Known
}

// NewWriter returns the writer of a replica. All replicas compute the same addresses.
func NewWriter(t testing.TB, workspace string) *Writer {
	t.Helper()
	key, err := outline.NewKey(bytes.Repeat([]byte("k"), 32))
	must(t, err)
	return &Writer{key.Scope(workspace), outline.NewKnown()}
}

// Entry returns the entry of a turn, with its request split as in the spool.
func (w *Writer) Entry(t testing.TB, workspace string, at time.Time, turn outlinetest.Turn) requestlog.Entry {
	t.Helper()
	e := sample(workspace, at)
	e.Body = requestlog.Body{Response: turn.Answer, Split: true, Whole: len(turn.Body)}
	var ok bool
	if e.Body.Request, e.Body.Parts, ok = w.scope.Split(turn.Body, nil, w.known.Of(outline.DayOf(at))); !ok {
		t.Fatal("the request was not split")
	}
	return e
}

// Write writes entries and records their parts as known.
func (w *Writer) Write(t testing.TB, db *store.DB, entries ...requestlog.Entry) {
	t.Helper()
	must(t, db.Log.WriteEntries(t.Context(), entries))
	for i := range entries {
		w.Remember(&entries[i])
	}
}

// Remember records the parts of a written entry as known. If parts were missing, it instead forgets all known parts.
func (w *Writer) Remember(e *requestlog.Entry) {
	if len(e.Body.Missing) > 0 {
		w.known.Clear()
		return
	}
	w.known.Add(outline.DayOf(e.Time), e.Body.Parts)
}

func messagesOf(t testing.TB, db *store.DB, workspace string) (n int) {
	t.Helper()
	must(t, db.QueryRow(t.Context(), `select count(*) from message_parts p join message_days d on d.scope = p.scope where d.workspace_id = $1`, workspace).Scan(&n))
	return n
}

func checkTurn(t testing.TB, db *store.DB, workspace, id string, turn outlinetest.Turn) {
	t.Helper()
	body, err := db.Log.EntryBody(t.Context(), workspace, id)
	must(t, err)
	if body.Gone != 0 || body.Split || !bytes.Equal(body.Request, turn.Body) || !bytes.Equal(body.Response, turn.Answer) {
		t.Errorf("a turn of %d bytes was read with %d bytes, %d parts missing", len(turn.Body), len(body.Request), body.Gone)
	}
}

func conversationsRoundTrip(t *testing.T, db *store.DB) {
	for i, format := range outlinetest.Formats() {
		ws := newWorkspace()
		w := NewWriter(t, ws)
		turns := outlinetest.Session{Format: format, Turns: 12, Growth: 3000, Seed: uint64(i), Marks: true}.Make()
		ids := make([]string, len(turns))
		for i, turn := range turns {
			e := w.Entry(t, ws, now.Add(time.Duration(i)*time.Second), turn)
			if i > 0 && len(e.Body.Parts) > 2*turn.New+2000 {
				t.Errorf("turn %d has parts of %d bytes for %d new bytes", i, len(e.Body.Parts), turn.New)
			}
			ids[i] = e.ID
			w.Write(t, db, e)
			w.Write(t, db, e) // a repeated batch changes nothing
		}
		for i, turn := range turns {
			checkTurn(t, db, ws, ids[i], turn)
		}
	}
}

func sharedMessagesAreDeletedWithTheirLastRequest(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	w := NewWriter(t, ws)
	turns := outlinetest.Session{Format: "messages", Turns: 10, Growth: 3000, Seed: 5}.Make()
	ids := make([]string, len(turns))
	for i, turn := range turns {
		e := w.Entry(t, ws, now.Add(time.Duration(i)*time.Second), turn)
		ids[i] = e.ID
		w.Write(t, db, e)
	}
	whole := messagesOf(t, db, ws)
	remove := func(ids ...string) {
		t.Helper()
		n, err := db.Log.DeleteEntries(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{ID: ids}}, false)
		if err != nil || n != int64(len(ids)) {
			t.Fatalf("deleted %d of %d: %v", n, len(ids), err)
		}
	}

	remove(ids[9])
	if left := messagesOf(t, db, ws); left >= whole {
		t.Errorf("%d of %d messages remain after the last turn was deleted, want fewer", left, whole)
	}
	checkTurn(t, db, ws, ids[8], turns[8])
	remove(ids[:8]...)
	checkTurn(t, db, ws, ids[8], turns[8])
	// The next turn of this writer refers to messages that were deleted with the last turn.
	late := w.Entry(t, ws, now.Add(time.Minute), turns[9])
	w.Write(t, db, late)
	body, err := db.Log.EntryBody(ctx, ws, late.ID)
	must(t, err)
	if body.Gone == 0 || bytes.Count(body.Request, []byte(outline.Gone)) != body.Gone {
		t.Errorf("%d parts missing, %d marks in the request; want equal numbers above 0",
			body.Gone, bytes.Count(body.Request, []byte(outline.Gone)))
	}
	healed := w.Entry(t, ws, now.Add(2*time.Minute), turns[9])
	w.Write(t, db, healed)
	checkTurn(t, db, ws, healed.ID, turns[9])
	checkTurn(t, db, ws, late.ID, turns[9]) // the parts of the late entry are stored again

	remove(ids[8], late.ID, healed.ID)
	if left := messagesOf(t, db, ws); left != 0 {
		t.Errorf("%d messages remain without a request, want 0", left)
	}
}

func conversationsExpireByDay(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	w := NewWriter(t, ws)
	turns := outlinetest.Session{Format: "chat", Turns: 4, Growth: 3000, Seed: 6}.Make()
	noon := ancient(0).Truncate(24 * time.Hour).Add(12 * time.Hour)
	first, second := w.Entry(t, ws, noon.AddDate(0, 0, -1), turns[0]), w.Entry(t, ws, noon.AddDate(0, 0, -1), turns[1])
	w.Write(t, db, first, second)
	third := w.Entry(t, ws, noon, turns[2])
	w.Write(t, db, third)
	fourth := w.Entry(t, ws, noon.Add(time.Second), turns[3])
	w.Write(t, db, fourth)
	all := messagesOf(t, db, ws)

	_, err := db.Log.Expire(ctx, noon.Add(13*time.Hour), logstore.Retention{Bodies: 20 * time.Hour})
	must(t, err)

	if left := messagesOf(t, db, ws); left == 0 || left > all*2/3 {
		t.Errorf("%d of %d messages remain after the first day, want 1 to two thirds", left, all)
	}
	if _, err := db.Log.EntryBody(ctx, ws, second.ID); err == nil {
		t.Error("EntryBody of an expired body returned no error")
	}
	checkTurn(t, db, ws, third.ID, turns[2])
	checkTurn(t, db, ws, fourth.ID, turns[3])
}

func replicasShareConversations(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	turns := outlinetest.Session{Format: "responses", Turns: 24, Growth: 2500, Seed: 9}.Make()
	ids := make([]string, len(turns))
	var replicas sync.WaitGroup
	for replica := range 2 {
		replicas.Go(func() {
			w := NewWriter(t, ws)
			for i := replica; i < len(turns); i += 2 {
				e := w.Entry(t, ws, now.Add(time.Duration(i)*time.Second), turns[i])
				ids[i] = e.ID
				w.Write(t, db, e)
			}
		})
	}
	replicas.Wait()
	for i, turn := range turns {
		checkTurn(t, db, ws, ids[i], turn)
	}
	if n, one := messagesOf(t, db, ws), slices.Max([]int{len(turns) * 6, 300}); n > one {
		t.Errorf("%d messages for %d turns, want at most %d", n, len(turns), one)
	}
}

// turnsNeedFewSearches checks that reading a turn searches the index only for the parts of the outline. Other parts are found through the
// segments of lists.
func turnsNeedFewSearches(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	w := NewWriter(t, ws)
	turns := outlinetest.Session{Format: "chat", Turns: 60, Growth: 2000, Seed: 4}.Make()
	var last requestlog.Entry
	for i, turn := range turns {
		last = w.Entry(t, ws, now.Add(time.Duration(i)*time.Second), turn)
		w.Write(t, db, last)
	}
	searched := map[outline.Address]bool{}
	must(t, outline.Each(last.Body.Request, func(_ []byte, kind outline.Kind, a outline.Address) error {
		searched[a] = kind != outline.Text
		return nil
	}))
	rows, err := db.Query(ctx, `select address from message_parts where scope = (select scope from message_days where workspace_id = $1)`, ws)
	all, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (address []byte, err error) {
		err = row.Scan(&address)
		return address, err
	})
	must(t, err)
	if len(searched) > len(all)/3 {
		t.Fatalf("the outline has %d of %d parts, want at most a third", len(searched), len(all))
	}
	for _, address := range all {
		if !searched[outline.Address(address)] {
			_, err := db.Exec(ctx, `delete from message_parts where address = $1`, address)
			must(t, err)
		}
	}

	checkTurn(t, db, ws, last.ID, turns[len(turns)-1])
}

// deletedMessagesLeaveSharedSegments checks that the text of a deleted request is removed from a segment that other requests need.
func deletedMessagesLeaveSharedSegments(t *testing.T, db *store.DB) {
	ctx, ws := t.Context(), newWorkspace()
	w, at := NewWriter(t, ws), now
	write := func(question string) (string, outlinetest.Turn) {
		at = at.Add(time.Second)
		turn := outlinetest.Turn{Answer: []byte(`{}`), Body: fmt.Appendf(nil, `{"model":"auto","messages":[{"role":"system","content":"%s"},{"role":"user","content":"%s"}]}`,
			strings.Repeat("Be brief. ", 300), strings.Repeat(question+" ", 300))}
		e := w.Entry(t, ws, at, turn)
		w.Write(t, db, e)
		return e.ID, turn
	}
	secret, _ := write("secret question")
	other, turn := write("other question")
	stored := func(text string) (found bool) {
		t.Helper()
		rows, err := db.Query(ctx, `select content from message_segments where scope = (select scope from message_days where workspace_id = $1)`, ws) //nolint:rowserrcheck // sqldb.Each checks rows.Err
		must(t, sqldb.Each(rows, err, func(row sqldb.Scanner) error {
			var packed []byte
			if err := row.Scan(&packed); err != nil {
				return err
			}
			content, err := entryblock.NewCodec().Unpack(packed)
			found = found || bytes.Contains(content, []byte(text))
			return err
		}))
		return found
	}
	if !stored("secret question") {
		t.Fatal("no segment contains the question")
	}

	n, err := db.Log.DeleteEntries(ctx, requestlog.Filter{WorkspaceID: ws, Lists: requestlog.Lists{ID: []string{secret}}}, false)
	if err != nil || n != 1 {
		t.Fatalf("deleted %d: %v", n, err)
	}

	if stored("secret question") {
		t.Error("the text of a deleted request is still stored")
	}
	if !stored("Be brief.") {
		t.Error("the shared text was deleted")
	}
	checkTurn(t, db, ws, other, turn)
}
