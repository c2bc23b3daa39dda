package upstream

import (
	"context"
	"time"
)

// Clock measures the time that a request spends in attempts and waiting for providers or for a budget.
type Clock struct {
	Waited   time.Duration // time spent waiting for a provider or a budget without an attempt in flight
	upstream time.Duration // time spent in attempts that have ended
	since    time.Time     // start time of the attempt in flight; zero if there is none
	paused   time.Duration // time spent waiting since the last attempt ended, to record with the next attempt
	budget   time.Duration // part of paused spent waiting for a budget
}

// WaitedForBudget records the time that the request waited, before its first attempt, for money that other requests reserved.
func (c *Clock) WaitedForBudget(d time.Duration) {
	c.Waited, c.paused, c.budget = d, d, d
}

// Upstream returns the time spent in attempts and waiting.
func (c *Clock) Upstream() time.Duration {
	spent := c.upstream + c.Waited
	if !c.since.IsZero() {
		spent += time.Since(c.since)
	}
	return spent
}

func (c *Clock) start(at time.Time) { c.since = at }

func (c *Clock) stop() {
	c.upstream += time.Since(c.since)
	c.since = time.Time{}
}

// MinWait is the minimum duration that counts as waiting. Shorter durations are lock overhead.
const MinWait = 100 * time.Microsecond

// blocked records the time since the given moment as waiting, unless an attempt is in flight.
func (c *Clock) blocked(since time.Time) {
	if d := time.Since(since); c.since.IsZero() && d >= MinWait {
		c.Waited += d
		c.paused += d
	}
}

// sleep waits for d and records the time as waiting. It returns false if ctx is done first.
func (c *Clock) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	defer c.blocked(time.Now())
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
