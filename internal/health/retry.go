package health

import "time"

const (
	repeatShare         = 0.20 // maximum share of repeats in the target's recent attempts
	repeatFloor         = 10   // number of repeats per window that are always allowed
	repeatWindowSeconds = 10
	longestWait         = 5 * time.Second
)

// AllowRepeat reports whether a request may call the target again after a failure, and counts the repeat if so. Repeats are
// limited per target, so that an outage does not multiply traffic and failures of one target do not use up the repeats of
// another.
func (t *Tracker) AllowRepeat(targetID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	w := &t.target(targetID, now).repeats
	slot := w.advance(now)
	var attempts, repeats int64
	for i := range repeatWindowSeconds {
		attempts += w.attempts[i]
		repeats += w.repeats[i]
	}
	if repeats >= repeatFloor && float64(repeats+1) > repeatShare*float64(attempts) {
		return false
	}
	w.repeats[slot]++
	return true
}

// repeatWindow counts the recent attempts at a target and the repeats among them. The zero value is ready to use.
type repeatWindow struct {
	begun    time.Time
	second   int64
	attempts [repeatWindowSeconds]int64
	repeats  [repeatWindowSeconds]int64
}

// advance moves to the current second and returns its slot. If the clock steps back, the slot does not change.
func (w *repeatWindow) advance(now time.Time) int64 {
	if w.begun.IsZero() {
		w.begun = now
	}
	second := int64(now.Sub(w.begun) / time.Second)
	if second < w.second-repeatWindowSeconds { // after a large backward step of the clock, continue from the last second
		w.begun = now.Add(-time.Duration(w.second) * time.Second)
		second = w.second
	}
	for s := w.second + 1; s <= min(second, w.second+repeatWindowSeconds); s++ {
		w.attempts[s%repeatWindowSeconds], w.repeats[s%repeatWindowSeconds] = 0, 0
	}
	w.second = max(second, w.second)
	return w.second % repeatWindowSeconds
}

// Backoff returns how long to wait before the same target is called again. The wait is base, doubled for each earlier try, but at most five
// seconds. random, in [0, 1), selects a value between half of the wait and the full wait.
func Backoff(try int, base time.Duration, random float64) time.Duration {
	wait := doubled(base, try, longestWait)
	return wait/2 + time.Duration(random*float64(wait-wait/2))
}
