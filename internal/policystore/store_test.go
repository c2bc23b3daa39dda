package policystore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInstancePoliciesComeFirst(t *testing.T) {
	t.Parallel()
	b := newTestStore(newMemoryStorage())
	if b.For("ws_1") != nil || activeIn(b, "ws_1") != "" {
		t.Errorf("policies of an empty store are active: %q", activeIn(b, "ws_1"))
	}
	save(t, b, "ws_1", pinning("small"), 0)
	b.SetInstance(parsed(t, pinning("large")), defaultInventory())

	for ws, want := range map[string]string{"ws_1": "pin large", "ws_2": "pin large"} {
		if got := activeIn(b, ws); got != want {
			t.Errorf("%s: %q, want %q", ws, got, want)
		}
	}
	if b.For("ws_2") != b.Instance() || b.Own("ws_1").Len() != 1 || b.Own("ws_2") != nil || b.For("ws_1").Len() != 2 {
		t.Errorf("Len of ws_1: own %d, all %d; want 1, 2 and no own policies in ws_2", b.Own("ws_1").Len(), b.For("ws_1").Len())
	}
	b.SetInstance(nil, defaultInventory())
	if got := activeIn(b, "ws_1"); got != "pin small" {
		t.Errorf("active without instance policies: %q, want pin small", got)
	}
}

func TestSavedPoliciesAreActiveImmediately(t *testing.T) {
	t.Parallel()
	b := newTestStore(newMemoryStorage())
	first := save(t, b, "ws_1", pinning("small"), 0)
	second := save(t, b, "ws_1", pinning("large"), 1)

	if got := activeIn(b, "ws_1"); got != "pin large" {
		t.Errorf("active: %q", got)
	}
	if got := activeIn(b, "ws_2"); got != "" {
		t.Errorf("active in another workspace: %q", got)
	}
	want := Version{Number: 1, Hash: parsed(t, pinning("small")).Version(), Source: pinning("small"), Note: "because", CreatedBy: "acc_1", CreatedAt: start}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	list, err := b.Versions(t.Context(), "ws_1")
	if err != nil || len(list) != 2 || list[0].Number != second.Number || list[0].Source != "" {
		t.Errorf("versions are %+v, %v", list, err)
	}
	again := save(t, b, "ws_1", pinning("large"), 2)
	if diff := cmp.Diff(second, again); diff != "" {
		t.Errorf("saving the same text created a version: %s", diff)
	}
}

func TestInvalidPoliciesAreRejected(t *testing.T) {
	t.Parallel()
	storage := newMemoryStorage()
	b := newTestStore(storage)
	for _, source := range []string{pinning("no-account"), "policies: 7", "\xff", "nul\x00"} {
		if _, problems, err := b.Save(t.Context(), "ws_1", source, 0, "", "acc_1"); len(problems) == 0 || problems[0].Line != max(problems[0].Line, 1) || err != nil {
			t.Errorf("Save of %q: problems %v, error %v; want problems with a line", source, problems, err)
		}
	}
	if len(storage.versions) > 0 {
		t.Errorf("saved an invalid document: %v", storage.versions)
	}
}

func TestRollbackCreatesNewVersion(t *testing.T) {
	t.Parallel()
	b := newTestStore(newMemoryStorage())
	save(t, b, "ws_1", pinning("gone"), 0)
	save(t, b, "ws_1", pinning("large"), 1)

	v, problems, err := b.Rollback(t.Context(), "ws_1", 1, "acc_2")
	if err != nil || len(problems) > 0 || v.Number != 3 || v.Source != pinning("gone") || v.Note != "Restored version 1" || v.CreatedBy != "acc_2" {
		t.Errorf("Rollback = %+v, %v, %v; want version 3", v, problems, err)
	}
	if got := activeIn(b, "ws_1"); got != "pin gone" {
		t.Errorf("active: %q", got)
	}
	save(t, b, "ws_1", pinning("small"), 3)
	b.SetInstance(nil, inventoryOf("small", "large"))
	if _, problems, err := b.Rollback(t.Context(), "ws_1", 1, "acc_2"); len(problems) != 1 || err != nil {
		t.Errorf("Rollback to a removed model: problems %v, error %v; want one problem", problems, err)
	}
	if _, _, err := b.Rollback(t.Context(), "ws_1", 9, "acc_2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Rollback to a missing version: %v, want ErrNotFound", err)
	}
}

func TestReloadReadsRestoredDatabaseAgain(t *testing.T) {
	t.Parallel()
	b := newTestStore(newMemoryStorage())
	for i := range 3 {
		save(t, b, fmt.Sprint("ws_", i), pinning("small"), 0)
	}
	older := newMemoryStorage()
	save(t, newTestStore(older), "ws_0", pinning("large"), 0)
	b.storage = older
	reload(t, b)
	if got := [2]string{activeIn(b, "ws_0"), activeIn(b, "ws_2")}; got != [2]string{"pin large", ""} {
		t.Errorf("active: %q", got)
	}
}

func TestPoliciesStayActiveWithoutDatabase(t *testing.T) {
	t.Parallel()
	storage := newMemoryStorage()
	b, writer := newTestStore(storage), newTestStore(storage)
	save(t, b, "ws_1", pinning("small"), 0)
	save(t, writer, "ws_1", pinning("large"), 1)
	storage.fail = errors.New("unreachable")
	if err := b.Reload(t.Context()); !errors.Is(err, storage.fail) {
		t.Error(err)
	}
	if _, _, err := b.Save(t.Context(), "ws_1", pinning("gone"), 1, "", ""); !errors.Is(err, storage.fail) {
		t.Error(err)
	}
	if got := activeIn(b, "ws_1"); got != "pin small" {
		t.Errorf("active: %q", got)
	}
	storage.fail = nil
	reload(t, b)
	if got := activeIn(b, "ws_1"); got != "pin large" {
		t.Errorf("active after the database returned: %q", got)
	}
}

func TestNotesAreTruncated(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{" why\x00 \xff ", "why �"},
		{strings.Repeat("ä", 251), strings.Repeat("ä", 250)},
	} {
		if got := cleanNote(c[0]); got != c[1] {
			t.Errorf("cleanNote = %q, want %q", got, c[1])
		}
	}
}

// TestReadsAndWritesDoNotRace is for the race detector.
func TestReadsAndWritesDoNotRace(t *testing.T) {
	t.Parallel()
	storage := newMemoryStorage()
	b, other := newTestStore(storage), newTestStore(storage)
	var all sync.WaitGroup
	for w := range 3 {
		ws := fmt.Sprint("ws_", w)
		all.Go(func() {
			for i := range 10 {
				save(t, b, ws, pinning([]string{"small", "large"}[i%2]), int64(i))
			}
		})
		all.Go(func() {
			for range 10 {
				if err := other.Reload(t.Context()); err != nil {
					t.Error(err)
				}
				activeIn(other, ws)
				activeIn(b, ws)
				b.Problems(ws)
			}
		})
	}
	all.Go(func() {
		for range 5 {
			b.SetInstance(nil, defaultInventory())
		}
	})
	all.Wait()
	reload(t, other)
	for w := range 3 {
		if ws := fmt.Sprint("ws_", w); activeIn(b, ws) != "pin large" || activeIn(other, ws) != "pin large" {
			t.Errorf("%s: active here %q, there %q; want pin large", ws, activeIn(b, ws), activeIn(other, ws))
		}
	}
}
