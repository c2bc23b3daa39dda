// Package limittest contains the tests that every implementation of limit.Limiter must pass.
package limittest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
)

// Clock is a clock that only Advance changes.
type Clock struct{ nanos atomic.Int64 }

// NewClock returns a clock at a fixed time.
func NewClock() *Clock {
	c := &Clock{}
	c.nanos.Store(time.Date(2026, 11, 3, 10, 20, 30, 400e6, time.UTC).UnixNano())
	return c
}

// Now returns the current time of the clock.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanos.Load()) }

// Advance moves the clock. A negative duration moves it back.
func (c *Clock) Advance(d time.Duration) { c.nanos.Add(int64(d)) }

// Slack is the fraction by which an implementation may exceed a limit in a sliding minute.
type Slack float64

// Run runs the tests. newLimiter returns a limiter that uses the given clock. Each test uses its own IDs.
func Run(t *testing.T, newLimiter func(t *testing.T, c *Clock) limit.Limiter, slack Slack) {
	t.Helper()
	cases := map[string]func(t *testing.T, s *suite){
		"no limits admit everything":                          noLimits,
		"exactly the limit is admitted in the first minute":   fromRest,
		"the limit holds in every sliding minute":             func(t *testing.T, s *suite) { slidingMinute(t, s, slack) },
		"a request is admitted after the returned wait":       retryAfter,
		"tokens are limited and settled":                      tokens,
		"an estimate beyond the limit is final":               tooLarge,
		"tokens of a long stream count when they are settled": lateTokens,
		"a slot is released once":                             concurrent,
		"each id has its own limit":                           apart,
		"a rejected request is not counted":                   refusedIsFree,
		"a clock step back keeps the limit":                   stepBack,
		"a thousand concurrent callers get exactly the limit": race,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			run(t, &suite{Clock: clock, limiter: newLimiter(t, clock), id: "key_" + t.Name()})
		})
	}
}

type suite struct {
	*Clock
	limiter limit.Limiter
	id      string
}

// take returns a slot, or nil and the rejection.
func (s *suite) take(t *testing.T, l limit.Limits, tokens int64) (*limit.Slot, *llm.Error) {
	t.Helper()
	slot, err := s.limiter.Take(t.Context(), s.id, l, tokens)
	if err == nil {
		return slot, nil
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.RateLimited {
		t.Fatalf("Take: %v, want a RateLimited error", err)
	}
	if !e.Final && (e.RetryAfter < time.Second || e.RetryAfter > time.Minute || e.RetryAfter%time.Second != 0) {
		t.Fatalf("RetryAfter = %v, want whole seconds from 1 to 60", e.RetryAfter)
	}
	return nil, e
}

func (s *suite) admitted(t *testing.T, l limit.Limits, tokens int64, tries int) int {
	t.Helper()
	n := 0
	for range tries {
		if slot, _ := s.take(t, l, tokens); slot != nil {
			slot.Release()
			n++
		}
	}
	return n
}

func refusal(t *testing.T, e *llm.Error) limit.Rejection {
	t.Helper()
	if e == nil {
		t.Fatal("admitted, want a rejection")
	}
	r, ok := e.Details["limit"].(limit.Rejection)
	if !ok {
		t.Fatalf("details.limit = %v, want a Rejection", e.Details["limit"])
	}
	return r
}

func noLimits(t *testing.T, s *suite) {
	if n := s.admitted(t, limit.Limits{}, 1e12, 1000); n != 1000 {
		t.Errorf("admitted %d of 1000", n)
	}
}

func fromRest(t *testing.T, s *suite) {
	l := limit.Limits{RequestsPerMinute: 60}
	n := 0
	for range 119 { // one call every half second for a minute
		n += s.admitted(t, l, 0, 1)
		s.Advance(500 * time.Millisecond)
	}
	if n != 60 {
		t.Errorf("admitted %d in the first minute, want 60", n)
	}
}

func slidingMinute(t *testing.T, s *suite, slack Slack) {
	l := limit.Limits{RequestsPerMinute: 100}
	var times []time.Time
	// A burst late in a minute followed by constant requests is the worst case for counters with fixed windows.
	s.admitted(t, l, 0, 1)
	times = append(times, s.Now())
	s.Advance(55 * time.Second)
	for range 1400 {
		if s.admitted(t, l, 0, 1) == 1 {
			times = append(times, s.Now())
		}
		s.Advance(100 * time.Millisecond)
	}
	most := 100 * (1 + float64(slack))
	first := 0
	for i, at := range times {
		for at.Sub(times[first]) >= time.Minute {
			first++
		}
		if n := i - first + 1; float64(n) > most {
			t.Fatalf("%d admitted in the minute up to %v, want at most %v", n, at, most)
		}
	}
	if len(times) < 150 {
		t.Errorf("%d admitted in three minutes, want at least 150", len(times))
	}
}

func retryAfter(t *testing.T, s *suite) {
	l := limit.Limits{RequestsPerMinute: 5, TokensPerMinute: 1000}
	for i := range 5 {
		if n := s.admitted(t, l, 200, 1); n != 1 {
			t.Fatalf("request %d rejected", i)
		}
		s.Advance(7 * time.Second)
	}
	_, e := s.take(t, l, 200)
	if got := refusal(t, e); got != (limit.Rejection{Name: limit.RequestsPerMinute, Limit: 5, Used: 5}) {
		t.Errorf("rejection = %+v", got)
	}
	s.Advance(e.RetryAfter)
	if n := s.admitted(t, l, 200, 1); n != 1 {
		t.Error("rejected after the returned wait")
	}
}

func tokens(t *testing.T, s *suite) {
	l := limit.Limits{TokensPerMinute: 1000}
	slot, _ := s.take(t, l, 800)
	if slot == nil {
		t.Fatal("first request rejected")
	}
	_, e := s.take(t, l, 300)
	if got := refusal(t, e); got != (limit.Rejection{Name: limit.TokensPerMinute, Limit: 1000, Used: 800}) {
		t.Errorf("rejection = %+v", got)
	}
	slot.Settle(-5) // an invalid count must not free capacity
	_, e = s.take(t, l, 300)
	refusal(t, e)
	slot.Settle(100)
	slot.Settle(0) // only the first call counts
	slot.Release()
	if slot, _ := s.take(t, l, 900); slot == nil {
		t.Error("rejected although the first request used only 100 tokens")
	}
	_, e = s.take(t, l, 1)
	refusal(t, e)
}

func tooLarge(t *testing.T, s *suite) {
	l := limit.Limits{TokensPerMinute: 1000, Concurrent: 1}
	_, e := s.take(t, l, 1001)
	if refusal(t, e); e.Retryable() || e.RetryAfter != 0 {
		t.Errorf("retryable %v after %v, want a rejection that is not retryable", e.Retryable(), e.RetryAfter)
	}
	if n := s.admitted(t, l, 1000, 1); n != 1 {
		t.Error("a request of exactly the limit is rejected")
	}
}

func lateTokens(t *testing.T, s *suite) {
	l := limit.Limits{TokensPerMinute: 1000}
	slot, _ := s.take(t, l, 10)
	s.Advance(3 * time.Minute)
	slot.Settle(5000)
	_, e := s.take(t, l, 10)
	refusal(t, e)
	s.Advance(61 * time.Second)
	if n := s.admitted(t, l, 10, 1); n != 1 {
		t.Error("rejected a minute after the settlement")
	}
}

func concurrent(t *testing.T, s *suite) {
	l := limit.Limits{Concurrent: 2}
	first, _ := s.take(t, l, 0)
	second, _ := s.take(t, l, 0)
	_, e := s.take(t, l, 0)
	if got := refusal(t, e); got != (limit.Rejection{Name: limit.Concurrent, Limit: 2, Used: 2}) {
		t.Errorf("rejection = %+v", got)
	}
	first.Release()
	first.Release()
	third, e := s.take(t, l, 0)
	if third == nil {
		t.Fatalf("rejected after a release: %v", e)
	}
	if slot, _ := s.take(t, l, 0); slot != nil {
		t.Error("a second Release freed another slot")
	}
	s.Advance(time.Hour) // running requests never expire
	if slot, _ := s.take(t, l, 0); slot != nil {
		t.Error("admitted while two requests are running")
	}
	second.Release()
	third.Release()
}

func apart(t *testing.T, s *suite) {
	l := limit.Limits{RequestsPerMinute: 1}
	other := &suite{Clock: s.Clock, limiter: s.limiter, id: s.id + "x"}
	if a, b := s.admitted(t, l, 0, 2), other.admitted(t, l, 0, 2); a != 1 || b != 1 {
		t.Errorf("admitted %d and %d for two ids, want 1 each", a, b)
	}
}

func refusedIsFree(t *testing.T, s *suite) {
	l := limit.Limits{RequestsPerMinute: 10, TokensPerMinute: 100}
	s.admitted(t, l, 100, 1)
	s.admitted(t, l, 50, 100)
	s.Advance(61 * time.Second)
	if n := s.admitted(t, l, 10, 20); n != 10 {
		t.Errorf("admitted %d after the rejected requests, want 10", n)
	}
}

func stepBack(t *testing.T, s *suite) {
	l := limit.Limits{RequestsPerMinute: 10}
	s.admitted(t, l, 0, 10)
	s.Advance(-time.Hour)
	if n := s.admitted(t, l, 0, 5); n != 0 {
		t.Errorf("%d more requests were admitted after the clock stepped back, want 0", n)
	}
	s.Advance(61 * time.Second)
	if n := s.admitted(t, l, 0, 20); n != 10 {
		t.Errorf("admitted %d requests a minute after the clock step, want 10", n)
	}
}

func race(t *testing.T, s *suite) {
	l := limit.Limits{RequestsPerMinute: 100, TokensPerMinute: 1e6, Concurrent: 1000}
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			slot, err := s.limiter.Take(context.WithoutCancel(t.Context()), s.id, l, 10)
			if err != nil {
				return
			}
			admitted.Add(1)
			slot.Settle(20)
			slot.Release()
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != 100 {
		t.Errorf("admitted %d, want 100", n)
	}
}
