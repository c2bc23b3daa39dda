// Package limit owns request and token rates and concurrency: it admits a request or says which limit it meets and
// when to come back. Budgets are the matter of ledger.
package limit

import (
	"context"
	"sync"
	"time"

	"fairlead/internal/llm"
)

// Limits bound the traffic of one id; 0 is no limit.
type Limits struct {
	RequestsPerMinute int64
	TokensPerMinute   int64
	Concurrent        int64
}

// Limiter admits requests.
type Limiter interface {
	// Take admits one request of about this many tokens, or returns an *llm.Error of kind RateLimited.
	// It counts on all limits or on none; a refused request is not counted. The slot must be released.
	Take(ctx context.Context, id string, l Limits, tokens int64) (*Slot, error)
}

// The names of limits in Rejection.
const (
	RequestsPerMinute = "requests_per_minute"
	TokensPerMinute   = "tokens_per_minute"
	Concurrent        = "concurrent"
)

// Rejection is what `details.limit` holds.
type Rejection struct {
	Name  string `json:"name"`
	Limit int64  `json:"limit"`
	Used  int64  `json:"used"`
}

// Window is the span that rates are counted over.
const Window = time.Minute

// Grant is what an implementation keeps about an admitted request.
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

// NewSlot wraps what an implementation keeps; nil for a request that no limit applies to.
func NewSlot(g Grant) *Slot { return &Slot{grant: g} }

// Settle corrects the token estimate; only the first call counts. A negative count is a provider's mistake and leaves
// the estimate standing.
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

// Reject makes the error for a limit that is met, with a whole number of seconds from 1 to 60 to wait.
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

// RejectTooLarge makes the error for a request whose estimate alone is beyond the token limit: repeating cannot help.
func RejectTooLarge(r Rejection, tokens int64) *llm.Error {
	e := llm.Errorf(llm.RateLimited, "This request is estimated at %d tokens, and this key may use %d a minute. Send a shorter prompt or a lower output limit, or raise the limit in API key settings.", tokens, r.Limit)
	e.Final = true
	return e.With("limit", r)
}
