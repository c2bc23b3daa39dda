package promptcache

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxNames is the maximum number of targets.
const maxNames = 1 << 13

// targetTable assigns small numbers to targets, starting at 1, and tracks the hit rate of each.
type targetTable struct {
	mu    sync.Mutex // lock held while a new table is published
	table atomic.Pointer[targetSnapshot]
}

// targetSnapshot is immutable after it is published, except for the hit rates.
type targetSnapshot struct {
	ids   map[string]uint16
	names []string
	rates []*hitRate
}

func (n *targetTable) id(name string) (uint16, bool) {
	id, ok := n.table.Load().ids[name]
	return id, ok
}

func (n *targetTable) name(id uint16) string { return n.table.Load().names[id] }

// assign returns the number of a target and assigns one if needed. It returns false if the table is full.
func (n *targetTable) assign(name string) (uint16, bool) {
	if id, ok := n.id(name); ok {
		return id, true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.table.Load()
	if id, ok := old.ids[name]; ok {
		return id, true
	}
	if len(old.names) >= maxNames || name == "" {
		return 0, false
	}
	id := uint16(len(old.names))
	next := &targetSnapshot{ids: maps.Clone(old.ids), names: append(old.names, name), rates: append(old.rates, &hitRate{})}
	next.ids[name] = id
	n.table.Store(next)
	return id, true
}

// hitRate tracks the share of expected cache reads that occurred. Recent reads have more weight.
type hitRate struct {
	mu           sync.Mutex
	hits, misses float64
}

const (
	priorWeight  = 5  // weight of the prior, in responses
	memoryWeight = 40 // maximum weight of past responses, so that older responses lose weight
)

// learn adds the observed share of an expected read.
func (r *hitRate) learn(share float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.hits + r.misses; all+1 > memoryWeight {
		fade := (memoryWeight - 1) / all
		r.hits, r.misses = r.hits*fade, r.misses*fade
	}
	r.hits += share
	r.misses += 1 - share
}

// estimate returns the expected share, starting from a prior.
func (r *hitRate) estimate(guess float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return (guess*priorWeight + r.hits) / (priorWeight + r.hits + r.misses)
}
