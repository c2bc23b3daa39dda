package limit

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// world asks for some requests of each id in every tick, and does as many as it can: what is let in beyond that waits.
type world struct {
	pressure Pressure
	capacity int64 // requests a tick
	waiting  int64
	done     int64 // in all
	asked    map[string]int64
	admitted map[string]int64
}

func (w *world) tick() {
	w.admitted = map[string]int64{}
	for id, n := range w.asked {
		for range n {
			if w.pressure.Admit(id) {
				w.admitted[id]++
				w.waiting++
			}
		}
	}
	done := min(w.waiting, w.capacity)
	for range done {
		w.pressure.Done()
	}
	w.waiting, w.done = w.waiting-done, w.done+done
	w.pressure.Tick(pressureTick * time.Duration(w.waiting) / time.Duration(w.capacity))
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
	if w.admitted["a"] != 60 || w.admitted["b"] != 10 || w.pressure.asked != nil {
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
	w.done = 0
	for range 300 {
		w.tick()
		if w.admitted["b"] != 10 {
			t.Fatalf("admitted %v", w.admitted)
		}
	}
	if w.done < 300*w.capacity*9/10 {
		t.Errorf("%d requests a tick were done where %d are possible", w.done/300, w.capacity)
	}
	if most := w.capacity / 2; w.waiting > most {
		t.Errorf("%d requests wait, more than %d", w.waiting, most)
	}
}

func TestTwoFloodsShareWhatIsPossible(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.asked["a"], w.asked["c"] = 1000, 200
	w.ticks(300)
	var a, b, c int64
	for range 100 {
		w.tick()
		a, b, c = a+w.admitted["a"], b+w.admitted["b"], c+w.admitted["c"]
	}
	if a != c || b != 1000 || a < 3500 || a > 5000 {
		t.Errorf("in a hundred ticks %d, %d and %d were let in", a, b, c)
	}
}

func TestAllIsLetInAgainAfterAnOverload(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.asked["a"] = 1000
	w.ticks(50)
	w.asked["a"] = 60
	w.ticks(100) // ten seconds
	if w.admitted["a"] != 60 || w.pressure.asked != nil || w.pressure.quota.Load() != 0 {
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
