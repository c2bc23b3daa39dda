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
	leave := func() {
		cancel(nil)
		f.slots.Release(key)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, req)
		if f.closing && len(f.running) == 0 {
			close(f.idle)
		}
	}
	return ctx, leave, nil
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
