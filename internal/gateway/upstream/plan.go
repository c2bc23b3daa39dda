// Package upstream calls the targets of a plan until one of them responds: retries, fallback, timeouts, and the continuation of interrupted
// streams. It reports results to health. The client receives nothing before an attempt has content. Start with plan.go: it decides what
// follows each failure. attempt.go makes one call, continuation.go joins the text of two targets.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
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
	// Replan decides again after the provider denied a model to the account, which health has recorded. It returns the new plan, or nil to
	// keep the plan.
	Replan func(context.Context) []*provider.Target
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
	// maxDenied limits the calls that are not counted because the provider denied the model. It is large enough for an account that offers
	// few of the vendor's models and does not list them.
	maxDenied = 64
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

// left returns the number of remaining attempts. Calls for a model that the provider denies do not count, up to maxDenied.
func (s *Series) left() int {
	denied := min(s.denied(), maxDenied)
	return s.Settings.Attempts - len(s.Attempts) + denied
}

// denied returns the number of attempts that failed because the account does not offer the model.
func (s *Series) denied() (n int) {
	for i := range s.Attempts {
		if kind := s.Attempts[i].Class; kind == llm.UpstreamDenied || kind == llm.UpstreamNotFound {
			n++
		}
	}
	return n
}

// TryInOrder tries the targets of the plan in order until one has content. Earlier failures are invisible to the client.
func (s *Series) TryInOrder(ctx context.Context) (*Attempt, error) {
	for i := 0; i < len(s.Plan) && s.left() > 0 && ctx.Err() == nil; {
		last := i+1 == len(s.Plan) || s.left() == 1
		a, err := s.try(ctx, s.Plan[i], last, nil)
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
		case s.left() > 0: // a pause is useful only if another attempt can follow
			if plan := s.replan(ctx, s.Plan[i]); plan != nil {
				s.Plan, i = plan, 0
			} else {
				i = s.next(ctx, i, e)
			}
		}
	}
	if ctx.Err() != nil {
		return nil, s.Ended(ctx) // ctx was cancelled during a pause between two attempts
	}
	return nil, s.exhausted()
}

// replan returns the plan after the failure of a target if the account offers none of the models tried so far; nil to keep the plan.
func (s *Series) replan(ctx context.Context, failed *provider.Target) []*provider.Target {
	if s.Replan == nil || s.denied() < len(s.Attempts) {
		return nil
	}
	plan := s.Replan(ctx)
	if len(plan) == 0 || plan[0].ID() == failed.ID() {
		return nil
	}
	return plan
}

// option is a target that can continue the response, with a prefill or from the start.
type option struct {
	target  *provider.Target
	prefill bool
	repeat  bool // whether the target has just failed and its retry must wait
}

// Continue tries targets until one of them continues the delivered text. It returns nil if no target does. If a target that starts again
// produces different text, the search ends, because other targets would probably also produce different text. After a failed prefill, the
// same target may start again.
func (r *Rescue) Continue(ctx context.Context, broken *Attempt, e *llm.Error) *Attempt {
	s := r.series
	options := r.options(broken, e)
	byPrefill := []llm.Kind{llm.UpstreamRejected, llm.UpstreamUnsupported, llm.Untranslatable, llm.ContinuationMismatch} // errors that the prefill may have caused
	for len(options) > 0 && s.left() > 0 {
		o, before := options[0], len(s.Attempts)
		options = options[1:]
		if o.repeat && !s.repeat(ctx, o.target, e) {
			return nil
		}
		next, err := r.try(ctx, o, len(options) == 0 || s.left() == 1)
		switch {
		case err == nil:
			return next
		case ctx.Err() != nil:
			return nil
		case o.prefill && slices.Contains(byPrefill, llm.AsError(err).Kind):
			for i := before; i < len(s.Attempts); i++ { // replace the provider's message, which may quote text that the caller did not send
				s.Attempts[i].Message = "did not continue the delivered text"
			}
			if s.Dispatcher.Admission.AllowRepeat(o.target.ID()) {
				options = append([]option{{target: o.target}}, options...)
			}
		case !llm.AsError(err).Kind.NextMayHelp():
			return nil
		}
	}
	return nil
}

// options lists the targets that can continue the response: first the targets that accept a prefill, then the targets that start the
// response again. The failed target is retried if no other target remains, unless it timed out.
func (r *Rescue) options(broken *Attempt, e *llm.Error) []option {
	fresh := slices.DeleteFunc(slices.Clone(r.series.Plan), r.series.tried)
	same := len(fresh) == 0 && retrySame(e)
	if same {
		fresh = append(fresh, broken.Target())
	}
	var prefills, restarts []option
	accepts := strings.TrimSpace(r.text) != "" && r.acceptsPrefill()
	for _, t := range fresh {
		if accepts && t.Model.Abilities.Has(llm.Prefill) && r.outputLeft(t) >= 0 {
			prefills = append(prefills, option{target: t, prefill: true, repeat: same})
		} else {
			restarts = append(restarts, option{target: t, repeat: same})
		}
	}
	return append(prefills, restarts...)
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
	case next == len(s.Plan) && retrySame(e), next < len(s.Plan) && s.readySoon(t, s.Plan[next], e):
		if s.repeat(ctx, t, e) {
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

// retrySame reports whether a retry at the same target may succeed. It returns false after a timeout, and after a rate
// limit with a wait longer than maxPause.
func retrySame(e *llm.Error) bool {
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
	if e.RetryAfter <= 0 || !retrySame(e) || s.left() < 2 || tries > 1 {
		return false
	}
	longest := shortPause
	if same, other := s.Dispatcher.Health.FirstToken(t.ID()), s.Dispatcher.Health.FirstToken(next.ID()); same > 0 && other > 0 {
		longest = max(longest, other-same)
	}
	return e.RetryAfter <= longest
}

// tried reports whether the target was tried.
func (s *Series) tried(t *provider.Target) bool {
	for i := range s.Attempts {
		if a := &s.Attempts[i]; a.Provider == t.Provider && a.Model == t.Model.Name {
			return true
		}
	}
	return false
}

// repeat pauses before a retry at the same target. The pause is the provider's requested wait with jitter, or else an exponential backoff.
// It lasts at least until the target accepts calls again. repeat returns false if the retry may not be made.
func (s *Series) repeat(ctx context.Context, t *provider.Target, e *llm.Error) bool {
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
