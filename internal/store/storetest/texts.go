package storetest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/fulltext"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/logstore"
)

// textEntry returns an entry whose request and response have the given texts.
func textEntry(t testing.TB, workspace string, at time.Time, prompt, answer string) requestlog.Entry {
	t.Helper()
	e := sample(workspace, at)
	request, err := json.Marshal(map[string]any{"model": "auto", "messages": []map[string]string{{"role": "user", "content": prompt}}})
	must(t, err)
	response, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": answer}}}})
	must(t, err)
	e.Body = requestlog.Body{Request: request, Response: response}
	return e
}

func foundTexts(t testing.TB, db *store.DB, f requestlog.Filter) []string {
	t.Helper()
	entries, err := db.Log.Entries(t.Context(), f, requestlog.Page{})
	must(t, err)
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	n, err := db.Log.Count(t.Context(), f, 1000)
	must(t, err)
	if f.From.IsZero() {
		f.From, f.To = now.Add(-72*time.Hour), now.Add(time.Hour)
	}
	volumes, err := db.Log.Volumes(t.Context(), requestlog.VolumeQuery{Filter: f, Step: 24 * time.Hour})
	must(t, err)
	sum := 0
	for _, v := range volumes {
		sum += int(v.Requests)
	}
	if n != len(ids) || sum != len(ids) {
		t.Errorf("%q: listed %d requests, counted %d, counted over time %d; want equal numbers", f.Text, len(ids), n, sum)
	}
	return ids
}

func textsAreFound(t *testing.T, db *store.DB) {
	ws, other := newWorkspace(), newWorkspace()
	a := textEntry(t, ws, now.Add(-30*time.Hour), "The connection reset by peer", "Try again with TLS")
	b := textEntry(t, ws, now.Add(-time.Hour), "reset the connection", "Überprüfe user@example.com")
	c := textEntry(t, ws, now, "Ärger mit 東京タワー", "it's done")
	b.Tags = map[string]string{"team": "blue"}
	hidden := textEntry(t, ws, now, "connection reset hidden", "")
	hidden.BodyState = requestlog.BodyDisabledByRequest
	foreign := textEntry(t, other, now, "connection reset elsewhere", "")
	must(t, db.Log.WriteEntries(t.Context(), []requestlog.Entry{a, b, c, hidden, foreign}))
	for text, want := range map[string][]string{
		"connection":                {b.ID, a.ID},
		`"connection reset"`:        {a.ID},
		"CONNECTION reset -peer":    {b.ID},
		"user@example.com":          {b.ID},
		"example.org":               nil,
		"überprüfe":                 {b.ID},
		"京タ":                        {c.ID},
		"conn*":                     {b.ID, a.ID},
		"hidden":                    nil,
		"elsewhere":                 nil,
		"assistant":                 nil,
		"tls connection -elsewhere": {a.ID},
	} {
		got := foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: text})
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			t.Errorf("search for %s (-want +got):\n%s", text, diff)
		}
	}
	for name, f := range map[string]requestlog.Filter{
		"tag":  {Text: "reset", Lists: requestlog.Lists{Tag: []string{"team=blue"}}},
		"time": {Text: "reset", From: now.Add(-2 * time.Hour), To: now.Add(time.Hour)},
		"id":   {Text: "reset", Lists: requestlog.Lists{ID: []string{b.ID, c.ID}}},
	} {
		f.WorkspaceID = ws
		if diff := cmp.Diff([]string{b.ID}, foundTexts(t, db, f)); diff != "" {
			t.Errorf("with %s: %s", name, diff)
		}
	}
	sorted, err := db.Log.Entries(t.Context(), requestlog.Filter{WorkspaceID: ws, Text: "reset"}, requestlog.Page{Sort: "cost"})
	if err != nil || len(sorted) != 2 {
		t.Errorf("sorted by cost: %d requests, %v; want 2", len(sorted), err)
	}
	page, err := db.Log.Entries(t.Context(), requestlog.Filter{WorkspaceID: ws, Text: "reset"}, requestlog.Page{Before: b.ID})
	if err != nil || len(page) != 1 || page[0].ID != a.ID {
		t.Errorf("second page: %d requests, %v; want the first entry", len(page), err)
	}
}

func textsAreDeletedWithTheirRequests(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	a, b := textEntry(t, ws, now, "vanishing zebra", ""), textEntry(t, ws, now, "remaining zebra", "")
	must(t, db.Log.WriteEntries(t.Context(), []requestlog.Entry{a, b}))
	if n, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: ws, Text: "vanishing"}, true); err != nil || n != 1 {
		t.Errorf("dry run: %d requests, %v; want 1", n, err)
	}
	if n, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: ws, Text: "vanishing"}, false); err != nil || n != 1 {
		t.Errorf("deleted %d requests, %v; want 1", n, err)
	}
	if got := foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: "vanishing"}); len(got) > 0 {
		t.Errorf("search finds the deleted text in %v", got)
	}
	if diff := cmp.Diff([]string{b.ID}, foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: "zebra"})); diff != "" {
		t.Error(diff)
	}
}

func textsExpire(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	e := textEntry(t, ws, now, "expiring giraffe", "")
	must(t, db.Log.WriteEntries(t.Context(), []requestlog.Entry{e})) // the text index is off, so the words are not stored
	_, err := db.Log.Entries(t.Context(), requestlog.Filter{WorkspaceID: ws, Text: "giraffe"}, requestlog.Page{})
	if rejected, ok := errors.AsType[*llm.Error](err); !ok || rejected.Param != "text" || !strings.Contains(rejected.Message, "log.search") {
		t.Errorf("search without an index: %v, want an error for text that names log.search", err)
	}
	db.Log.SetTextIndex(true)
	e = textEntry(t, ws, now.Add(time.Second), "expiring giraffe", "")
	must(t, db.Log.WriteEntries(t.Context(), []requestlog.Entry{e}))
	if got := foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: "giraffe"}); len(got) != 1 {
		t.Errorf("found %v, want one request", got)
	}
	for _, later := range []time.Duration{73 * time.Hour, 120 * time.Hour} {
		_, err = db.Log.Expire(t.Context(), now.Add(later), logstore.Retention{Bodies: 72 * time.Hour})
		must(t, err)
		if got := foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: "giraffe"}); len(got) > 0 {
			t.Errorf("search finds the expired text after %s", later)
		}
	}
	var left int
	q := `select count(*) from request_text`
	if db.Dialect() == "sqlite" {
		q = `select count(*) from sqlite_master where name glob 'text_[0-9]*'`
	}
	if must(t, db.QueryRow(t.Context(), q).Scan(&left)); left > 0 {
		t.Errorf("%d rows or tables remain, want 0", left)
	}
}

func anySearchTextIsSafe(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	must(t, db.Log.WriteEntries(t.Context(), []requestlog.Entry{textEntry(t, ws, now, "some text to find", "an answer")}))
	special := rapid.StringOfN(rapid.RuneFrom([]rune("ab -\"'*():&|!<>{}[]^~\\,;+./%_$\x00\u202e東é\nANDORNOTEAR")), 0, 60, -1)
	any := rapid.StringOfN(rapid.Rune(), 0, 40, 256)
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(special, any, rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) })).Draw(r, "text")
		f, _, err := requestlog.ParseFilter(map[string][]string{"text": {text}}, now)
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				r.Fatalf("search text %q: %v, want an *llm.Error", text, err)
			}
			return
		}
		f.WorkspaceID = ws
		if _, err := db.Log.Entries(t.Context(), f, requestlog.Page{}); err != nil {
			r.Fatalf("search for %q: %v", text, err)
		}
		if _, err := db.Log.Count(t.Context(), f, 10); err != nil {
			r.Fatalf("count of %q: %v", text, err)
		}
	})
}

func turnsIndexNewTextOnly(t *testing.T, db *store.DB) {
	for i, format := range outlinetest.Formats() {
		ws := newWorkspace()
		w := NewWriter(t, ws)
		turns := outlinetest.Session{Format: format, Turns: 6, Growth: 3000, Seed: uint64(i)}.Make()
		ids := make([]string, len(turns))
		for i, turn := range turns {
			e := w.Entry(t, ws, now.Add(time.Duration(i)*time.Second), turn)
			e.Body.Response = []byte(`{"content":"uniqueanswer` + string(rune('a'+i)) + `"}`)
			ids[i] = e.ID
			if i == 3 { // a new process does not know which parts are stored, so its entry contains all parts
				w = NewWriter(t, ws)
				e.Body.Request, e.Body.Parts, _ = w.scope.Split(turn.Body, nil, func(outline.Address) bool { return false })
			}
			w.Write(t, db, e)
		}
		for i := range turns {
			got := foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: "uniqueanswer" + string(rune('a'+i))})
			if diff := cmp.Diff([]string{ids[i]}, got); diff != "" {
				t.Errorf("%s: turn %d: %s", format, i, diff)
			}
		}
		got := foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: `"` + firstWords(t, turns[0].Body) + `"`})
		if diff := cmp.Diff([]string{ids[0]}, got); diff != "" {
			t.Errorf("%s: the first text: %s", format, diff)
		}
	}
}

// firstWords returns the first eight words of the first long text of a request.
func firstWords(t testing.TB, body []byte) string {
	t.Helper()
	var found string
	(&fulltext.Scanner{}).Scan(body, func(text []byte) {
		if words, n := fulltext.AppendWords(nil, text); n >= 40 && found == "" {
			found = string(fulltext.CutWords(words, 8))
		}
	})
	return found
}
