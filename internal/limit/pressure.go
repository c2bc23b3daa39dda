package limit

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pressureTick = 100 * time.Millisecond
	lateTicks    = 3    // in a row, before anything is shed: a busy moment is none of an overload
	calmTicks    = 20   // without a need to shed, after which nothing is counted any more
	pressHard    = 0.75 // of what the busiest id had, while work still waits
	easeUp       = 1.05 // of it, once it does not
	slowest      = 0.90 // the share of the work that waits no longer than what is looked at
	busy         = 0.40 // of the processors' time, from which on the process has much to do
)

// Pressure sheds requests when the process has more work than its processors can do: those of the busiest ids first, so
// that somebody else's flood costs nobody more than waiting. It goes by how long work that could run waits for a
// processor while the process itself keeps the processors busy: what other processes take away is no load that shedding
// would lift. Its methods may be called from any goroutine.
type Pressure struct {
	bound atomic.Int64 // how long work may wait; 0 for ever
	quota atomic.Int64 // requests of one id between two ticks; 0 for any number

	mu     sync.Mutex
	counts map[string]int64 // of this tick; nil while nothing is counted
	shed   int64            // in this tick
	late   int
	calm   int
}

// Configure sets how long work may wait for a processor before requests are shed; 0 for never.
func (p *Pressure) Configure(bound time.Duration) { p.bound.Store(int64(bound)) }

// Admit reports whether a request of id may come in. While there is no pressure it costs next to nothing.
func (p *Pressure) Admit(id string) bool {
	if p.quota.Load() == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		return true
	}
	if p.counts[id] >= p.quota.Load() {
		p.shed++
		return false
	}
	p.counts[id]++
	return true
}

// Pressed reports whether requests are being shed, or were a moment ago.
func (p *Pressure) Pressed() bool { return p.quota.Load() != 0 }

// Tick takes in how long work has waited of late, and sets what one id may have until the next tick.
func (p *Pressure) Tick(waited time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bound := time.Duration(p.bound.Load())
	p.late = p.lateAgain(bound > 0 && waited > bound)
	switch {
	case p.counts == nil && p.late < lateTicks:
		return
	case p.counts == nil:
		p.quota.Store(math.MaxInt64) // how much the ids ask for is not known yet
	case p.late > 0:
		p.quota.Store(max(1, int64(pressHard*float64(p.busiest()))))
	case p.eased(bound):
		p.counts = nil
		p.quota.Store(0)
		return
	default:
		p.quota.Store(int64(min(float64(p.quota.Load())*easeUp+1, math.MaxInt64/2)))
	}
	p.counts, p.shed = map[string]int64{}, 0
}

func (p *Pressure) lateAgain(late bool) int {
	if !late {
		return 0
	}
	return p.late + 1
}

// eased reports whether nothing had to be shed for long enough.
func (p *Pressure) eased(bound time.Duration) bool {
	if p.calm++; p.shed > 0 {
		p.calm = 0
	}
	return bound == 0 || p.calm >= calmTicks
}

func (p *Pressure) busiest() int64 {
	var most int64
	for _, n := range p.counts {
		most = max(most, n)
	}
	return most
}

// Run watches the processors until ctx ends.
func (p *Pressure) Run(ctx context.Context) {
	tick := time.NewTicker(pressureTick)
	defer tick.Stop()
	var w waits
	w.read()
	worked, at := processorTime(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waited := w.read()
		now, span := processorTime(), time.Since(at)
		if float64(now-worked) < busy*float64(span)*float64(runtime.GOMAXPROCS(0)) {
			waited = 0
		}
		worked, at = now, at.Add(span)
		p.Tick(waited)
	}
}

// waits reads how long goroutines that could run have waited for a processor.
type waits struct {
	sample [1]metrics.Sample
	before []uint64
}

// read is how long all but the slowest tenth have waited since the last reading. Many of them are woken by their neighbours
// and run at once, however long the queue: it is the slow ones that tell of it.
func (w *waits) read() time.Duration {
	w.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(w.sample[:])
	if w.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0 // a runtime that does not tell: nothing is shed
	}
	h := w.sample[0].Value.Float64Histogram()
	if w.before == nil {
		w.before = make([]uint64, len(h.Counts))
	}
	var total, seen uint64
	for i, n := range h.Counts {
		total += n - w.before[i]
	}
	var long float64
	for i, n := range h.Counts {
		if seen += n - w.before[i]; float64(seen) > slowest*float64(total) {
			long = h.Buckets[i]
			break
		}
	}
	copy(w.before, h.Counts)
	return time.Duration(max(long, 0) * float64(time.Second))
}
