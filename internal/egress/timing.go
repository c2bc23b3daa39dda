package egress

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// Timing records the phases of a call. A time is zero until its phase is reached. Timing is safe for concurrent use.
type Timing struct {
	mu                          sync.Mutex
	connected, wrote, firstByte time.Time
	reused                      bool
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
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              t.gotConn,
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.mark(&t.wrote) },
		GotFirstResponseByte: func() { t.mark(&t.firstByte) },
	})
}

// timingOf returns the Timing of a context, or a new one that is not used otherwise.
func timingOf(ctx context.Context) *Timing {
	if t, ok := ctx.Value(timingKey{}).(*Timing); ok {
		return t
	}
	return &Timing{}
}

func (t *Timing) gotConn(info httptrace.GotConnInfo) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connected, t.reused = now, info.Reused
}

// Connected returns when the connection was ready.
func (t *Timing) Connected() time.Time { return t.read(&t.connected) }

// Wrote returns when the request was written. For a quick response, net/http may report this after the first byte; Wrote then
// returns the time of the first byte.
func (t *Timing) Wrote() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.firstByte.IsZero() && t.firstByte.Before(t.wrote) {
		return t.firstByte
	}
	return t.wrote
}

// FirstByte returns when the first byte of the response arrived.
func (t *Timing) FirstByte() time.Time { return t.read(&t.firstByte) }

// Reused reports whether the connection was used by an earlier call.
func (t *Timing) Reused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reused
}

func (t *Timing) mark(at *time.Time) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	*at = now
}

func (t *Timing) read(at *time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return *at
}
