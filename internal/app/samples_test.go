package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/admin/overview"
	"fairlead/internal/simulator"
	"fairlead/internal/store"
)

func TestSamplesAreSentAFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []int
		began := time.Now()
		err := sendAll(t.Context(), make([]simulator.Sample, 13), func(context.Context, simulator.Sample) error {
			time.Sleep(time.Second)
			return nil
		}, func(done, total int) {
			if total != 13 {
				t.Errorf("%d in all", total)
			}
			told = append(told, done)
		})
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, told); err != nil || diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
		if took := time.Since(began); took != 3*time.Second { // six, six and one
			t.Errorf("took %s", took)
		}
	})
}

func TestSamplesEndWithTheirCallerOrTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		send func(ctx context.Context, leave func()) error
		want error
	}{
		"caller": {func(ctx context.Context, leave func()) error { leave(); return ctx.Err() }, context.Canceled},
		"error":  {func(context.Context, func()) error { return broken }, broken},
	} {
		ctx, leave := context.WithCancel(t.Context())
		sent := 0
		err := sendAll(ctx, make([]simulator.Sample, 1000), func(ctx context.Context, _ simulator.Sample) error {
			return test.send(ctx, leave)
		}, func(done, _ int) { sent = done })
		leave()
		if !errors.Is(err, test.want) || sent > sampleWorkers {
			t.Errorf("%s: %d were sent, then %v", name, sent, err)
		}
	}
}

func TestStorageIsMeasuredNowAndThen(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), "sqlite", t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	fresh := func() *App {
		a := &App{db: db}
		a.sizes.Store(&[]overview.StorageSample{})
		return a
	}
	a := fresh()
	for hour := range 20 * 24 {
		if _, err := a.measureOnce(t.Context(), start.Add(time.Duration(hour)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if hour == 100 {
			a = fresh() // a restart
		}
	}
	got := *a.sizes.Load()
	now := start.Add((20*24 - 1) * time.Hour)
	if n := len(got); n < 55 || n > 57 || got[0].Bytes <= 0 {
		t.Errorf("%d samples over fourteen days: %+v", n, got)
	}
	for i, s := range got {
		if age := now.Sub(s.At); age < 0 || age > measureKeep {
			t.Errorf("a sample is %s old", age)
		}
		if i > 0 && s.At.Sub(got[i-1].At) != measureEvery {
			t.Errorf("%s after the one before", s.At.Sub(got[i-1].At))
		}
	}
	// A clock that was wrong leaves nothing behind.
	if _, err := a.measureOnce(t.Context(), start.AddDate(0, 0, -3)); err != nil || len(*a.sizes.Load()) != 1 {
		t.Errorf("%v: %+v", err, *a.sizes.Load())
	}
}
