package logstore

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/logquery"
)

func TestTextSearchBeginsWithTheIndex(t *testing.T) {
	t.Parallel()
	db := openFile(t, t.TempDir())
	db.SetTextIndex(true)
	e := textEntry("")
	e.BodyState, e.Body = requestlog.BodyStored, requestlog.Body{Request: []byte(`{"content":"word"}`)}
	f := requestlog.Filter{WorkspaceID: "ws", Text: "word", Lists: requestlog.Lists{Model: []string{""}}}
	if err := db.WriteEntries(t.Context(), []requestlog.Entry{e}); err != nil {
		t.Fatal(err)
	}
	if err := db.texts.Prepare(t.Context(), &f); err != nil {
		t.Fatal(err)
	}
	q, args := db.query().Listing(&f, logquery.Bounds{Descending: true}, 50)
	if plan := strings.Join(queryPlan(t, db, q, args), "\n"); !strings.Contains(plan, "SEARCH r USING INDEX requests_place (place=?)") {
		t.Errorf("the text search does not start with the index: %s", plan)
	}
}

func TestDeletedWordsAreRemovedFromTheFiles(t *testing.T) {
	t.Parallel()
	const canary, other = "quokkacanary", "remainingword"
	for name, remove := range map[string]func(db *testDB, id string) error{
		"deleted": func(db *testDB, id string) error {
			_, err := db.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws", Lists: requestlog.Lists{ID: []string{id}}}, false)
			return err
		},
		"expired": func(db *testDB, _ string) error {
			_, err := db.Expire(t.Context(), time.Now().Add(50*time.Hour), Retention{Bodies: 24 * time.Hour})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			db := openFile(t, dir)
			db.SetTextIndex(true)
			write := func(text string) string {
				e := textEntry("")
				e.BodyState, e.Body = requestlog.BodyStored, requestlog.Body{Request: []byte(`{"content":"` + text + `"}`), Response: []byte(`{}`)}
				if err := db.WriteEntries(t.Context(), []requestlog.Entry{e}); err != nil {
					t.Fatal(err)
				}
				return e.ID
			}
			id := write(canary)
			for range 3 {
				write(other)
			}
			if found := findInFiles(t, dir, canary); len(found) == 0 {
				t.Fatal("the word is not in the files before the removal")
			}

			if err := remove(db, id); err != nil {
				t.Fatal(err)
			}

			if found := findInFiles(t, dir, canary); len(found) > 0 {
				t.Errorf("the word is still in %v", found)
			}
			want := 3
			if name == "expired" {
				want = 0
			}
			if n, err := db.Count(t.Context(), requestlog.Filter{WorkspaceID: "ws", Text: other}, 10); err != nil || n != want {
				t.Errorf("%d requests contain the other word, %v; want %d", n, err, want)
			}
		})
	}
}
