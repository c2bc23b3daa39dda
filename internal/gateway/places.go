package gateway

import (
	"sync"

	"fairlead/internal/limit"
)

// rooms are the places at each provider. They outlive changes of the configuration, as the requests do that have them.
type rooms struct {
	mu     sync.Mutex
	byName map[string]*limit.FairSemaphore
}

// of returns the places at a provider.
func (r *rooms) of(name string) *limit.FairSemaphore {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.byName[name]
	if p == nil {
		if r.byName == nil {
			r.byName = map[string]*limit.FairSemaphore{}
		}
		p = &limit.FairSemaphore{}
		r.byName[name] = p
	}
	return p
}
