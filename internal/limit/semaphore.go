package limit

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// fairShare is the maximum number of slots that an ID may hold for each free slot. A single busy ID gets at most three quarters
	// of the slots, two busy IDs get three sevenths each, and so on. A slot is therefore always free for another ID.
	fairShare = 3
	// aloneFor is the time for which an ID must have been the only active ID before it can get all slots.
	aloneFor = time.Minute
	// minQueue is the minimum capacity of the queue. The capacity is the number of slots if that is larger.
	minQueue = 16
)

// FairSemaphore limits how many requests run concurrently and divides the slots fairly, so one ID cannot starve the others. It
// is safe for concurrent use. The zero value is ready to use.
type FairSemaphore struct {
	// Reserve sets whether to keep slots free for other IDs even if only one ID has been active recently.
	Reserve bool

	mu      sync.Mutex
	running int
	held    map[string]int
	queue   []*waiter
	last    string    // ID of the latest request
	changed time.Time // time of the latest request whose ID differed from the one before
}

type waiter struct {
	id    string
	size  int
	ready chan struct{} // closed when a slot is granted
}

// Acquire takes a slot for id. size is the total number of slots, and wait is the maximum waiting time. It reports whether it
// succeeded; if so, the caller must call Release.
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
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.queue, w)
	if i < 0 {
		return true // a slot was granted in the meantime
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	return false
}

// enter takes a slot or joins the queue. If it joins the queue, it returns a waiter.
func (p *FairSemaphore) enter(id string, size int, wait bool) (w *waiter, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != p.last {
		if p.last != "" {
			p.changed = time.Now()
		}
		p.last = id
	}
	if p.hasCapacity(id, size) {
		p.take(id)
		return nil, true
	}
	if !wait || len(p.queue) >= max(size, minQueue) {
		return nil, false
	}
	w = &waiter{id: id, size: size, ready: make(chan struct{})}
	p.queue = append(p.queue, w)
	return w, false
}

// Release returns a slot. The waiting ID that holds the fewest slots gets the next one. A nil semaphore does nothing.
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
	for p.serveNext() { // serves more than one waiter if size has grown
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

// hasCapacity reports whether id may take one more slot.
func (p *FairSemaphore) hasCapacity(id string, size int) bool {
	left := size - p.running
	if left <= 0 {
		return false
	}
	alone := p.changed.IsZero() || time.Since(p.changed) > aloneFor
	return p.held[id] < fairShare*left || !p.Reserve && alone
}
