package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	testMaxWait = 20 * time.Millisecond
	// cpuTime is the time for which each slot is held. Four slots therefore admit 4,000 requests per second.
	cpuTime = time.Millisecond
)

// clients sends requests to a queue with four slots and counts the results.
type clients struct {
	queue    *AdmissionQueue
	mu       sync.Mutex
	admitted map[string]int
	rejected map[string]int
	waits    []time.Duration // waiting times of admitted requests
}

func newClients() *clients {
	c := &clients{queue: &AdmissionQueue{}, admitted: map[string]int{}, rejected: map[string]int{}}
	c.queue.Configure(testMaxWait)
	c.queue.slots = 4
	return c
}

// send sends requests with the given key at a constant rate, per second, for the duration d and waits for their results.
func (c *clients) send(key string, rate int, d time.Duration) {
	var all sync.WaitGroup
	for n := range int(d.Seconds() * float64(rate)) {
		all.Go(func() {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
			c.sendOne(key)
		})
	}
	all.Wait()
}

func (c *clients) sendOne(key string) {
	sent := time.Now()
	err := c.queue.Acquire(context.Background(), key)
	waited := time.Since(sent)
	if err == nil {
		time.Sleep(cpuTime)
		c.queue.Release()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.rejected[key]++
		return
	}
	c.admitted[key]++
	c.waits = append(c.waits, waited)
}

func TestAcquireDoesNotWaitBelowCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		c.send("a", 2000, time.Second)
		if c.admitted["a"] != 2000 || slices.Max(c.waits) > 0 || c.queue.Overloaded() {
			t.Errorf("%d admitted, longest wait %s, overloaded %t; want 2000, 0, false",
				c.admitted["a"], slices.Max(c.waits), c.queue.Overloaded())
		}
	})
}

func TestShortBurstIsNotRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		c.send("a", 80_000, 10*time.Millisecond) // 200 ms of work
		if c.admitted["a"] != 800 || c.queue.Overloaded() {
			t.Errorf("%d admitted, %d rejected, overloaded %t; want 800, 0, false", c.admitted["a"], c.rejected["a"], c.queue.Overloaded())
		}
	})
}

func TestOverloadUsesAllSlotsAndRejectsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		c.send("a", 12_000, time.Second) // fills the queue
		c.admitted, c.waits = map[string]int{}, nil
		c.send("a", 12_000, 5*time.Second)
		if c.admitted["a"] < 19_000 || c.rejected["a"] == 0 || !c.queue.Overloaded() {
			t.Errorf("%d of 20000 possible requests admitted, %d rejected, overloaded %t; want at least 19000, some, true",
				c.admitted["a"], c.rejected["a"], c.queue.Overloaded())
		}
		if longest := slices.Max(c.waits); longest > 2*testMaxWait {
			t.Errorf("an admitted request waited %s, want at most %s", longest, 2*testMaxWait)
		}
	})
}

func TestOverloadByOneKeyDoesNotRejectOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		var all sync.WaitGroup
		all.Go(func() { c.send("a", 12_000, 5*time.Second) })
		all.Go(func() { c.send("b", 200, 5*time.Second) })
		all.Wait()
		if c.admitted["b"] != 1000 || c.rejected["a"] == 0 {
			t.Errorf("key b: %d admitted, %d rejected, key a: %d rejected; want 1000, 0, some",
				c.admitted["b"], c.rejected["b"], c.rejected["a"])
		}
	})
}

func TestTwoOverloadingKeysShareTheSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		var all sync.WaitGroup
		all.Go(func() { c.send("a", 12_000, 5*time.Second) })
		all.Go(func() { c.send("b", 6_000, 5*time.Second) })
		all.Wait()
		if a, b := c.admitted["a"], c.admitted["b"]; a > b*11/10 || b > a*11/10 {
			t.Errorf("%d requests of key a admitted, %d of key b; want about the same", a, b)
		}
	})
}

func TestNothingIsRejectedAfterAnOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		c.send("a", 12_000, 2*time.Second)
		clear(c.rejected)
		c.send("a", 3000, 5*time.Second)
		if c.rejected["a"] > 0 || c.queue.Overloaded() {
			t.Errorf("%d rejected, overloaded %t; want 0, false", c.rejected["a"], c.queue.Overloaded())
		}
		if q := c.queue; q.running != 0 || q.waiting != 0 || len(q.queues) != 0 || len(q.keys) != 0 {
			t.Errorf("%d running, %d waiting, %d queues, %d keys; want none", q.running, q.waiting, len(q.queues), len(q.keys))
		}
	})
}

func TestZeroMaxWaitAdmitsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		c.queue.Configure(0)
		c.send("a", 12_000, 2*time.Second)
		if c.rejected["a"] > 0 || slices.Max(c.waits) > 0 {
			t.Errorf("%d rejected, longest wait %s; want 0 and 0", c.rejected["a"], slices.Max(c.waits))
		}
	})
}

func TestCancelledRequestLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClients()
		for range c.queue.slots {
			_ = c.queue.Acquire(t.Context(), "a")
		}
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 2)
		go func() { result <- c.queue.Acquire(ctx, "b") }()
		synctest.Wait()
		go func() { result <- c.queue.Acquire(t.Context(), "b") }()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) || c.queue.waiting != 1 {
			t.Errorf("error %v, %d waiting; want context.Canceled and 1", err, c.queue.waiting)
		}
		c.queue.Release()
		if err := <-result; err != nil || c.queue.running != c.queue.slots || len(c.queue.keys) != 0 {
			t.Errorf("error %v, %d running, keys %v; want %d running and no keys", err, c.queue.running, c.queue.keys, c.queue.slots)
		}
	})
}
