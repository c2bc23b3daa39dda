package limit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	slotsPerCPU = 2
	// minQueuePerCPU is the queue length per CPU below which no request is rejected. A few clients that always have one request in
	// flight are not an overload.
	minQueuePerCPU = 64
	// minCongestion is the time for which the queue must have been non-empty before requests are rejected. Shorter bursts clear faster if all
	// requests wait.
	minCongestion = 250 * time.Millisecond
	// overloadMemory is the time for which Overloaded reports true after the latest rejection.
	overloadMemory = 2 * time.Second
	// rateWindow is the minimum period over which admissions are counted. The new rate is at least rateDecay times the previous rate,
	// because other processes may have used the CPUs in the latest window.
	rateWindow = 100 * time.Millisecond
	rateDecay  = 0.9
)

// ErrOverloaded is returned by AdmissionQueue.Acquire when the queue is full.
var ErrOverloaded = errors.New("admission queue is full")

// AdmissionQueue limits how many requests use the CPU concurrently and queues the others per key. Keys are served round-robin, so
// one key cannot starve the others. After a quarter of a second of congestion, the queue is limited to the number of requests
// that can be admitted within the configured wait; further requests are rejected on arrival. The zero value admits everything. It
// is safe for concurrent use.
type AdmissionQueue struct {
	maxWait  atomic.Int64              // maximum wait, as a time.Duration; 0 admits everything
	rejected atomic.Pointer[time.Time] // time of the latest rejection; nil if there was none

	mu         sync.Mutex
	slots      int
	running    int
	waiting    int
	queues     map[string][]chan struct{} // waiting requests per key, oldest first
	keys       []string                   // keys with waiting requests, in round-robin order
	congested  time.Time                  // time at which the queue was last empty
	windowFrom time.Time
	admitted   int     // number of admissions since windowFrom
	rate       float64 // recent admissions per second
}

// Configure sets how long a request may wait under overload; 0 admits every request immediately.
func (q *AdmissionQueue) Configure(maxWait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slots = slotsPerCPU * runtime.GOMAXPROCS(0)
	q.maxWait.Store(int64(maxWait))
}

// Acquire waits for a CPU slot for a request of key. It returns ErrOverloaded if the queue is full, and the error of ctx if ctx is
// cancelled first. After success the caller must call Release. While the caller holds the slot, it must not wait for I/O or for other
// requests.
func (q *AdmissionQueue) Acquire(ctx context.Context, key string) error {
	q.mu.Lock()
	if q.running < q.slots || q.maxWait.Load() <= 0 {
		q.running++
		q.admitted++
		q.mu.Unlock()
		// Hold the slot while goroutines that were ready earlier run. Requests beyond the capacity then wait in the admission queue, which
		// is fair and bounded, instead of the scheduler's queue. A request that was queued does not yield, because the rejection of new
		// requests could then use up the CPU.
		runtime.Gosched()
		return nil
	}
	now := time.Now()
	if q.full(key, now) {
		q.mu.Unlock()
		q.rejected.Store(new(now))
		return ErrOverloaded
	}
	if q.queues == nil {
		q.queues = map[string][]chan struct{}{}
	}
	if len(q.queues[key]) == 0 {
		q.keys = append(q.keys, key)
	}
	granted := make(chan struct{})
	q.queues[key] = append(q.queues[key], granted)
	q.waiting++
	q.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.queues[key], granted)
	if i >= 0 {
		q.remove(key, i)
	}
	q.mu.Unlock()
	if i < 0 {
		q.Release() // the request was admitted in the meantime
	}
	return ctx.Err()
}

// Release returns a slot and admits the next waiting request.
func (q *AdmissionQueue) Release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	for q.running < q.slots && q.waiting > 0 {
		key := q.keys[0]
		granted := q.queues[key][0]
		q.keys = append(q.keys[1:], key)
		q.remove(key, 0)
		q.running++
		q.admitted++
		close(granted)
	}
}

// Overloaded reports whether a request was rejected recently.
func (q *AdmissionQueue) Overloaded() bool {
	last := q.rejected.Load()
	return last != nil && time.Since(*last) < overloadMemory
}

// full reports whether a new request of key must be rejected. During a short burst, it returns false unless a request was rejected
// recently. Otherwise it returns true if the queue contains as many requests as can be admitted within the configured wait, and key
// has at least its share of the queue.
func (q *AdmissionQueue) full(key string, now time.Time) bool {
	if window := now.Sub(q.windowFrom); window >= rateWindow {
		q.rate = max(float64(q.admitted)/window.Seconds(), rateDecay*q.rate)
		q.windowFrom, q.admitted = now, 0
	}
	if q.waiting == 0 {
		q.congested = now
	}
	if now.Sub(q.congested) < minCongestion && !q.Overloaded() {
		return false
	}
	capacity := max(q.rate*time.Duration(q.maxWait.Load()).Seconds(), float64(minQueuePerCPU*q.slots/slotsPerCPU))
	return float64(q.waiting) >= capacity && float64(len(q.queues[key])*len(q.keys)) >= capacity
}

// remove removes the i-th waiting request of key. If it was the last one, key is removed from the round-robin order.
func (q *AdmissionQueue) remove(key string, i int) {
	q.waiting--
	if left := slices.Delete(q.queues[key], i, i+1); len(left) > 0 {
		q.queues[key] = left
		return
	}
	delete(q.queues, key)
	q.keys = slices.DeleteFunc(q.keys, func(k string) bool { return k == key })
}
