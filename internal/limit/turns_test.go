package limit

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	patience = 20 * time.Millisecond
	// work is how long a turn takes, so that four at a time are 4,000 a second.
	work = time.Millisecond
	many = 1000 // requests under way
)

// crowd asks for turns and counts what it gets.
type crowd struct {
	turns   *Turns
	mu      sync.Mutex
	served  map[string]int
	refused map[string]int
	waits   []time.Duration // of those who were served
}

func newCrowd() *crowd {
	c := &crowd{turns: &Turns{}, served: map[string]int{}, refused: map[string]int{}}
	c.turns.Configure(patience)
	c.turns.size = 4
	return c
}

// ask lets requests of an id come, evenly, for a while.
func (c *crowd) ask(id string, rate int, d time.Duration) {
	var all sync.WaitGroup
	for n := range int(d.Seconds() * float64(rate)) {
		all.Go(func() {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
			c.one(id)
		})
	}
	all.Wait()
}

func (c *crowd) one(id string) {
	came := time.Now()
	ok := c.turns.Take(id, many)
	waited := time.Since(came)
	if ok {
		time.Sleep(work)
		c.turns.Give()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok {
		c.refused[id]++
		return
	}
	c.served[id]++
	c.waits = append(c.waits, waited)
}

func TestNobodyWaitsWhileThereAreTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.ask("a", 2000, time.Second)
		if c.served["a"] != 2000 || slices.Max(c.waits) > 0 || c.turns.Pressed() {
			t.Errorf("%d served, the last after %s", c.served["a"], slices.Max(c.waits))
		}
	})
}

func TestABusyMomentIsNoOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.ask("a", 80_000, 10*time.Millisecond) // work for 200 ms
		if c.served["a"] != 800 || c.turns.Pressed() {
			t.Errorf("%d served, %d refused", c.served["a"], c.refused["a"])
		}
	})
}

func TestUnderOverloadTheTurnsAreUsedAndTheRestIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.ask("a", 12_000, time.Second) // the line forms
		c.served, c.waits = map[string]int{}, nil
		c.ask("a", 12_000, 5*time.Second)
		if c.served["a"] < 19_000 || c.refused["a"] == 0 || !c.turns.Pressed() {
			t.Errorf("%d served where 20000 are possible, %d refused", c.served["a"], c.refused["a"])
		}
		if longest := slices.Max(c.waits); longest > 2*patience {
			t.Errorf("somebody was let in and waited %s", longest)
		}
	})
}

func TestAFloodIsRefusedAndTheOthersAreNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		var all sync.WaitGroup
		all.Go(func() { c.ask("a", 12_000, 5*time.Second) })
		all.Go(func() { c.ask("b", 200, 5*time.Second) })
		all.Wait()
		if c.served["b"] != 1000 || c.refused["a"] == 0 {
			t.Errorf("of the others %d were served and %d refused", c.served["b"], c.refused["b"])
		}
	})
}

func TestTwoFloodsHaveTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		var all sync.WaitGroup
		all.Go(func() { c.ask("a", 12_000, 5*time.Second) })
		all.Go(func() { c.ask("b", 6_000, 5*time.Second) })
		all.Wait()
		if a, b := c.served["a"], c.served["b"]; a > b*11/10 || b > a*11/10 {
			t.Errorf("one had %d turns, the other %d", a, b)
		}
	})
}

func TestAllAreServedAgainAfterAnOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.ask("a", 12_000, 2*time.Second)
		clear(c.refused)
		c.ask("a", 3000, 5*time.Second)
		if c.refused["a"] > 0 || c.turns.Pressed() {
			t.Errorf("%d were refused", c.refused["a"])
		}
	})
}

func TestWithoutABoundNobodyIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.turns.Configure(0)
		c.ask("a", 12_000, 2*time.Second)
		if c.refused["a"] > 0 || slices.Max(c.waits) > 0 {
			t.Errorf("%d were refused, somebody waited %s", c.refused["a"], slices.Max(c.waits))
		}
	})
}

func TestNothingIsLeftOfALine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.ask("a", 12_000, time.Second)
		if u := c.turns; u.taken != 0 || u.waiting != 0 || len(u.lines) != 0 || len(u.ids) != 0 {
			t.Errorf("%d taken, %d waiting, %d lines", u.taken, u.waiting, len(u.lines))
		}
	})
}

func TestFewRequestsDoNotYieldToOneAnother(t *testing.T) {
	t.Parallel()
	for underWay, yields := range map[int]bool{1: false, 2: false, 3: true} {
		u := newCrowd().turns // two processors
		u.Take("a", underWay)
		u.Give()
		if got := !u.settled.IsZero(); got != yields {
			t.Errorf("with %d requests under way one yields: %t", underWay, got)
		}
	}
}

func BenchmarkTurnWithoutALine(b *testing.B) {
	var t Turns
	t.Configure(patience)
	b.ReportAllocs()
	for b.Loop() {
		t.Take("a", many)
		t.Give()
	}
}

func TestRefusingDoesNotKeepEverybodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		for range c.turns.size {
			c.turns.Take("a", many) // and never give it back, as if everything else ran first
		}
		var went sync.WaitGroup
		for range 2 * roomEach * turnsEach { // more than may wait
			went.Go(func() { c.one("a") })
		}
		time.Sleep(2 * standing)
		synctest.Wait()
		waiting := c.turns.waiting
		for range 3 * refusalsEach {
			if c.turns.Take("a", many) {
				t.Fatal("somebody was let in who should have been refused")
			}
		}
		synctest.Wait()
		if gone := waiting - c.turns.waiting; gone != 3 {
			t.Errorf("for %d refusals %d of those who waited went on", 3*refusalsEach, gone)
		}
		for range c.turns.size {
			c.turns.Give()
		}
		went.Wait()
	})
}
