package app

import (
	"testing"
	"time"

	"fairlead.dev/internal/store"
)

func TestDatabaseSizeIsSampledPeriodically(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), "sqlite", t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	tasks := newDatabaseTasks(db, nil, nil)
	for hour := range 20 * 24 {
		if _, err := tasks.sample(t.Context(), start.Add(time.Duration(hour)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if hour == 100 {
			tasks = newDatabaseTasks(db, nil, nil) // simulates a restart
		}
	}
	got := tasks.Samples()
	now := start.Add((20*24 - 1) * time.Hour)
	if n := len(got); n < 55 || n > 57 || got[0].Bytes <= 0 {
		t.Errorf("%d samples over fourteen days, want 55 to 57 with a size: %+v", n, got)
	}
	for i, s := range got {
		if age := now.Sub(s.At); age < 0 || age > sampleLifetime {
			t.Errorf("a sample is %s old, want at most %s", age, sampleLifetime)
		}
		if i > 0 && s.At.Sub(got[i-1].At) != sampleEvery {
			t.Errorf("a sample is %s after the previous one, want %s", s.At.Sub(got[i-1].At), sampleEvery)
		}
	}
	// Samples from a wrong clock are removed.
	if _, err := tasks.sample(t.Context(), start.AddDate(0, 0, -3)); err != nil || len(tasks.Samples()) != 1 {
		t.Errorf("after a clock step back: error %v, samples %+v; want one sample", err, tasks.Samples())
	}
}
