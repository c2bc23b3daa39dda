package health

import (
	"testing"
	"testing/synctest"
	"time"
)

// repeats returns how many of n repeats at a target are allowed.
func (t *Tracker) repeats(target string, n int) (allowed int) {
	for range n {
		if t.AllowRepeat(target) {
			allowed++
		}
	}
	return allowed
}

func TestRepeatsAreAShareOfTheTargetsTraffic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for attempts, want := range map[int]int{0: 10, 5: 10, 50: 10, 100: 20, 1000: 200} {
			tr := tracker()
			for range attempts {
				tr.admit(here, false)
			}
			if got := tr.repeats(here, 2000); got != want {
				t.Errorf("%d attempts allow %d repeats, want %d", attempts, got, want)
			}
			if got := tr.repeats("ollama/other", 2000); got != repeatFloor {
				t.Errorf("another target allows %d repeats, want %d", got, repeatFloor)
			}
		}
	})
}

func TestRepeatsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := tracker()
		for range 1000 {
			tr.admit(here, false)
		}
		time.Sleep(11 * time.Second)
		if got := tr.repeats(here, 100); got != repeatFloor {
			t.Errorf("%d repeats allowed after old traffic, want %d", got, repeatFloor)
		}
		time.Sleep(11 * time.Second)
		if !tr.AllowRepeat(here) {
			t.Error("no repeat is allowed 22 seconds after the last one")
		}
	})
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
