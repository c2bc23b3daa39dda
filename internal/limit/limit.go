// Package limit owns request and token rates and concurrency: it admits a request, or returns which limit it exceeds and
// when to retry. Budgets belong to package ledger.
package limit

import (
	"context"
	"sync"
	"time"

	"fairlead/internal/llm"
)

// Limits are the limits of one id; 0 means unlimited.
type Limits struct {
	RequestsPerMinute int64
	TokensPerMinute   int64
	Concurrent        int64
}

// Limiter admits requests.
type Limiter interface {
	// Take admits one request of about this many tokens, or returns an *llm.Error of kind RateLimited.
	// It counts on all limits or on none; a rejected request is not counted. The slot must be released.
	Take(ctx context.Context, id string, l Limits, tokens int64) (*Slot, error)
}

// The names of limits in Rejection.
const (
	RequestsPerMinute = "requests_per_minute"
	TokensPerMinute   = "tokens_per_minute"
	Concurrent        = "concurrent"
)

// Rejection is the content of `details.limit` in an error.
type Rejection struct {
	Name  string `json:"name"`
	Limit int64  `json:"limit"`
	Used  int64  `json:"used"`
}

// Window is the time over which rates are counted.
const Window = time.Minute

// Grant is the state that an implementation keeps for an admitted request.
type Grant interface {
	// Settle replaces the estimated tokens by the counted ones. It is called at most once.
	Settle(tokens int64)
	// Release ends the request's concurrency. It is called exactly once.
	Release()
}

// Slot is one admitted request. Its methods may be called from any goroutine and more than once.
type Slot struct {
	mu                sync.Mutex
	grant             Grant
	settled, released bool
}

// NewSlot returns the slot of a grant; nil for a request without limits.
func NewSlot(g Grant) *Slot { return &Slot{grant: g} }

// Settle corrects the token estimate; only the first call counts. A negative count is an error of the provider
// and keeps the estimate.
func (s *Slot) Settle(tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant == nil || s.settled || tokens < 0 {
		return
	}
	s.settled = true
	s.grant.Settle(tokens)
}

// Release ends the request's concurrency; only the first call counts.
func (s *Slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant == nil || s.released {
		return
	}
	s.released = true
	s.grant.Release()
}

// Reject returns the error for an exceeded limit, with a wait of 1 to 60 whole seconds.
func Reject(r Rejection, wait time.Duration) *llm.Error {
	seconds := min(max((wait+time.Second-1)/time.Second, 1), Window/time.Second)
	var e *llm.Error
	switch r.Name {
	case Concurrent:
		e = llm.Errorf(llm.RateLimited, "This key may have %d requests running at a time and has %d. Wait for one to end, or raise the limit in API key settings.", r.Limit, r.Used)
	case TokensPerMinute:
		e = llm.Errorf(llm.RateLimited, "This key may use %d tokens a minute and has used %d. Repeat the request in %d s, or raise the limit in API key settings.", r.Limit, r.Used, seconds)
	default:
		e = llm.Errorf(llm.RateLimited, "This key may send %d requests a minute and has sent %d. Repeat the request in %d s, or raise the limit in API key settings.", r.Limit, r.Used, seconds)
	}
	e.RetryAfter = seconds * time.Second
	return e.With("limit", r)
}

// RejectTooLarge returns the error for a request whose estimate alone exceeds the token limit: a retry cannot succeed.
func RejectTooLarge(r Rejection, tokens int64) *llm.Error {
	e := llm.Errorf(llm.RateLimited, "This request is estimated at %d tokens, and this key may use %d a minute. Send a shorter prompt or a lower output limit, or raise the limit in API key settings.", tokens, r.Limit)
	e.Final = true
	return e.With("limit", r)
}
