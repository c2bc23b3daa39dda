// Package upstream calls the targets of a plan until one of them responds. It implements retries, fallback and
// timeouts, and reports results to health. The client receives nothing before an attempt has content.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire"
)

// Admission controls which calls may be made.
type Admission interface {
	// Admit reports whether a call to the target may be made now, and with which credential. last is true when no other
	// target remains.
	Admit(target string, credentials []string, last bool) (health.Pass, bool)
	// Closed reports whether a delayed call may be made after its delay: the circuit has not opened, and the credential is not backing off.
	Closed(target string, p health.Pass) bool
	// HasOtherCredential reports whether the target may be tried immediately with a credential other than the one that
	// failed.
	HasOtherCredential(target string, credentials []string, failed string) bool
	// Wait returns the time until the target can be called with at least one of the credentials.
	Wait(target string, credentials []string) time.Duration
	// AllowRepeat reports whether a failed request may be retried at the target, and counts the retry.
	AllowRepeat(target string) bool
}

// Health records the results of calls.
type Health interface {
	// FirstToken returns the 95th percentile of the target's recent times to first token; 0 when unknown.
	FirstToken(target string) time.Duration
	// Report records the result of a call.
	Report(r health.Report)
	// Spend counts a request with the given number of prompt tokens towards the rate limits of the target.
	Spend(target, credential string, tokens int64)
	// ReportQuota records the rest of the rate limits that a response reports.
	ReportQuota(target, credential string, q health.Quota)
}

// Caller makes HTTP calls.
type Caller interface {
	Do(req *http.Request) (*http.Response, error)
}

// Dispatcher makes the calls of all requests. Its fields must not change after the first call.
type Dispatcher struct {
	Admission Admission
	Health    Health
	Egress    Caller
	Batches   Batches
	Random    func() float64 // random number from 0 to 1, for jitter
	// SealID returns the client-visible ID of a response that a provider stores. It may be nil.
	SealID func(llm.StoredResponse) string

	slots providerSlots
}

// Settings limit the attempts of a request.
type Settings struct {
	Attempts int           // maximum number of attempts
	Backoff  time.Duration // pause before the first retry
	SlotWait time.Duration // maximum time that a request waits for a provider at its concurrency limit
	Idle     time.Duration // maximum time between two events of a response
	Total    time.Duration // time limit for all attempts together
}

// Series holds the attempts of one request.
type Series struct {
	Dispatcher *Dispatcher
	Settings   *Settings
	Snapshot   *route.Snapshot
	Plan       []*provider.Target
	Terms      bill.Terms
	Requester
	CallOptions
	Prompt     int64 // estimated number of prompt tokens, independent of the model
	StoresText bool  // whether to store error messages of providers, which may quote the prompt

	Attempts []requestlog.Attempt // attempts in the order in which they started
	Clock    Clock
	skipped  []*llm.Error // reasons why targets were skipped without an attempt
}

// Requester identifies the caller of a request.
type Requester struct {
	KeyID     string
	Workspace string // id of the caller's workspace
	Session   string // id of the session; empty for none
}

// CallOptions adapt the calls of a series to its client and to each target.
type CallOptions struct {
	Format wire.Format
	Client func(*provider.Target) provider.Client     // returns the client's format for calls to a target; nil to use Format
	Cache  func(*provider.Target) provider.CacheHints // returns the cache breakpoint and cache key for a target; nil for none
	// Request returns the request for calls to a target; nil to send it as it is.
	Request func(*llm.Request, *provider.Target) *llm.Request
	// Propagate adds the trace context of an attempt to the headers of a provider call; nil for none.
	Propagate func(h http.Header, provider string, attempt int)
}

// Reasons why the gateway cancels or skips a call.
var (
	errDeadline   = errors.New("the request's deadline has passed")
	errConnect    = errors.New("the connection timed out")
	errHeaders    = errors.New("no response headers before the timeout")
	errFirstToken = errors.New("no first token before the timeout")
	errIdle       = errors.New("the provider sent no data for too long")
	errSkipped    = errors.New("target skipped")
)

const (
	// wholeFactor multiplies the first-token timeout for responses that are not streamed. They arrive only when they are
	// complete, and after a timeout the response would have to be paid for twice.
	wholeFactor = 6
	// maxDenied limits the calls that are not counted because the provider denied the model.
	maxDenied = 8
	// maxPause is the maximum wait before a retry at the same target.
	maxPause = 5 * time.Second
	// shortPause is the maximum wait for which a retry at the same target is preferred to another target, which has no
	// cached prefix.
	shortPause = 500 * time.Millisecond
	// pauseJitter is the maximum fraction by which a requested pause is extended at random, so that requests that
	// failed together do not retry together.
	pauseJitter = 0.2
)

// WithDeadline returns a context with the deadline of the request, which is set by the first target or by the settings.
func (s *Series) WithDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.total(), errDeadline)
}

func (s *Series) total() time.Duration { return cmp.Or(s.Plan[0].Waits.Total, s.Settings.Total) }

// Left returns the number of remaining attempts. Calls for a model that the provider denies do not count, up to maxDenied.
func (s *Series) Left() int {
	left, free := s.Settings.Attempts, maxDenied
	for i := range s.Attempts {
		denied := s.Attempts[i].Class == llm.UpstreamDenied || s.Attempts[i].Class == llm.UpstreamNotFound
		if denied && free > 0 {
			free--
		} else {
			left--
		}
	}
	return left
}

// TryInOrder tries the targets of the plan in order until one has content. Earlier failures are invisible to the client.
func (s *Series) TryInOrder(ctx context.Context) (*Attempt, error) {
	for i := 0; i < len(s.Plan) && s.Left() > 0 && ctx.Err() == nil; {
		last := i+1 == len(s.Plan) || s.Left() == 1
		a, err := s.Try(ctx, s.Plan[i], last, nil)
		if err == nil {
			return a, nil
		}
		if ctx.Err() != nil {
			return nil, s.Ended(ctx)
		}
		e := llm.AsError(err)
		switch {
		case errors.Is(e, errSkipped):
			s.skipped = append(s.skipped, e)
			i++
		case !s.mayTryNext(e):
			return nil, s.rejected(e)
		case s.Left() > 0: // a pause is useful only if another attempt can follow
			i = s.next(ctx, i, e)
		}
	}
	if ctx.Err() != nil {
		return nil, s.Ended(ctx) // ctx was cancelled during a pause between two attempts
	}
	return nil, s.exhausted()
}

// mayTryNext reports whether another target may be tried after a failure. If the target does not support the request,
// another target is tried only when the gateway may choose the model. If the target rejects the content, another target
// is tried only when the caller lists several models.
func (s *Series) mayTryNext(e *llm.Error) bool {
	listed := len(s.Terms.Request.Controls.Models) > 0
	switch e.Kind { //nolint:exhaustive // the other kinds do not depend on the request
	case llm.UpstreamUnsupported:
		return listed || s.Terms.Request.Routed
	case llm.UpstreamContentPolicy:
		return listed
	}
	return e.Kind.NextMayHelp()
}

// next returns the index in Plan of the target to try after Plan[at] has failed with e. The index is unchanged for a retry at the same
// target: with another credential, or after a pause if no other target remains or the pause is short. It is len(Plan) if no target remains.
func (s *Series) next(ctx context.Context, at int, e *llm.Error) int {
	t, next := s.Plan[at], at+1
	if e.Kind == llm.UpstreamContext { // only a larger context window helps
		for next < len(s.Plan) && s.Plan[next].Model.Context <= t.Model.Context {
			next++
		}
	}
	switch {
	case s.hasOtherCredential(t, e):
		if s.Dispatcher.Admission.AllowRepeat(t.ID()) {
			return at
		}
	case next == len(s.Plan) && RetrySame(e), next < len(s.Plan) && s.readySoon(t, s.Plan[next], e):
		if s.Repeat(ctx, t, e) {
			return at
		}
	}
	return next
}

// hasOtherCredential reports whether the credential failed and the provider has another one that may be used immediately.
func (s *Series) hasOtherCredential(t *provider.Target, e *llm.Error) bool {
	switch e.Kind {
	case llm.UpstreamAuth, llm.UpstreamDenied, llm.UpstreamNotFound, llm.UpstreamRateLimited:
	default:
		return false
	}
	p, _ := s.Snapshot.Provider(t.Provider)
	failed := s.Attempts[len(s.Attempts)-1].Credential
	return len(p.Credentials) > 1 && s.Dispatcher.Admission.HasOtherCredential(t.ID(), s.credentialIDs(p), failed)
}

// RetrySame reports whether a retry at the same target may succeed. It returns false after a timeout, and after a rate
// limit with a wait longer than maxPause.
func RetrySame(e *llm.Error) bool {
	switch e.Kind {
	case llm.UpstreamServer, llm.UpstreamOverloaded, llm.UpstreamConnect, llm.UpstreamMalformed, llm.StreamInterrupted:
		return true
	case llm.UpstreamRateLimited:
		return e.RetryAfter <= maxPause
	default:
		return false
	}
}

// readySoon reports whether to retry the failed target t once before falling back to next. This is the case if the wait that t requests is
// short or at most the additional latency of next, and an attempt remains for next.
func (s *Series) readySoon(t, next *provider.Target, e *llm.Error) bool {
	tries := 0
	for i := range s.Attempts {
		if a := &s.Attempts[i]; a.Provider == t.Provider && a.Model == t.Model.Name {
			tries++
		}
	}
	if e.RetryAfter <= 0 || !RetrySame(e) || s.Left() < 2 || tries > 1 {
		return false
	}
	longest := shortPause
	if same, other := s.Dispatcher.Health.FirstToken(t.ID()), s.Dispatcher.Health.FirstToken(next.ID()); same > 0 && other > 0 {
		longest = max(longest, other-same)
	}
	return e.RetryAfter <= longest
}

// Tried reports whether the target was tried.
func (s *Series) Tried(t *provider.Target) bool {
	for i := range s.Attempts {
		if a := &s.Attempts[i]; a.Provider == t.Provider && a.Model == t.Model.Name {
			return true
		}
	}
	return false
}

// Repeat pauses before a retry at the same target. The pause is the provider's requested wait with jitter, or else an exponential backoff.
// It lasts at least until the target accepts calls again. Repeat returns false if the retry may not be made.
func (s *Series) Repeat(ctx context.Context, t *provider.Target, e *llm.Error) bool {
	d := s.Dispatcher
	wait := health.Backoff(len(s.Attempts), s.Settings.Backoff, d.Random())
	if e.RetryAfter > 0 {
		wait = e.RetryAfter + time.Duration(pauseJitter*d.Random()*float64(e.RetryAfter))
	}
	p, _ := s.Snapshot.Provider(t.Provider)
	wait = max(wait, d.Admission.Wait(t.ID(), s.credentialIDs(p)))
	if deadline, ok := ctx.Deadline(); wait > maxPause || ok && time.Until(deadline) <= wait {
		return false
	}
	return d.Admission.AllowRepeat(t.ID()) && s.Clock.sleep(ctx, wait)
}

// Cancelled returns the target and the usage of the last attempt if the client disconnected after the prompt was sent.
func (s *Series) Cancelled() (*provider.Target, llm.Usage, bool) {
	if len(s.Attempts) == 0 {
		return nil, llm.Usage{}, false
	}
	a := &s.Attempts[len(s.Attempts)-1]
	if a.Class != llm.ClientCancelled || a.Usage == nil {
		return nil, llm.Usage{}, false
	}
	for _, t := range s.Plan {
		if t.Provider == a.Provider && t.Model.Name == a.Model {
			return t, *a.Usage, true
		}
	}
	return nil, llm.Usage{}, false
}

// Ended returns the error for a request whose context is done: a timeout, a client disconnect, or the cause if it is an *llm.Error.
func (s *Series) Ended(ctx context.Context) *llm.Error {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*llm.Error](cause); ok {
		return e
	}
	if errors.Is(cause, errDeadline) {
		return llm.Errorf(llm.UpstreamTimeout, "The request's deadline of %s passed before a provider responded. Retry the request or raise timeouts.total.", s.total()).
			With("attempts", s.details())
	}
	return &llm.Error{Kind: llm.ClientCancelled, Message: "The client closed the connection before the response was complete.", Err: cause}
}

// Clock measures the time that a request spends in attempts and waiting for providers or for a budget.
type Clock struct {
	Waited   time.Duration // time spent waiting for a provider or a budget without an attempt in flight
	upstream time.Duration // time spent in attempts that have ended
	since    time.Time     // start time of the attempt in flight; zero if there is none
	paused   time.Duration // time spent waiting since the last attempt ended, to record with the next attempt
	budget   time.Duration // part of paused spent waiting for a budget
}

// WaitedForBudget records the time that the request waited, before its first attempt, for money that other requests reserved.
func (c *Clock) WaitedForBudget(d time.Duration) {
	c.Waited, c.paused, c.budget = d, d, d
}

// Upstream returns the time spent in attempts and waiting.
func (c *Clock) Upstream() time.Duration {
	spent := c.upstream + c.Waited
	if !c.since.IsZero() {
		spent += time.Since(c.since)
	}
	return spent
}

func (c *Clock) start(at time.Time) { c.since = at }

func (c *Clock) stop() {
	c.upstream += time.Since(c.since)
	c.since = time.Time{}
}

// MinWait is the minimum duration that counts as waiting. Shorter durations are lock overhead.
const MinWait = 100 * time.Microsecond

// blocked records the time since the given moment as waiting, unless an attempt is in flight.
func (c *Clock) blocked(since time.Time) {
	if d := time.Since(since); c.since.IsZero() && d >= MinWait {
		c.Waited += d
		c.paused += d
	}
}

// sleep waits for d and records the time as waiting. It returns false if ctx is done first.
func (c *Clock) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	defer c.blocked(time.Now())
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
