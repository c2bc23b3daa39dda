package health

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for requests, want := range map[int]int{0: 10, 5: 10, 50: 10, 100: 20, 1000: 200} {
			b := NewRetryBudget(time.Now)
			for range requests {
				b.Request()
			}
			got := 0
			for range 2000 {
				if b.AllowRetry() {
					got++
				}
			}
			if got != want {
				t.Errorf("%d requests allow %d retries, want %d", requests, got, want)
			}
		}
	})
}

func TestRetryBudgetForgetsWhatIsNotRecent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewRetryBudget(time.Now)
		for range 1000 {
			b.Request()
		}
		time.Sleep(11 * time.Second)
		got := 0
		for range 100 {
			if b.AllowRetry() {
				got++
			}
		}
		if got != retryFloor {
			t.Errorf("%d retries on old traffic, want the floor", got)
		}
		time.Sleep(11 * time.Second)
		if !b.AllowRetry() {
			t.Error("the floor does not return")
		}
	})
}

func TestRetryBudgetSurvivesAStepBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	b := NewRetryBudget(func() time.Time { return now })
	now = now.Add(time.Hour)
	for range 20 {
		b.AllowRetry()
	}
	now = now.Add(-2 * time.Hour)
	if b.AllowRetry() {
		t.Error("the step back made room")
	}
	now = now.Add(11 * time.Second)
	if !b.AllowRetry() {
		t.Error("the step back blocks")
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	base := 100 * time.Millisecond
	tests := []struct {
		try    int
		random float64
		want   time.Duration
	}{
		{0, 0, 50 * time.Millisecond},
		{0, 0.5, 75 * time.Millisecond},
		{2, 1, 400 * time.Millisecond},
		{3, 0, 400 * time.Millisecond},
		{1000, 1, 5 * time.Second},
	}
	for _, tt := range tests {
		if got := Backoff(tt.try, base, tt.random); got != tt.want {
			t.Errorf("Backoff(%d, random %v) = %v, want %v", tt.try, tt.random, got, tt.want)
		}
	}
}
