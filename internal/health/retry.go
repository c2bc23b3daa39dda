package health

import (
	"sync"
	"time"
)

const (
	retryShare  = 0.20 // of recent requests
	retryFloor  = 10   // retries that light traffic may always have
	retryWindow = 10   // seconds that count as recent
	longestWait = 5 * time.Second
)

// RetryBudget bounds retries over all requests, so that an outage is not answered with more traffic.
type RetryBudget struct {
	now func() time.Time

	mu       sync.Mutex
	begun    time.Time
	second   int64
	requests [retryWindow]int64
	retries  [retryWindow]int64
}

// NewRetryBudget makes a budget that reads time from now.
func NewRetryBudget(now func() time.Time) *RetryBudget {
	return &RetryBudget{now: now, begun: now()}
}

// Request counts a request, once, when its first attempt is made.
func (b *RetryBudget) Request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests[b.advance()]++
}

// AllowRetry says whether one more attempt may be made for a request, and counts it if so.
func (b *RetryBudget) AllowRetry() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	slot := b.advance()
	var requests, retries int64
	for i := range retryWindow {
		requests += b.requests[i]
		retries += b.retries[i]
	}
	if retries >= retryFloor && float64(retries+1) > retryShare*float64(requests) {
		return false
	}
	b.retries[slot]++
	return true
}

// advance moves on to the present second and returns its slot. A clock that steps back stays where it was.
func (b *RetryBudget) advance() int64 {
	now := b.now()
	second := int64(now.Sub(b.begun) / time.Second)
	if second < b.second-retryWindow { // a large step back: begin anew rather than stand still
		b.begun = now.Add(-time.Duration(b.second) * time.Second)
		second = b.second
	}
	for s := b.second + 1; s <= min(second, b.second+retryWindow); s++ {
		b.requests[s%retryWindow], b.retries[s%retryWindow] = 0, 0
	}
	b.second = max(second, b.second)
	return b.second % retryWindow
}

// Backoff is how long to wait before the same target is tried again: base doubled with each try from 0 on, at most
// five seconds, and of that between a half and the whole, as random (0 up to 1) says.
func Backoff(try int, base time.Duration, random float64) time.Duration {
	wait := grown(base, try, longestWait)
	return wait/2 + time.Duration(random*float64(wait-wait/2))
}
