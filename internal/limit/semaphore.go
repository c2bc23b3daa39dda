package limit

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// fairShare is how many places one id may have for each that is left. A flood of one id stops at three quarters, of two at
	// three sevenths each, and so on: somebody else always finds a place.
	fairShare = 3
	// aloneFor is how long nobody else must have been there for one id to have all places.
	aloneFor = time.Minute
	// leastQueue is how many may wait for a place, however few there are.
	leastQueue = 16
)

// FairSemaphore bounds how many requests run at a time, and shares the places out fairly: one id's flood does not keep the others
// out. Its methods may be called from any goroutine. The zero value is ready to use.
type FairSemaphore struct {
	// Reserve keeps room for other ids even when nobody else has been there of late.
	Reserve bool

	mu      sync.Mutex
	running int
	held    map[string]int
	queue   []*waiter
	last    string    // who came last
	changed time.Time // when that was somebody else than before
}

type waiter struct {
	id    string
	size  int
	ready chan struct{} // closed when the place is taken
}

// Acquire takes one of size places for id, waiting a while for it where need be. It reports whether it did; then Release must be
// called.
func (p *FairSemaphore) Acquire(ctx context.Context, id string, size int, wait time.Duration) bool {
	w, ok := p.enter(id, size, wait > 0)
	if w == nil {
		return ok
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.ready:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.giveUp(w)
}

// enter takes a place, or queues for one.
func (p *FairSemaphore) enter(id string, size int, wait bool) (w *waiter, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recordKey(id)
	if p.hasCapacity(id, size) {
		p.take(id)
		return nil, true
	}
	if !wait || len(p.queue) >= max(size, leastQueue) {
		return nil, false
	}
	w = &waiter{id: id, size: size, ready: make(chan struct{})}
	p.queue = append(p.queue, w)
	return w, false
}

// giveUp leaves the queue. The place may have been given at this very moment: then it is taken.
func (p *FairSemaphore) giveUp(w *waiter) (taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.queue, w)
	if i < 0 {
		return true
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	return false
}

// Release gives a place back, to whoever waits and has the fewest. No places at all have none to give.
func (p *FairSemaphore) Release(id string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	if p.held[id]--; p.held[id] == 0 {
		delete(p.held, id)
	}
	for p.serveNext() { // more than one, where places have become more
	}
}

func (p *FairSemaphore) serveNext() bool {
	next := -1
	for i, w := range p.queue {
		if p.hasCapacity(w.id, w.size) && (next < 0 || p.held[w.id] < p.held[p.queue[next].id]) {
			next = i
		}
	}
	if next < 0 {
		return false
	}
	w := p.queue[next]
	p.queue = slices.Delete(p.queue, next, next+1)
	p.take(w.id)
	close(w.ready)
	return true
}

func (p *FairSemaphore) take(id string) {
	if p.held == nil {
		p.held = map[string]int{}
	}
	p.running++
	p.held[id]++
}

// hasCapacity reports whether id may have one more place.
func (p *FairSemaphore) hasCapacity(id string, size int) bool {
	left := size - p.running
	if left <= 0 {
		return false
	}
	return p.held[id] < fairShare*left || !p.Reserve && p.onlyOneKey()
}

// recordKey remembers that somebody else than the last came.
func (p *FairSemaphore) recordKey(id string) {
	if id == p.last {
		return
	}
	if p.last != "" {
		p.changed = time.Now()
	}
	p.last = id
}

func (p *FairSemaphore) onlyOneKey() bool {
	return p.changed.IsZero() || time.Since(p.changed) > aloneFor
}

// Running is how many places are taken.
func (p *FairSemaphore) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}
