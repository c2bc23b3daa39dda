package replicas

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Rate is F37: a limit holds over all replicas, within two in a hundred.
func Rate(t *testing.T, full bool) string {
	w := start(t, true)
	limit := pick(full, 200, 600)
	k := w.newKey(t, "--rpm", fmt.Sprint(limit))
	began := time.Now()
	c := w.atOnce(t, 15, limit*3/2, k, chat("m"))
	took := time.Since(began)
	if others := c.others("served", "RATE_LIMITED"); len(others) > 0 {
		t.Errorf("also %v", others)
	}
	if got := c.of("served"); took < time.Minute && (got < limit*98/100 || got > limit*102/100) {
		t.Errorf("%d admitted, the limit is %d", got, limit)
	}
	return fmt.Sprintf("%d a minute over %d replicas: %d of %d admitted in %s", limit, replicas, c.of("served"), limit*3/2, took.Round(time.Millisecond))
}

// load sends requests at a pace over all replicas until ctx ends.
func (w *world) load(ctx context.Context, t *testing.T, every time.Duration, k key) *tally {
	var c tally
	var all sync.WaitGroup
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			all.Wait()
			return &c
		case <-tick.C:
			all.Go(func() { c.add(w.post(t, i%replicas, k, chat("m"))) }) //nolint:contextcheck // requests under way end by themselves
		}
	}
}

// RedisKilled is F35: Redis dies under load and comes back empty. Nothing fails, a key within its limit is not turned away,
// and a key that asks for far more gets a tenth too much at most.
func RedisKilled(t *testing.T, full bool) string {
	w := start(t, true)
	const limit = 300
	modest, greedy := w.newKey(t, "--rpm", "3000"), w.newKey(t, "--rpm", fmt.Sprint(limit))
	span := time.Duration(pick(full, 5, 30)) * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var calm, flood *tally
	var all sync.WaitGroup
	all.Go(func() { calm = w.load(ctx, t, 40*time.Millisecond, modest) })
	all.Go(func() { flood = w.load(ctx, t, 12*time.Millisecond, greedy) })
	at := func(share float64) { // the moments belong to real processes
		time.Sleep(time.Duration(share * float64(span)))
	}
	at(0.3)
	w.redis.Kill()
	at(0.3)
	w.redis.Start(t)
	returned := time.Now()
	var back time.Duration
	for i := range w.gateways {
		back = max(back, w.untilRedis(t, i, returned))
	}
	all.Wait()
	if others := calm.others("served"); len(others) > 0 {
		t.Errorf("the modest key: %v", others)
	}
	if others := flood.others("served", "RATE_LIMITED"); len(others) > 0 {
		t.Errorf("the greedy key: %v", others)
	}
	if got := flood.of("served"); got > limit*11/10 || got < limit*8/10 && full {
		t.Errorf("the greedy key got %d, its limit is %d", got, limit)
	}
	if back > 5*time.Second {
		t.Errorf("Redis was in use again %s after its return", back)
	}
	return fmt.Sprintf("0 failures of %d; %d admitted of a limit of %d; in use again after %s", calm.of("served"), flood.of("served"), limit, back.Round(time.Millisecond))
}

// RedisSlow is F36: a Redis that does not answer costs a request no more than a moment, once.
func RedisSlow(t *testing.T, full bool) string {
	w := start(t, true)
	k := w.newKey(t, "--rpm", "100000", "--budget", "10", "--period", "total")
	n := pick(full, 700, 1500)
	normal := w.atOnce(t, 3, n, k, chat("fee"))
	w.redis.Signal(t, syscall.SIGSTOP)
	slow := w.atOnce(t, 3, n, k, chat("fee"))
	w.redis.Signal(t, syscall.SIGCONT)
	if others := slow.others("served"); len(others) > 0 {
		t.Errorf("while Redis is stuck: %v", others)
	}
	before, during := quantile(normal.took, 0.99), quantile(slow.took, 0.99)
	if during > before+60*time.Millisecond {
		t.Errorf("p99 is %s with a stuck Redis and %s without", during, before)
	}
	return fmt.Sprintf("p99 %s with Redis, %s while it is stuck; all of %d served", before.Round(100*time.Microsecond), during.Round(100*time.Microsecond), n)
}

func quantile(all []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
