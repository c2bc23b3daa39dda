package scenario

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// Shot is one request of steady traffic and its result.
type Shot struct {
	Sent, Took time.Duration // time since the start of the traffic, and duration
	Status     int           // 0 without a response
	Code       string        // error code
	RetryAfter string
}

// Fire sends requests at the given rate for the duration d, regardless of the results, and returns all of them.
func Fire(t testing.TB, g *harness.Gateway, key, body string, rate int, d time.Duration) []Shot {
	t.Helper()
	c := Client(t)
	var mu sync.Mutex
	var all []Shot
	var running sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	began := time.Now()
	for time.Since(began) < d {
		<-tick.C
		running.Go(func() {
			s := Shot{Sent: time.Since(began)}
			s.Send(t.Context(), c, g, key, body)
			s.Took = time.Since(began) - s.Sent
			mu.Lock()
			defer mu.Unlock()
			all = append(all, s)
		})
	}
	running.Wait()
	return all
}

// Send sends the request and stores the result in s. The status stays 0 when no complete response arrives.
func (s *Shot) Send(ctx context.Context, c *http.Client, g *harness.Gateway, key, body string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := Post(ctx, g, key, body)
	if err != nil {
		return
	}
	resp, err := c.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return
	}
	s.Status, s.Code = resp.StatusCode, resp.Header.Get("X-Fairlead-Error-Code")
	s.RetryAfter = resp.Header.Get("Retry-After")
}

// Times returns the durations of the shots that satisfy a condition.
func Times(all []Shot, holds func(Shot) bool) []time.Duration {
	var list []time.Duration
	for _, s := range all {
		if holds(s) {
			list = append(list, s.Took)
		}
	}
	return list
}

// Answered reports whether the response has status 200.
func Answered(s Shot) bool { return s.Status == http.StatusOK }

// Upstream is a provider that can be switched off and records the times of its calls.
type Upstream struct {
	Answers http.Handler

	mu    sync.Mutex
	down  bool
	calls []time.Time
}

// ServeHTTP implements http.Handler. It responds with 503 while the provider is down.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.calls = append(u.calls, time.Now())
	down := u.down
	u.mu.Unlock()
	if down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	u.Answers.ServeHTTP(w, r)
}

// Set switches the provider off or on.
func (u *Upstream) Set(down bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down = down
}

// Between returns the number of calls in the time range [from, to).
func (u *Upstream) Between(from, to time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range u.calls {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// First returns the time of the first call after the given time, or the zero time if no call was made.
func (u *Upstream) First(after time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range u.calls {
		if at.After(after) {
			return at
		}
	}
	return time.Time{}
}
