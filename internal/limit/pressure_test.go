package limit

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// world asks for some requests of each id in every tick, and works as long as there are few.
type world struct {
	pressure Pressure
	capacity int64 // admitted requests a tick, beyond which work waits
	asked    map[string]int64
	admitted map[string]int64
}

func (w *world) tick() {
	w.admitted = map[string]int64{}
	var total int64
	for id, n := range w.asked {
		for range n {
			if w.pressure.Admit(id) {
				w.admitted[id]++
				total++
			}
		}
	}
	waited := time.Millisecond
	if total > w.capacity {
		waited = 100 * time.Millisecond
	}
	w.pressure.Tick(waited)
}

func (w *world) ticks(n int) {
	for range n {
		w.tick()
	}
}

func newWorld() *world {
	w := &world{capacity: 100, asked: map[string]int64{"a": 60, "b": 10}}
	w.pressure.Configure(30 * time.Millisecond)
	return w
}

func TestNothingIsShedWithoutPressure(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.ticks(50)
	if w.admitted["a"] != 60 || w.admitted["b"] != 10 || w.pressure.counts != nil {
		t.Errorf("admitted %v", w.admitted)
	}
}

func TestABusyMomentIsNoOverload(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.pressure.Tick(time.Second)
	w.pressure.Tick(time.Second)
	w.ticks(1)
	w.pressure.Tick(time.Second)
	w.ticks(1)
	if w.admitted["a"] != 60 || w.pressure.quota.Load() != 0 {
		t.Errorf("admitted %v", w.admitted)
	}
}

func TestAFloodIsShedAndTheOthersAreNot(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.asked["a"] = 1000
	w.ticks(20)
	var sum int64
	for range 100 {
		w.tick()
		sum += w.admitted["a"] + w.admitted["b"]
		if w.admitted["b"] != 10 {
			t.Fatalf("admitted %v", w.admitted)
		}
	}
	if sum < 100*w.capacity*8/10 || sum > 100*w.capacity*11/10 {
		t.Errorf("%d requests a tick were let in where %d are possible", sum/100, w.capacity)
	}
}

func TestAllIsLetInAgainAfterAnOverload(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.asked["a"] = 1000
	w.ticks(50)
	w.asked["a"] = 60
	w.ticks(50) // five seconds
	if w.admitted["a"] != 60 || w.pressure.counts != nil || w.pressure.quota.Load() != 0 {
		t.Errorf("admitted %v, a quota of %d", w.admitted, w.pressure.quota.Load())
	}
}

func TestWithoutABoundNothingIsShed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.asked["a"] = 1000
	w.ticks(20)
	w.pressure.Configure(0)
	w.ticks(3)
	if w.admitted["a"] != 1000 {
		t.Errorf("admitted %v", w.admitted)
	}
}

func TestWatchingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p Pressure
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.Run(ctx)
	})
}

func TestWaitsAreRead(t *testing.T) {
	t.Parallel()
	var w waits
	w.read()
	for range 1000 {
		runtime.Gosched()
	}
	if got := w.read(); got < 0 || got > time.Minute {
		t.Errorf("waited %s", got)
	}
}

func BenchmarkPressureOff(b *testing.B) {
	var p Pressure
	b.ReportAllocs()
	for b.Loop() {
		p.Admit("a")
	}
}
