package replicas

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// sharedRate is fault case F37: a limit applies to all replicas together, within two percent.
func sharedRate(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	limit := size.Of(200, 600)
	k := w.newKey(t, "--rpm", fmt.Sprint(limit))
	began := time.Now()
	c := w.burst(t, 15, limit*3/2, k, short("m"))
	took := time.Since(began)
	if others := c.others("served", "RATE_LIMITED"); len(others) > 0 {
		t.Errorf("unexpected results: %v", others)
	}
	// If the machine is too busy for Redis to respond in time, replicas briefly use per-replica shares, which never
	// exceed the limit.
	least, most := limit*98/100, limit*102/100
	if w.lostRedis() {
		least = limit / replicas
	}
	if got := c.of("served"); took < time.Minute && (got < least || got > most) {
		t.Errorf("%d requests were admitted, want %d to %d", got, least, most)
	}
	return fmt.Sprintf("%d a minute over %d replicas: %d of %d admitted in %s", limit, replicas, c.of("served"), limit*3/2, took.Round(time.Millisecond))
}

// lostRedis reports whether a replica has logged that Redis was unavailable.
func (w *deployment) lostRedis() bool {
	for _, g := range w.gateways {
		if strings.Contains(g.Log(), "redis unavailable, using per-replica limits") {
			return true
		}
	}
	return false
}

// untilRedis waits until every replica reports that Redis is in use, and returns the time since the given moment.
func (w *deployment) untilRedis(t *testing.T, since time.Time) time.Duration {
	t.Helper()
	for i := range w.gateways {
		w.untilReady(t, i)
	}
	return time.Since(since)
}

// streams keeps n streams open at the replicas until ctx is done, and describes the streams that failed.
func (w *deployment) streams(ctx context.Context, t *testing.T, n int, k harness.Key) (failed []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				resp := w.gateways[i%replicas].Open(t, harness.Request{Key: k.Text, Body: short("m", scenario.Streaming)}) //nolint:contextcheck // a started stream is read to its end
				e := scenario.ReadEvents(resp.Body)
				_ = resp.Body.Close()
				if !e.Done() {
					mu.Lock()
					failed = append(failed, fmt.Sprintf("%d %s", resp.StatusCode, e.Failed()))
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return failed
}

// redisKilled is fault case F35: Redis is killed under load and comes back empty. No request fails, a key within its limit is not
// rejected, and a key far above its limit gets at most ten percent too much.
func redisKilled(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	w.mock.Always(simulator.Behaviour{Handler: scenario.Paced(20)})
	const limit = 300
	within, above := w.newKey(t, "--rpm", "90000"), w.newKey(t, "--rpm", fmt.Sprint(limit))
	span := time.Duration(size.Of(5, 40)) * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var calm, flood *tally
	var broken []string
	var all sync.WaitGroup
	all.Go(func() {
		calm = w.pace(ctx, t, time.Duration(size.Of(30_000, 2_200))*time.Microsecond, within, short("m"))
	})
	all.Go(func() { flood = w.pace(ctx, t, 20*time.Millisecond, above, short("m")) })
	all.Go(func() { broken = w.streams(ctx, t, size.Of(6, 200), within) })
	at := func(share float64) { // waits in real time, because real processes have no fake clock
		time.Sleep(time.Duration(share * float64(span)))
	}
	at(0.3)
	w.redis.Kill()
	at(0.3)
	w.redis.Start(t)
	back := w.untilRedis(t, time.Now())
	all.Wait()
	if others := calm.others("served"); len(others) > 0 || len(broken) > 0 {
		t.Errorf("unexpected results of the key within its limit: %v; failed streams: %v", others, broken)
	}
	if others := flood.others("served", "RATE_LIMITED"); len(others) > 0 {
		t.Errorf("unexpected results of the key above its limit: %v", others)
	}
	if got := flood.of("served"); got > limit*11/10 {
		t.Errorf("%d requests of the key above its limit were admitted, want at most %d", got, limit*11/10)
	}
	if back > size.Limit(5*time.Second) {
		t.Errorf("Redis was used again %s after its start, want at most %s", back, size.Limit(5*time.Second))
	}
	return fmt.Sprintf("0 failures of %d; %d admitted of a limit of %d; used again after %s", calm.of("served"), flood.of("served"), limit, back.Round(time.Millisecond))
}

// redisSlow is fault case F36: a Redis that responds two seconds late delays requests only slightly, and memory does not grow.
func redisSlow(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	k := w.newKey(t, "--rpm", "900000", "--budget", "900", "--period", "total")
	n := size.Of(400, 1500)
	w.burst(t, 3, 100, k, short("fee")) // warm up, so that each replica has an allowance
	normal := w.burst(t, 3, n, k, short("fee"))
	var restore []func()
	for _, way := range w.toRedis {
		restore = append(restore, way.Slow(t, 2*time.Second))
	}
	before := w.memory(t)
	slow := w.burst(t, 3, n, k, short("fee"))
	span := time.Duration(size.Of(0, 180)) * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	steady := w.pace(ctx, t, 10*time.Millisecond, k, short("fee"))
	grown := w.memory(t) - before
	for _, end := range restore {
		end()
	}
	back := w.untilRedis(t, time.Now())
	for _, c := range []*tally{slow, steady} {
		if others := c.others("served"); len(others) > 0 {
			t.Errorf("unexpected results while Redis is slow: %v", others)
		}
	}
	calm, during := scenario.Quantile(normal.took, 0.99), scenario.Quantile(slow.took, 0.99)
	if during > size.Limit(calm+60*time.Millisecond) {
		t.Errorf("p99 is %s with a slow Redis and %s without", during, calm)
	}
	if grown > 64<<20 {
		t.Errorf("memory grew by %s, want at most 64 MiB", scenario.Mib(grown))
	}
	return fmt.Sprintf("p99 %s with Redis, %s while it is slow; all of %d served; memory %+d MiB after %s; used again after %s", calm.Round(100*time.Microsecond), during.Round(100*time.Microsecond),
		n+steady.of("served"), grown>>20, span, back.Round(time.Millisecond))
}

// memory returns the memory of all replicas.
func (w *deployment) memory(t *testing.T) (sum int64) {
	t.Helper()
	for _, g := range w.gateways {
		sum += scenario.Resident(t, g)
	}
	return sum
}
