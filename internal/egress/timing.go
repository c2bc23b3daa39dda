package egress

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// Timing says when a call reached its stations. Instants are zero until they happen. It is safe for concurrent use.
type Timing struct {
	mu                          sync.Mutex
	connected, wrote, firstByte time.Time
	reused                      bool
}

type timingKey struct{}

// Trace returns a context that fills the Timing while a call with it is made. Use it for one call only.
func Trace(ctx context.Context) (context.Context, *Timing) {
	t := &Timing{}
	return context.WithValue(ctx, timingKey{}, t), t
}

// timing is the one that a call is to fill; nil where nobody wants to know.
func timing(ctx context.Context) *Timing {
	t, _ := ctx.Value(timingKey{}).(*Timing)
	return t
}

// Traced is a request whose Timing a transport fills that tells of a call as net/http's does.
func Traced(req *http.Request) *http.Request {
	t := timing(req.Context())
	if t == nil {
		return req
	}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { t.gotConn(info.Reused) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.hasWritten() },
		GotFirstResponseByte: t.gotFirstByte,
	}))
}

func (t *Timing) gotConn(reused bool) {
	if t != nil {
		now := time.Now()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.connected, t.reused = now, reused
	}
}

func (t *Timing) hasWritten() {
	if t != nil {
		t.mark(&t.wrote)
	}
}

func (t *Timing) gotFirstByte() {
	if t != nil {
		t.mark(&t.firstByte)
	}
}

// Connected is when the connection was ready to carry the request.
func (t *Timing) Connected() time.Time { return t.read(&t.connected) }

// Wrote is when the request had been written.
func (t *Timing) Wrote() time.Time { return t.read(&t.wrote) }

// FirstByte is when the answer began.
func (t *Timing) FirstByte() time.Time { return t.read(&t.firstByte) }

// Reused reports whether the connection had served a call before.
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
