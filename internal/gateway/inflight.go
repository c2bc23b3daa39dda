package gateway

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
)

// Inflight tracks running requests: it limits them, ends those of a revoked key, and drains them at shutdown.
type Inflight struct {
	mu      sync.Mutex
	running map[*runningRequest]struct{}
	slots   limit.FairSemaphore
	closing bool
	idle    chan struct{} // closed when new requests are rejected and none is running
}

type runningRequest struct {
	key    string
	cancel context.CancelCauseFunc
}

// newInflight returns an empty set of running requests.
func newInflight() *Inflight {
	return &Inflight{running: map[*runningRequest]struct{}{}, idle: make(chan struct{}), slots: limit.FairSemaphore{Reserve: true}}
}

// Enter admits one request. It rejects the request while draining, at the concurrency limit, or if the key exceeds its share of the slots.
func (f *Inflight) Enter(ctx context.Context, key string, limit int) (context.Context, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, nil, shutdownError()
	}
	if !f.slots.Acquire(ctx, key, limit, 0) {
		return nil, nil, overloadedError("The gateway is at its limit of concurrent requests. Retry in 1 second.")
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

// Drain rejects new requests and waits for running requests until ctx is done. Then it ends the remaining requests with an error.
func (f *Inflight) Drain(ctx context.Context) {
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
	case <-ctx.Done():
		f.mu.Lock()
		for req := range f.running {
			req.cancel(shutdownError())
		}
		f.mu.Unlock()
		<-f.idle // wait until the error responses are written
	}
}

// Draining reports whether new requests are rejected.
func (f *Inflight) Draining() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closing
}

// InFlight returns the number of running requests.
func (f *Inflight) InFlight() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.running)
}

// Revoke ends the running requests of a key.
func (f *Inflight) Revoke(keyID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for req := range f.running {
		if req.key == keyID {
			req.cancel(llm.Errorf(llm.RevokedAPIKey, "This API key was revoked during the request. Use another key."))
		}
	}
}

// overloadedError returns the error for a request that is shed.
func overloadedError(message string) error {
	e := llm.Errorf(llm.Overloaded, "%s", message)
	e.RetryAfter = time.Second
	return e
}

func shutdownError() error {
	e := llm.Errorf(llm.ServerShutdown, "The gateway is shutting down. Retry in 2 seconds: another instance or the restarted one will respond.")
	e.RetryAfter = 2 * time.Second
	return e
}
