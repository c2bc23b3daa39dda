package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
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
	return ids
}

func textsAreFound(t *testing.T, db *store.DB) {
	ws, other := newWorkspace(), newWorkspace()
	a := textEntry(t, ws, now.Add(-30*time.Hour), "The connection \"reset\" by peer", "Try again with TLS")
	b := textEntry(t, ws, now.Add(-time.Hour), "reset the connection", "Überprüfe user@example.com")
	c := textEntry(t, ws, now, "Ärger mit 東京タワー <b>", "it's done")
	b.Tags = map[string]string{"team": "blue"}
	hidden := textEntry(t, ws, now, "connection reset hidden", "")
	hidden.BodyState = requestlog.BodyDisabledByRequest
	foreign := textEntry(t, other, now, "connection reset elsewhere", "")
	must(t, db.Log.WriteEntries(t.Context(), []requestlog.Entry{a, b, c, hidden, foreign}))
	for text, want := range map[string][]string{
		"connection":           {b.ID, a.ID},
		"CONNECTION":           {b.ID, a.ID},
		`connection "reset" b`: {a.ID},
		"nection":              {b.ID, a.ID},
		"user@example.com":     {b.ID},
		"example.org":          nil,
		"überprüfe":            {b.ID},
		"京タ":                   {c.ID},
		"<B>":                  {c.ID},
		"hidden":               nil,
		"elsewhere":            nil,
		"%":                    nil,
		"\x00\xff":             nil,
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
	f := requestlog.Filter{WorkspaceID: ws, Text: "reset"}
	page, err := db.Log.Entries(t.Context(), f, requestlog.Page{Before: b.ID})
	if err != nil || len(page) != 1 || page[0].ID != a.ID {
		t.Errorf("second page: %d requests, %v; want the first entry", len(page), err)
	}
	for name, read := range map[string]func() error{
		"sort":   func() error { _, err := db.Log.Entries(t.Context(), f, requestlog.Page{Sort: "cost"}); return err },
		"count":  func() error { _, err := db.Log.Count(t.Context(), f, 10); return err },
		"delete": func() error { _, err := db.Log.DeleteEntries(t.Context(), f, false); return err },
		"volumes": func() error {
			_, err := db.Log.Volumes(t.Context(), requestlog.VolumeQuery{Filter: f, Step: time.Hour})
			return err
		},
	} {
		if e, ok := errors.AsType[*llm.Error](read()); !ok || e.Param != "text" {
			t.Errorf("%s: got %v, want an error for the parameter text", name, e)
		}
	}
}

// textSearchContinues searches with a limit that stops after one entry.
func textSearchContinues(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	var entries []requestlog.Entry
	for i := range 6 {
		entries = append(entries, textEntry(t, ws, now.Add(-time.Duration(i)*time.Hour), []string{"a zebra", "a horse"}[i%2], ""))
	}
	must(t, db.Log.WriteEntries(t.Context(), entries))
	f, p, stops := requestlog.Filter{WorkspaceID: ws, Text: "zebra"}, requestlog.Page{Within: 1}, 0
	var found []string
	for {
		page, err := db.Log.Entries(t.Context(), f, p)
		for i := range page {
			found = append(found, page[i].ID)
		}
		if err == nil {
			break
		}
		unfinished, ok := errors.AsType[*requestlog.UnfinishedError](err)
		if !ok || p.Before != "" && unfinished.Before >= p.Before {
			t.Fatalf("after %s: %v, want progress", p.Before, err)
		}
		p.Before = unfinished.Before
		stops++
	}
	if diff := cmp.Diff([]string{entries[0].ID, entries[2].ID, entries[4].ID}, found); diff != "" || stops < 6 {
		t.Errorf("%d stops, want at least 6 (-want +got):\n%s", stops, diff)
	}
}

func textsExpire(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	e := textEntry(t, ws, now, "expiring giraffe", "")
	must(t, db.Log.WriteEntries(t.Context(), []requestlog.Entry{e}))
	f := requestlog.Filter{WorkspaceID: ws, Text: "giraffe"}
	if got := foundTexts(t, db, f); len(got) != 1 {
		t.Errorf("found %v, want one request", got)
	}
	_, err := db.Log.Expire(t.Context(), now.Add(73*time.Hour), logstore.Retention{Bodies: 72 * time.Hour})
	must(t, err)
	if got := foundTexts(t, db, f); len(got) > 0 {
		t.Error("the search finds expired text")
	}
}

// textsOfTurnsAreFound searches conversations whose turns share parts of their bodies.
func textsOfTurnsAreFound(t *testing.T, db *store.DB) {
	ws := newWorkspace()
	w := NewWriter(t, ws)
	turns := outlinetest.Session{Format: "chat", Turns: 3, Growth: 3000, Seed: 1}.Make()
	var want []string
	for i, turn := range turns {
		turn.Body = bytes.Replace(turn.Body, []byte(`"content":"`), []byte(`"content":"unusualbeginning `), 1)
		e := w.Entry(t, ws, now.Add(time.Duration(i)*time.Second), turn)
		w.Write(t, db, e)
		want = slices.Insert(want, 0, e.ID)
	}
	if diff := cmp.Diff(want, foundTexts(t, db, requestlog.Filter{WorkspaceID: ws, Text: "unusualbeginning"})); diff != "" {
		t.Error(diff)
	}
}
