package gateway

import (
	"context"
	"errors"
	"time"

	"fairlead/internal/health"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/route"
)

// Why we gave a call up ourselves.
var (
	errDeadline   = errors.New("the request's deadline has passed")
	errConnect    = errors.New("no connection in time")
	errHeaders    = errors.New("no status in time")
	errFirstToken = errors.New("no first token in time")
	errIdle       = errors.New("silent for too long in the middle of an answer")
)

// wholeFactor stretches the first-token limit for answers that come in one piece: their first byte is also their last,
// and giving up an answer that is being written pays for it twice.
const wholeFactor = 6

// attempt walks the plan until a target has begun to answer. Before that, another target takes over unseen.
func (g *Gateway) attempt(ctx context.Context, x *exchange) (*answer, error) {
	plan, most := x.decision.Plan, x.settings.Attempts
	for i := 0; i < len(plan) && len(x.entry.Attempts) < most && ctx.Err() == nil; {
		last := i+1 == len(plan) || len(x.entry.Attempts)+1 == most
		ans, at, err := g.race(ctx, x, i, last)
		if err == nil {
			served(x, ans.target)
			return ans, nil
		}
		if ctx.Err() != nil {
			return nil, x.abandon(ctx, plan[at])
		}
		e := llm.AsError(err)
		switch {
		case errors.Is(e, errNotTried):
			x.passed = append(x.passed, e)
			i++
		case !x.movesOn(e):
			return nil, g.describe(x, e)
		case len(x.entry.Attempts) < most: // otherwise without a pause: no attempt would follow it
			i = g.next(ctx, x, at, e)
		}
	}
	if ctx.Err() != nil {
		return nil, x.ended(ctx) // in a pause between two attempts
	}
	return nil, exhausted(x)
}

// movesOn reports whether another target is tried after a failure. A request that a target does not support moves on where the
// caller left the choice of the model to the gateway; a content refusal only where the caller listed other models for it.
func (x *exchange) movesOn(e *llm.Error) bool {
	listed := len(x.req.Controls.Models) > 0
	switch e.Kind { //nolint:exhaustive // the kind alone decides for the others
	case llm.UpstreamUnsupported:
		return listed || route.IsAuto(x.req.Model)
	case llm.UpstreamContentPolicy:
		return listed
	}
	return e.Kind.NextMayHelp()
}

// next returns the index of the target to try after a failure at the target with index at, or len(plan) when there is none.
// It is the same one with another credential, or after a pause when no other target is left or the pause is short.
func (g *Gateway) next(ctx context.Context, x *exchange, at int, e *llm.Error) int {
	plan := x.decision.Plan
	t, next := plan[at], after(plan, at, e)
	switch {
	case g.spare(x, t, e):
		if g.Health.AllowRepeat(t.ID()) {
			return at
		}
	case next == len(plan) && again(e), next < len(plan) && g.readySoon(x, t, plan[next], e):
		if g.repeat(ctx, x, t, e) {
			return at
		}
	}
	return next
}

// abandon ends a request whose time is over before any content came. Where the client left a target that had read the prompt,
// it pays for that.
func (x *exchange) abandon(ctx context.Context, t *provider.Target) *llm.Error {
	e := x.ended(ctx)
	if n := len(x.entry.Attempts); n > 0 && e.Kind == llm.ClientCancelled {
		if left := &x.entry.Attempts[n-1]; left.Class == llm.ClientCancelled && left.Usage != nil {
			served(x, t)
			_ = x.bill(t, *left.Usage)
		}
	}
	return e
}

// served notes on the entry which target answers, and that it was not the first choice where so.
func served(x *exchange, t *provider.Target) {
	x.entry.Model, x.entry.Provider, x.entry.Simulated = t.Model.Name, t.Provider, t.Simulated
	if t != x.decision.Plan[0] {
		x.decision.Kind = route.Fallback
	}
	x.entry.DecisionKind = x.decision.Kind
}

// after is the index of the next target worth trying: for a prompt that did not fit, one with a larger window.
func after(plan []*provider.Target, i int, e *llm.Error) int {
	failed := plan[i]
	for i++; i < len(plan); i++ {
		if e.Kind != llm.UpstreamContext || plan[i].Model.Context > failed.Model.Context {
			return i
		}
	}
	return len(plan)
}

// spare reports whether it was the credential that failed and the provider has another one, which may be used at once.
func (g *Gateway) spare(x *exchange, t *provider.Target, e *llm.Error) bool {
	switch e.Kind {
	case llm.UpstreamAuth, llm.UpstreamDenied, llm.UpstreamNotFound, llm.UpstreamRateLimited:
	default:
		return false
	}
	p, _ := x.snap.Provider(t.Provider)
	failed := x.entry.Attempts[len(x.entry.Attempts)-1].Credential
	return len(p.Credentials) > 1 && g.Health.HasOtherCredential(t.ID(), credentialIDs(p), failed)
}

// again reports whether the same target may answer a repeat: not one that was silent or slow, and not one that asked
// for a longer rest than a client should wait.
func again(e *llm.Error) bool {
	switch e.Kind {
	case llm.UpstreamServer, llm.UpstreamOverloaded, llm.UpstreamConnect, llm.UpstreamMalformed, llm.StreamInterrupted:
		return true
	case llm.UpstreamRateLimited:
		return e.RetryAfter <= longestPause
	default:
		return false
	}
}

const (
	// longestPause is the most that a client waits for the same target to be tried again.
	longestPause = 5 * time.Second
	// shortPause is a wait that costs a client no more than a switch, which has to read the prompt without a warm cache.
	shortPause = 500 * time.Millisecond
	// pauseSpread is the share by which a pause that the provider asked for is extended at random, so that requests that
	// failed together do not return together.
	pauseSpread = 0.2
)

// readySoon reports whether a target that failed asks for so short a wait that one repeat there delays the client no more than a
// switch to the next target. An attempt must be left for the switch.
func (g *Gateway) readySoon(x *exchange, t, next *provider.Target, e *llm.Error) bool {
	if e.RetryAfter <= 0 || !again(e) || len(x.entry.Attempts)+2 > x.settings.Attempts || x.triedTwice(t) {
		return false
	}
	most := shortPause
	if same, other := g.Health.FirstToken(t.ID()), g.Health.FirstToken(next.ID()); same > 0 && other > 0 {
		most = max(most, other-same)
	}
	return e.RetryAfter <= most
}

// triedTwice reports whether the target has had two attempts for this request.
func (x *exchange) triedTwice(t *provider.Target) bool {
	n := 0
	for i := range x.entry.Attempts {
		if a := &x.entry.Attempts[i]; a.Provider == t.Provider && a.Model == t.Model.Name {
			n++
		}
	}
	return n > 1
}

// repeat pauses before the same target is tried again: as long as the provider asked for, with jitter, or a growing backoff, and
// until the target's back-off has ended. It reports whether the attempt is to be made.
func (g *Gateway) repeat(ctx context.Context, x *exchange, t *provider.Target, e *llm.Error) bool {
	wait := health.Backoff(len(x.entry.Attempts), x.settings.Backoff, g.Draw())
	if e.RetryAfter > 0 {
		wait = e.RetryAfter + time.Duration(pauseSpread*g.Draw()*float64(e.RetryAfter))
	}
	p, _ := x.snap.Provider(t.Provider)
	wait = max(wait, g.Health.Wait(t.ID(), credentialIDs(p)))
	if deadline, ok := ctx.Deadline(); wait > longestPause || ok && time.Until(deadline) <= wait {
		return false
	}
	return g.Health.AllowRepeat(t.ID()) && x.sleep(ctx, wait)
}
