package feedback

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// fitted returns the corrections of a new index from a list of outcomes.
func fitted(t testing.TB, outcomes []Rating, today time.Time) *Corrections {
	t.Helper()
	b := newTestBook(newFakeStore(), &clock{t: start})
	b.day = today
	c, err := b.fit(b.usable(outcomes)).corrections()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestIndexAgreesWithPlainList makes two replicas rate, reset, erase and refresh in random order and compares the result with
// the corrections from a plain list of the ratings.
func TestIndexAgreesWithPlainList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c, store := &clock{t: start}, newFakeStore()
		books := []*Index{newTestBook(store, c), newTestBook(store, c)}
		var list []Rating
		without := func(drop func(Rating) bool) {
			var kept []Rating
			for _, r := range list {
				if !drop(r) {
					kept = append(kept, r)
				}
			}
			list = kept
		}
		book := func(rt *rapid.T) *Index { return books[rapid.IntRange(0, 1).Draw(rt, "replica")] }
		tick := func() { c.move(time.Millisecond) } // no two changes have the same time
		rt.Repeat(map[string]func(*rapid.T){
			"rate": func(rt *rapid.T) {
				tick()
				r := draft(rapid.IntRange(0, 9).Draw(rt, "request"), rapid.SampledFrom([]string{"small", "large"}).Draw(rt, "model"), rapid.Float64Range(0, 1).Draw(rt, "score"))
				saved := rate(t, book(rt), r)
				without(func(old Rating) bool { return old.RequestID == r.RequestID })
				list = append(list, saved)
			},
			"reset": func(rt *rapid.T) {
				tick()
				model := rapid.SampledFrom([]string{"", "small"}).Draw(rt, "model")
				if err := book(rt).Reset(t.Context(), "ws_1", model); err != nil {
					rt.Fatal(err)
				}
				without(func(r Rating) bool { return model == "" || r.Model == model })
			},
			"erase": func(rt *rapid.T) {
				request := requestID(rapid.IntRange(0, 9).Draw(rt, "request"))
				store.erase("ws_1", request)
				without(func(r Rating) bool { return r.RequestID == request })
			},
			"time passes": func(rt *rapid.T) {
				c.move(time.Duration(rapid.IntRange(1, 100).Draw(rt, "hours")) * time.Hour)
			},
			"": func(rt *rapid.T) {
				c.move(maxPause)
				want := fitted(t, list, dayOf(c.now()))
				for i, b := range books {
					if err := b.Refresh(t.Context()); err != nil {
						rt.Fatal(err)
					}
					got := b.For("ws_1")
					if got == nil {
						got = &Corrections{}
					}
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						rt.Fatalf("replica %d: %s", i, diff)
					}
				}
			},
		})
	})
}

// TestConcurrentReadsAndWrites lets the race detector find data races. It also checks that no rating is lost.
func TestConcurrentReadsAndWrites(t *testing.T) {
	t.Parallel()
	c, store := &clock{t: start}, newFakeStore()
	b := newTestBook(store, c)
	const writers, each = 4, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				c.move(minPause / 3)
				r := draft(w*each+i, "small", 0)
				r.WorkspaceID = fmt.Sprint("ws_", w%2)
				if _, err := b.Rate(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range each {
				chance(b, "ws_1", "small")
				b.Learning("ws_0")
				if err := b.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	refresh(t, b, c)
	for _, ws := range []string{"ws_0", "ws_1"} {
		if got := b.Learning(ws).Verdicts; got != writers*each/2 {
			t.Errorf("%s: %d ratings count, want %d", ws, got, writers*each/2)
		}
	}
}
