// Package limit enforces limits on request rate, token rate and concurrency. It admits a request, or returns which limit is
// exceeded and when to retry. Budgets belong to package ledger.
package limit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"fairlead.dev/internal/llm"
)

// Limits holds the limits of one ID, usually that of an API key; 0 means unlimited.
type Limits struct {
	RequestsPerMinute int64
	TokensPerMinute   int64
	Concurrent        int64
}

// Limiter admits requests.
type Limiter interface {
	// Take admits one request with an estimated number of tokens, or returns an *llm.Error of kind RateLimited. A request counts towards all
	// limits if it is admitted and towards none if it is rejected. The caller must release the slot.
	Take(ctx context.Context, id string, l Limits, tokens int64) (*Slot, error)
}

// Names of limits in Rejection.
const (
	RequestsPerMinute = "requests_per_minute"
	TokensPerMinute   = "tokens_per_minute"
	Concurrent        = "concurrent"
)

// Rejection is the content of `details.limit` in an error response.
type Rejection struct {
	Name  string `json:"name"`
	Limit int64  `json:"limit"`
	Used  int64  `json:"used"`
}

// Window is the period over which rates are counted.
const Window = time.Minute

// Grant is the limiter's record of one admitted request.
type Grant interface {
	// Settle replaces the estimated number of tokens with the actual one. It is called at most once.
	Settle(tokens int64)
	// Release ends the request, so that it no longer counts as concurrent. It is called exactly once.
	Release()
}

// Slot is one admitted request. It is safe for concurrent use, and its methods may be called more than once.
type Slot struct {
	mu                sync.Mutex
	grant             Grant
	settled, released bool
}

// NewSlot returns the slot of a grant. The grant is nil for a request without limits.
func NewSlot(g Grant) *Slot { return &Slot{grant: g} }

// Settle replaces the estimated number of tokens with the actual one. Only the first call has an effect. A negative number is a provider
// error and is ignored.
func (s *Slot) Settle(tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant == nil || s.settled || tokens < 0 {
		return
	}
	s.settled = true
	s.grant.Settle(tokens)
}

// Release ends the request, so that it no longer counts as concurrent. Only the first call has an effect.
func (s *Slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant == nil || s.released {
		return
	}
	s.released = true
	s.grant.Release()
}

// Reject returns the error for an exceeded limit. The retry time is rounded up to whole seconds and is between 1 and 60 seconds.
func Reject(r Rejection, wait time.Duration) *llm.Error {
	seconds := min(max((wait+time.Second-1)/time.Second, 1), Window/time.Second)
	var e *llm.Error
	switch r.Name {
	case Concurrent:
		e = llm.Errorf(llm.RateLimited, "This key is at its limit of %d concurrent requests (%d running). Wait for a request to finish, or raise the limit in API key settings.", r.Limit, r.Used)
	case TokensPerMinute:
		e = llm.Errorf(llm.RateLimited, "This key may use %d tokens a minute and has used %d. Retry in %s, or raise the limit in API key settings.", r.Limit, r.Used, inSeconds(seconds))
	default:
		e = llm.Errorf(llm.RateLimited, "This key may send %d requests a minute and has sent %d. Retry in %s, or raise the limit in API key settings.", r.Limit, r.Used, inSeconds(seconds))
	}
	e.RetryAfter = seconds * time.Second
	return e.With("limit", r)
}

func inSeconds(n time.Duration) string {
	if n == 1 {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", n)
}

// RejectTooLarge returns the error for a request whose estimated tokens alone exceed the limit, so a retry cannot succeed.
func RejectTooLarge(r Rejection, tokens int64) *llm.Error {
	e := llm.Errorf(llm.RateLimited, "This request is estimated at %d tokens, and this key may use %d a minute. Send a shorter prompt or a lower output limit, or raise the limit in API key settings.", tokens, r.Limit)
	e.Final = true
	return e.With("limit", r)
}
