package faults

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"fairlead/test/harness"
)

// shot is one request of steady traffic and its result.
type shot struct {
	sent, took time.Duration // sent after the traffic's start
	status     int           // 0 when no answer came
	code       string        // of the error
	provider   string
	retryAfter string
}

// fire sends requests at a rate for a while, whatever becomes of them, and returns all of them.
func fire(t testing.TB, g *harness.Gateway, key, body string, rate int, d time.Duration) []shot {
	t.Helper()
	c := client(t)
	var mu sync.Mutex
	var all []shot
	var running sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	began := time.Now()
	for time.Since(began) < d {
		<-tick.C
		running.Go(func() {
			s := shot{sent: time.Since(began)}
			s.send(t.Context(), c, g, key, body)
			s.took = time.Since(began) - s.sent
			mu.Lock()
			defer mu.Unlock()
			all = append(all, s)
		})
	}
	running.Wait()
	return all
}

func (s *shot) send(ctx context.Context, c *http.Client, g *harness.Gateway, key, body string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := post(ctx, g, key, body)
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
	s.status, s.code = resp.StatusCode, resp.Header.Get("X-Fairlead-Error-Code")
	s.provider, s.retryAfter = resp.Header.Get("X-Fairlead-Provider"), resp.Header.Get("Retry-After")
}

// times are how long the shots took that a condition holds for.
func times(all []shot, holds func(shot) bool) []time.Duration {
	var list []time.Duration
	for _, s := range all {
		if holds(s) {
			list = append(list, s.took)
		}
	}
	return list
}

func answered(s shot) bool { return s.status == http.StatusOK }

// upstream is a provider that can be switched off, and notes when it was called.
type upstream struct {
	answers http.Handler

	mu    sync.Mutex
	down  bool
	calls []time.Time
}

// ServeHTTP answers, or fails with a 503 while it is down.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.calls = append(u.calls, time.Now())
	down := u.down
	u.mu.Unlock()
	if down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	u.answers.ServeHTTP(w, r)
}

func (u *upstream) set(down bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down = down
}

// between is how many calls came from one moment to another.
func (u *upstream) between(from, to time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range u.calls {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// first is the first call after a moment; zero when there was none.
func (u *upstream) first(after time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range u.calls {
		if at.After(after) {
			return at
		}
	}
	return time.Time{}
}
