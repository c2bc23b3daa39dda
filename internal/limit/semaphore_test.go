package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// waiting returns the number of waiting requests.
func (p *FairSemaphore) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

func TestBusyIDLeavesSlotsToOthers(t *testing.T) {
	t.Parallel()
	p := FairSemaphore{Reserve: true}
	flood := func(id string) (n int) {
		for p.Acquire(t.Context(), id, 100, 0) {
			n++
		}
		return n
	}
	if a := flood("a"); a != 75 {
		t.Errorf("the only id got %d of 100 slots, want 75", a)
	}
	if b := flood("b"); b < 15 {
		t.Errorf("the second id got %d slots, want at least 15", b)
	}
	if c := flood("c"); c < 3 {
		t.Errorf("the third id got %d slots, want at least 3", c)
	}
}

func TestOnlyIDGetsAllSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p FairSemaphore
		for range 8 {
			if !p.Acquire(t.Context(), "a", 8, 0) {
				t.Fatal("the only id does not get all eight slots")
			}
		}
		if p.Acquire(t.Context(), "b", 8, 0) {
			t.Fatal("acquired a ninth slot of eight")
		}
		for range 3 {
			p.Release("a")
		}
		if p.Acquire(t.Context(), "a", 8, 0); p.held["a"] != 6 {
			t.Errorf("a holds %d slots, want 6", p.held["a"])
		}
		if p.Acquire(t.Context(), "a", 8, 0) {
			t.Error("a busy id got a slot reserved for a recently active id")
		}
		if !p.Acquire(t.Context(), "b", 8, 0) {
			t.Error("b got no slot")
		}
		time.Sleep(aloneFor + time.Second)
		if !p.Acquire(t.Context(), "b", 8, 0) {
			t.Error("a slot stays free although only b is active")
		}
	})
}

func TestReleasedSlotGoesToIDWithFewestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p FairSemaphore
		for range 4 {
			p.Acquire(t.Context(), "a", 4, 0)
		}
		order := make(chan string, 10)
		wait := func(id string) {
			go func() {
				if p.Acquire(t.Context(), id, 4, time.Second) {
					order <- id
				}
			}()
			synctest.Wait()
		}
		for _, id := range []string{"a", "a", "a", "b"} {
			wait(id)
		}
		p.Release("a")
		synctest.Wait()
		if got := <-order; got != "b" {
			t.Errorf("%s got the released slot, want b", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(order) != 0 || p.waiting() != 0 {
			t.Errorf("%d acquired a slot without a release and %d still wait, want none", len(order), p.waiting())
		}
	})
}

func TestWaitingEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p FairSemaphore
		p.Acquire(t.Context(), "a", 1, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		if ok := p.Acquire(ctx, "b", 1, time.Hour); ok || time.Since(began) != 10*time.Millisecond {
			t.Errorf("Acquire = %t after %s, want false after 10ms", ok, time.Since(began))
		}
		for range 2 * minQueue {
			go p.Acquire(t.Context(), "b", 1, time.Second)
		}
		synctest.Wait()
		if n := p.waiting(); n != minQueue {
			t.Errorf("%d requests wait, want %d", n, minQueue)
		}
		time.Sleep(time.Second)
	})
}

// For every sequence of calls, the slots are never exceeded, no count is negative, and all counts return to zero.
func TestSemaphoreInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := FairSemaphore{Reserve: rapid.Bool().Draw(t, "reserve")}
		size := rapid.IntRange(1, 12).Draw(t, "size")
		var taken []string
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
			if rapid.Bool().Draw(t, "enter") {
				if p.Acquire(context.Background(), id, size, 0) {
					taken = append(taken, id)
				}
			} else if len(taken) > 0 {
				p.Release(taken[0])
				taken = taken[1:]
			}
			if p.running != len(taken) || p.running > size {
				t.Fatalf("%d running, %d acquired, %d slots", p.running, len(taken), size)
			}
		}
		for _, id := range taken {
			p.Release(id)
		}
		if p.running != 0 || len(p.held) != 0 {
			t.Fatalf("after all releases %d running and %v held, want none", p.running, p.held)
		}
	})
}
