package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/id"
	"fairlead/internal/requestlog"
)

// minutely is a database with an entry each minute, the newest at this time.
func minutely(t *testing.T, newest time.Time, entries int) *DB {
	t.Helper()
	db := openFile(t, t.TempDir())
	var batch []requestlog.Entry
	for i := range entries {
		at := newest.Add(-time.Duration(i) * time.Minute)
		batch = append(batch, requestlog.Entry{ID: id.New("req", at), WorkspaceID: "ws", Time: at})
	}
	if err := db.WriteEntries(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestSearchGivesUpALookThatTakesTooLong(t *testing.T) {
	t.Parallel()
	newest := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	oldest := newest.Add(-600 * time.Minute)
	for _, test := range []struct {
		name    string
		longest time.Duration // that the database manages in time
		looked  []string      // widths
		before  time.Duration // how far it got
	}{
		{"a later look leaves what is found", 5 * time.Minute, []string{"1m0s", "4m0s", "16m0s"}, 5 * time.Minute},
		{"a first look is repeated with less", 10 * time.Second, []string{"1m0s", "3.75s", "15s"}, 3750 * time.Millisecond},
		{"the shortest look is never given up", time.Nanosecond, []string{"1m0s", "3.75s", "235ms", "15ms", "1ms"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var looked []string
			var err error
			look := func(ctx context.Context, part bounds) (bool, error) {
				edge := newest
				if high, ok := id.Time(part.high); ok {
					edge = high
				}
				low, _ := id.Time(part.low)
				looked = append(looked, edge.Sub(low).Round(time.Millisecond).String())
				if edge.Sub(low) <= test.longest {
					return false, nil
				}
				if _, bounded := ctx.Deadline(); !bounded {
					return true, nil
				}
				<-ctx.Done() // as the database does with a statement
				return false, ctx.Err()
			}
			synctest.Test(t, func(t *testing.T) {
				err = searchSpan(t.Context(), bounds{descending: true}, oldest, newest, 100*time.Millisecond, look)
			})

			if diff := cmp.Diff(test.looked, looked); diff != "" {
				t.Errorf("widths of the looks: %s", diff)
			}
			unfinished, ok := errors.AsType[*requestlog.UnfinishedError](err)
			switch {
			case test.before == 0 && err != nil:
				t.Errorf("error is %v", err)
			case test.before > 0 && (!ok || unfinished.Before != id.Floor("req", newest.Add(-test.before))):
				t.Errorf("error is %v (%+v)", err, unfinished)
			}
		})
	}
}

func TestSearchEndsWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	db := minutely(t, time.Now(), 3)
	ctx, leave := context.WithCancel(t.Context())

	err := db.search(ctx, "ws", bounds{descending: true}, time.Minute, func(ctx context.Context, _ bounds) (bool, error) {
		leave()
		return false, ctx.Err()
	})

	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that the caller left", err)
	}
}
