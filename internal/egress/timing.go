package egress

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// Timing records the phases of a call. Times are zero until they happen. It is safe for concurrent use.
type Timing struct {
	mu                          sync.Mutex
	connected, wrote, firstByte time.Time
	reused                      bool
}

// Trace returns a context that fills the Timing while a call with it is made. Use it for one call only.
func Trace(ctx context.Context) (context.Context, *Timing) {
	t := &Timing{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              t.gotConn,
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.mark(&t.wrote) },
		GotFirstResponseByte: func() { t.mark(&t.firstByte) },
	}), t
}

func (t *Timing) gotConn(info httptrace.GotConnInfo) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connected, t.reused = now, info.Reused
}

// Connected returns when the connection was ready.
func (t *Timing) Connected() time.Time { return t.read(&t.connected) }

// Wrote returns when the request had been written.
func (t *Timing) Wrote() time.Time { return t.read(&t.wrote) }

// FirstByte returns when the first byte of the response arrived.
func (t *Timing) FirstByte() time.Time { return t.read(&t.firstByte) }

// Reused reports whether the connection was used before.
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
