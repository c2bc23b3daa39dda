package gateway

import (
	"context"
	"sync"
	"time"

	"fairlead/internal/limit"
	"fairlead/internal/llm"
)

// inflight tracks running requests: it limits them, ends those of a revoked key, and drains them at shutdown.
type inflight struct {
	mu      sync.Mutex
	running map[*runningRequest]struct{}
	slots   limit.FairSemaphore
	closing bool
	idle    chan struct{} // closed when closing and no request runs
}

type runningRequest struct {
	key    string
	cancel context.CancelCauseFunc
}

// enter admits one request. It rejects the request while draining, at the concurrency limit, or when the key exceeds its share of the slots.
func (f *inflight) enter(ctx context.Context, key string, limit int) (context.Context, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, nil, shutdownError()
	}
	if !f.slots.Acquire(ctx, key, limit, 0) {
		return nil, nil, overloaded("The gateway is at its limit of concurrent requests. Retry in 1 second.")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req := &runningRequest{key: key, cancel: cancel}
	f.running[req] = struct{}{}
	return ctx, func() { f.leave(req) }, nil
}

func (f *inflight) leave(req *runningRequest) {
	req.cancel(nil)
	f.slots.Release(req.key)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, req)
	if f.closing && len(f.running) == 0 {
		close(f.idle)
	}
}

// cancel ends the running requests of a key.
func (f *inflight) cancel(key string, cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for req := range f.running {
		if req.key == key {
			req.cancel(cause)
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

// drain rejects new requests, waits for running ones until ctx ends, then cancels the rest and waits for their error responses.
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
	for req := range f.running {
		req.cancel(shutdownError())
	}
	f.mu.Unlock()
	<-f.idle
}

// overloaded returns the error for a request that is shed.
func overloaded(message string) error {
	e := llm.Errorf(llm.Overloaded, "%s", message)
	e.RetryAfter = time.Second
	return e
}

func shutdownError() error {
	e := llm.Errorf(llm.ServerShutdown, "The gateway is shutting down. Retry in 2 seconds: another instance or the restarted one will respond.")
	e.RetryAfter = 2 * time.Second
	return e
}
