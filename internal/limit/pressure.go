package limit

import (
	"context"
	"maps"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pressureTick = 100 * time.Millisecond
	lateTicks    = 5    // in a row, before anything is shed: a busy moment is none of an overload
	stillLate    = 2    // in a row, before more is shed
	calmTicks    = 20   // without a need to shed, after which nothing is counted any more
	leaveAtLeast = 0.05 // of what is done in a tick, so that what waits gets less
	leaveAtMost  = 0.50 // when work waits four times as long as it may
	easeUp       = 1.03 // of the quota, once work does not wait
	memory       = 0.8  // of what was done before, in the mean of what is done
	slowest      = 0.90 // the share of the work that waits no longer than what is looked at
	busy         = 0.40 // of the processors' time, from which on the process has much to do
)

// Pressure sheds requests when the process has more work than its processors can do: those of the busiest ids first, so
// that somebody else's flood costs nobody more than waiting. It goes by how long work that could run waits for a
// processor while the process itself keeps the processors busy: what other processes take away is no load that shedding
// would lift. As many as are done are let in, less a part for what waits already. Its methods may be called from any goroutine.
type Pressure struct {
	bound atomic.Int64 // how long work may wait; 0 for ever
	quota atomic.Int64 // requests of one id between two ticks; 0 for any number
	done  atomic.Int64 // requests since the last tick

	mu    sync.Mutex
	asked map[string]int64 // in this tick; nil while nothing is counted
	shed  int64            // in this tick
	late  int              // ticks
	calm  int              // ticks
	able  float64          // what can be done in a tick
}

// Configure sets how long work may wait for a processor before requests are shed; 0 for never.
func (p *Pressure) Configure(bound time.Duration) { p.bound.Store(int64(bound)) }

// Admit reports whether a request of id may come in; then Done must be called. While there is no pressure it costs next to
// nothing.
func (p *Pressure) Admit(id string) bool {
	if p.quota.Load() == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		return true
	}
	p.asked[id]++
	if p.asked[id] > p.quota.Load() {
		p.shed++
		return false
	}
	return true
}

// Done tells that a request which was let in is over.
func (p *Pressure) Done() { p.done.Add(1) }

// Pressed reports whether requests are being shed, or were a moment ago.
func (p *Pressure) Pressed() bool { return p.quota.Load() != 0 }

// Tick takes in how long work has waited of late, and sets what one id may have until the next tick. Once it sheds it aims at
// half the bound, so that what is refused is refused soon.
func (p *Pressure) Tick(waited time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bound, done := time.Duration(p.bound.Load()), float64(p.done.Swap(0))
	if p.asked != nil {
		bound /= 2
	}
	if bound == 0 || waited <= bound {
		p.late = 0
	} else {
		p.late++
	}
	p.learn(done)
	switch {
	case p.asked == nil && p.late < lateTicks:
		return
	case p.asked == nil: // how much is asked for is not known yet
		p.quota.Store(math.MaxInt64)
		p.calm = 0
	case p.late >= stillLate:
		p.quota.Store(p.share((1 - leave(waited, bound)) * p.able))
	case p.late > 0:
	case p.eased(bound):
		p.asked = nil
		p.quota.Store(0)
		return
	default:
		p.quota.Store(int64(min(float64(p.quota.Load())*easeUp+1, math.MaxInt64/2)))
	}
	p.asked, p.shed = map[string]int64{}, 0
}

// learn takes in how much was done while there was enough to do. Where requests were shed, more might have been done.
func (p *Pressure) learn(done float64) {
	switch {
	case p.late == 0:
	case p.able == 0:
		p.able = done
	case p.shed == 0 || done > p.able:
		p.able = memory*p.able + (1-memory)*done
	}
}

// leave is the part of what could be done that is left for what waits: the more, the longer that waits.
func leave(waited, bound time.Duration) float64 {
	return min(leaveAtMost, leaveAtLeast+(leaveAtMost-leaveAtLeast)*float64(waited-bound)/float64(3*bound))
}

// share is the quota with which all ids together get a number of requests, if they ask for as much as in this tick.
func (p *Pressure) share(number float64) int64 {
	asked := slices.Sorted(maps.Values(p.asked))
	for i, n := range asked { // who asks for less than an even share leaves the rest to the others
		even := number / float64(len(asked)-i)
		if float64(n) > even {
			return max(1, int64(even))
		}
		number -= float64(n)
	}
	return math.MaxInt64 // nobody asks for more
}

// eased reports whether nothing had to be shed for long enough.
func (p *Pressure) eased(bound time.Duration) bool {
	if p.calm++; p.shed > 0 {
		p.calm = 0
	}
	return bound == 0 || p.calm >= calmTicks
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
