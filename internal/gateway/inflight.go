package gateway

import (
	"context"
	"sync"
	"time"

	"fairlead/internal/limit"
	"fairlead/internal/llm"
)

// inflight knows the requests under way: to bound them, to end those of a revoked key, and to drain at the end.
type inflight struct {
	mu      sync.Mutex
	running map[*flight]struct{}
	places  limit.FairSemaphore
	closing bool
	idle    chan struct{} // closed when closing and nothing runs
}

type flight struct {
	key    string
	cancel context.CancelCauseFunc
}

func (f *inflight) init() {
	f.running = map[*flight]struct{}{}
	f.idle = make(chan struct{})
	f.places.Reserve = true
}

// enter admits one request, or refuses it while draining, at the cap, or where its key has more than a fair share.
func (f *inflight) enter(ctx context.Context, key string, s *Settings) (context.Context, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, nil, shutdownError()
	}
	if !f.places.Take(ctx, key, s.MaxConcurrent, 0) {
		return nil, nil, overloaded("The gateway runs as many requests as it may at a time. Repeat the request in a second.")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	one := &flight{key: key, cancel: cancel}
	f.running[one] = struct{}{}
	return ctx, func() { f.leave(one) }, nil
}

func (f *inflight) leave(one *flight) {
	one.cancel(nil)
	f.places.Release(one.key)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, one)
	if f.closing && len(f.running) == 0 {
		close(f.idle)
	}
}

// cancel ends the running requests of a key.
func (f *inflight) cancel(key string, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.running {
		if one.key == key {
			one.cancel(why)
		}
	}
}

func (f *inflight) draining() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

func (f *inflight) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.running)
}

// drain refuses new requests, waits for those under way until ctx ends, then cuts the rest off and waits for them to say so.
func (f *inflight) drain(ctx context.Context) {
	f.mu.Lock()
	if !f.closing {
		f.closing = true
		if len(f.running) == 0 {
			close(f.idle)
		}
	}
	f.mu.Unlock()
	select {
	case <-f.idle:
		return
	case <-ctx.Done():
	}
	f.mu.Lock()
	for one := range f.running {
		one.cancel(shutdownError())
	}
	f.mu.Unlock()
	<-f.idle
}

// overloaded is the error for a request that is shed: soon there may be room.
func overloaded(message string) error {
	e := llm.Errorf(llm.Overloaded, "%s", message)
	e.RetryAfter = time.Second
	return e
}

func shutdownError() error {
	e := llm.Errorf(llm.ServerShutdown, "The gateway is shutting down. Repeat the request; another instance or the restarted one will answer.")
	e.RetryAfter = 2 * time.Second
	return e
}
