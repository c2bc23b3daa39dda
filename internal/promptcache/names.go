package promptcache

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxNames bounds how many targets are told apart; more than that nobody configures.
const maxNames = 1 << 13

// names gives targets short numbers, from 1 on, and keeps how well each keeps what it should.
type names struct {
	mu    sync.Mutex // of writers
	table atomic.Pointer[nameTable]
}

// nameTable is never changed once it is published, but for the rates in it.
type nameTable struct {
	ids   map[string]uint16
	names []string
	rates []*rate
}

func newNames() *names {
	n := &names{}
	n.table.Store(&nameTable{ids: map[string]uint16{}, names: []string{""}, rates: []*rate{{}}})
	return n
}

func (n *names) id(name string) (uint16, bool) {
	id, ok := n.table.Load().ids[name]
	return id, ok
}

func (n *names) name(id uint16) string { return n.table.Load().names[id] }

// take returns the number of a name, giving it one. It reports false when all are taken.
func (n *names) take(name string) (uint16, bool) {
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
	next := &nameTable{ids: maps.Clone(old.ids), names: append(old.names, name), rates: append(old.rates, &rate{})}
	next.ids[name] = id
	n.table.Store(next)
	return id, true
}

// rate is how much of what was expected from a target's cache came true lately.
type rate struct {
	mu         sync.Mutex
	kept, lost float64
}

const (
	priorWeight  = 5  // answers that the first guess counts for
	memoryWeight = 40 // answers that are remembered, in all
)

// learn takes in the share of an expected read that came true.
func (r *rate) learn(share float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.kept + r.lost; all+1 > memoryWeight {
		fade := (memoryWeight - 1) / all
		r.kept, r.lost = r.kept*fade, r.lost*fade
	}
	r.kept += share
	r.lost += 1 - share
}

// chance is the share to expect, beginning from a guess.
func (r *rate) chance(guess float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return (guess*priorWeight + r.kept) / (priorWeight + r.kept + r.lost)
}

func (n *names) chance(id uint16, rules Rules) float64 {
	return n.table.Load().rates[id].chance(rules.Chance)
}

func (n *names) learn(id uint16, share float64) { n.table.Load().rates[id].learn(share) }
