package egress

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// Timing records when a call got its connection. It is safe for concurrent use.
type Timing struct {
	mu        sync.Mutex
	connected time.Time
	reused    bool
}

type timingKey struct{}

// Trace returns a context and a Timing that is filled while a Client makes a call with that context. Use the context for one call
// only.
func Trace(ctx context.Context) (context.Context, *Timing) {
	t := &Timing{}
	return context.WithValue(ctx, timingKey{}, t), t
}

// Trace returns a context that fills t while a transport other than a Client makes a call with it.
func (t *Timing) Trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: t.gotConn})
}

func (t *Timing) gotConn(info httptrace.GotConnInfo) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connected, t.reused = now, info.Reused
}

// Connected returns the time at which the connection was ready, or the zero time if it is not ready yet.
func (t *Timing) Connected() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.connected
}

// Reused reports whether the connection was used by an earlier call.
func (t *Timing) Reused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reused
}
