package health

import "time"

const (
	repeatShare         = 0.20 // of the target's recent attempts
	repeatFloor         = 10   // repeats that light traffic may always have
	repeatWindowSeconds = 10
	longestWait         = 5 * time.Second
)

// AllowRepeat reports whether a request may call the target once more after a failure there, and counts the repeat if so.
// Repeats are bounded per target, so that an outage is not answered with more traffic and one target's failures do not use up
// the repeats of another.
func (t *Tracker) AllowRepeat(targetID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	return t.target(targetID, now).repeats.allow(now)
}

// repeatWindow counts the recent attempts at a target and the repeats among them. The zero value is ready to use.
type repeatWindow struct {
	begun    time.Time
	second   int64
	attempts [repeatWindowSeconds]int64
	repeats  [repeatWindowSeconds]int64
}

// count counts an attempt.
func (w *repeatWindow) count(now time.Time) { w.attempts[w.advance(now)]++ }

// allow reports whether recent attempts leave room for a repeat, and counts it if so.
func (w *repeatWindow) allow(now time.Time) bool {
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

// advance moves on to the present second and returns its slot. A clock that steps back stays where it was.
func (w *repeatWindow) advance(now time.Time) int64 {
	if w.begun.IsZero() {
		w.begun = now
	}
	second := int64(now.Sub(w.begun) / time.Second)
	if second < w.second-repeatWindowSeconds { // a large step back: start again instead of standing still
		w.begun = now.Add(-time.Duration(w.second) * time.Second)
		second = w.second
	}
	for s := w.second + 1; s <= min(second, w.second+repeatWindowSeconds); s++ {
		w.attempts[s%repeatWindowSeconds], w.repeats[s%repeatWindowSeconds] = 0, 0
	}
	w.second = max(second, w.second)
	return w.second % repeatWindowSeconds
}

// Backoff is how long to wait before the same target is tried again: base doubled with each try from 0 on, at most
// five seconds, and of that between a half and the whole, as random (0 up to 1) says.
func Backoff(try int, base time.Duration, random float64) time.Duration {
	wait := doubled(base, try, longestWait)
	return wait/2 + time.Duration(random*float64(wait-wait/2))
}
