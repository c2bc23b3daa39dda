package logstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
)

// minutely returns a database with one entry per minute.
func minutely(t *testing.T, newest time.Time, entries int) *testDB {
	t.Helper()
	db := openFile(t, t.TempDir())
	var batch []requestlog.Entry
	for i := range entries {
		at := newest.Add(-time.Duration(i) * time.Minute)
		batch = append(batch, requestlog.Entry{ID: id.New("req", at), Owner: requestlog.Owner{WorkspaceID: "ws"}, Timing: requestlog.Timing{Time: at}})
	}
	if err := db.WriteEntries(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestSearchCancelsSlowSteps(t *testing.T) {
	t.Parallel()
	newest := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	oldest := newest.Add(-600 * time.Minute)
	for _, test := range []struct {
		name     string
		longest  time.Duration // longest stretch that the simulated database can search in time
		searched []string      // widths of the searched stretches
		before   time.Duration // time between the newest entry and the end of the search
	}{
		{"a later step keeps the results", 5 * time.Minute, []string{"1m0s", "4m0s", "16m0s"}, 5 * time.Minute},
		{"the first step is repeated with a shorter stretch", 10 * time.Second, []string{"1m0s", "3.75s", "15s"}, 3750 * time.Millisecond},
		{"the shortest step is never cancelled", time.Nanosecond, []string{"1m0s", "3.75s", "235ms", "15ms", "1ms"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var searched []string
			var err error
			run := func(ctx context.Context, part idBounds) (bool, error) {
				edge := newest
				if high, ok := id.Time(part.High); ok {
					edge = high
				}
				low, _ := id.Time(part.Low)
				searched = append(searched, edge.Sub(low).Round(time.Millisecond).String())
				if edge.Sub(low) <= test.longest {
					return false, nil
				}
				if _, bounded := ctx.Deadline(); !bounded {
					return true, nil
				}
				<-ctx.Done() // a slow statement also ends only when its context is cancelled
				return false, ctx.Err()
			}
			synctest.Test(t, func(t *testing.T) {
				err = searchSpan(t.Context(), idBounds{Descending: true}, oldest, newest, 100*time.Millisecond, run)
			})

			if diff := cmp.Diff(test.searched, searched); diff != "" {
				t.Errorf("widths of the steps: %s", diff)
			}
			unfinished, ok := errors.AsType[*requestlog.UnfinishedError](err)
			switch {
			case test.before == 0 && err != nil:
				t.Errorf("Search: %v, want no error", err)
			case test.before > 0 && (!ok || unfinished.Before != id.Floor("req", newest.Add(-test.before))):
				t.Errorf("Search: %v (%+v), want it unfinished before %s", err, unfinished, newest.Add(-test.before))
			}
		})
	}
}

func TestSearchEndsWhenContextIsCancelled(t *testing.T) {
	t.Parallel()
	db := minutely(t, time.Now(), 3)
	ctx, cancel := context.WithCancel(t.Context())

	err := db.search(ctx, "ws", idBounds{Descending: true}, time.Minute, func(ctx context.Context, _ idBounds) (bool, error) {
		cancel()
		return false, ctx.Err()
	})

	if !errors.Is(err, context.Canceled) {
		t.Errorf("Search: %v, want context.Canceled", err)
	}
}
