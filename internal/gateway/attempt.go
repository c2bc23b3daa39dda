package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fairlead/internal/egress"
	"fairlead/internal/health"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// Why we gave a call up ourselves.
var (
	errDeadline   = errors.New("the request's deadline has passed")
	errFirstToken = errors.New("no first token in time")
	errIdle       = errors.New("silent for too long in the middle of an answer")
)

// wholeFactor stretches the first-token limit for answers that come in one piece: their first byte is also their last,
// and giving up an answer that is being written pays for it twice.
const wholeFactor = 6

// attempt walks the plan until a target has begun to answer. Before that, another target takes over unseen.
func (g *Gateway) attempt(ctx context.Context, x *exchange) (*answer, error) {
	g.Retries.Request()
	plan, tries := x.decision.Plan, 0
	for i := 0; i < len(plan) && tries < x.settings.Attempts; {
		last := i+1 == len(plan) || tries+1 == x.settings.Attempts
		ans, err := g.try(ctx, x, plan[i], last, nil)
		if err == nil {
			served(x, ans.target)
			return ans, nil
		}
		if ctx.Err() != nil {
			return nil, x.abandon(ctx, plan[i])
		}
		e := llm.AsError(err)
		if !e.Kind.NextMayHelp() {
			return nil, g.describe(x, e)
		}
		if errors.Is(e, errNotTried) {
			i++
			continue
		}
		if tries++; tries == x.settings.Attempts {
			break // without the pause: nobody would be tried after it
		}
		next, spare := after(plan, i, e), g.spare(x, plan[i], e)
		if spare || (next == len(plan) && again(e)) {
			next = i // with another credential, or because nobody else is left: the same one once more
		}
		if next < len(plan) && !g.Retries.AllowRetry() {
			break
		}
		if next == i && !spare && !g.pause(ctx, x, plan[i], e, tries) {
			break
		}
		i = next
	}
	return nil, exhausted(x)
}

// abandon ends a request whose time is over before any content came. Where the client left, the provider has read the
// prompt by then, and charges for it.
func (x *exchange) abandon(ctx context.Context, t *provider.Target) *llm.Error {
	e := x.ended(ctx)
	if e.Kind == llm.ClientCancelled && len(x.entry.Attempts) > 0 {
		served(x, t)
		_ = x.bill(t, x.ownCount(t, 0))
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
	if e.Kind != llm.UpstreamAuth && e.Kind != llm.UpstreamRateLimited {
		return false
	}
	p, _ := x.snap.Provider(t.Provider)
	if len(p.Credentials) < 2 {
		return false
	}
	id, wait := g.Health.Pick(p.Name, credentialIDs(p))
	failed := x.entry.Attempts[len(x.entry.Attempts)-1].Credential
	return wait == 0 && id != failed
}

// again reports whether the same target may answer a repeat: not one that was silent or slow, and not one that asked
// for a longer rest than a client should wait.
func again(e *llm.Error) bool {
	switch e.Kind {
	case llm.UpstreamServer, llm.UpstreamOverloaded, llm.UpstreamConnect, llm.UpstreamMalformed, llm.UpstreamCut:
		return true
	case llm.UpstreamRateLimited:
		return e.RetryAfter <= longestPause
	default:
		return false
	}
}

// longestPause is the most that a client waits for the same target to be tried again.
const longestPause = 5 * time.Second

// pause waits before the same target is tried again: a jittered backoff, what the provider asked for, or until a
// credential has rested. It reports whether the try is worth making.
func (g *Gateway) pause(ctx context.Context, x *exchange, t *provider.Target, e *llm.Error, tries int) bool {
	wait := max(health.Backoff(tries, x.settings.Backoff, g.Draw()), e.RetryAfter)
	p, _ := x.snap.Provider(t.Provider)
	if _, rest := g.Health.Pick(p.Name, credentialIDs(p)); rest > 0 {
		wait = max(wait, rest)
	}
	if wait > longestPause {
		return false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		x.upstream += wait // asked for by the provider's failure, no work of ours
		return true
	case <-ctx.Done():
		return false
	}
}

// errNotTried marks a target that was passed over without a call.
var errNotTried = errors.New("not tried")

// try makes one call and reads its answer up to the first content that the client is to see. With c it goes on with an answer
// that broke.
func (g *Gateway) try(ctx context.Context, x *exchange, t *provider.Target, last bool, c *continuation) (*answer, error) {
	p, _ := x.snap.Provider(t.Provider)
	credential, err := g.credential(p)
	if err != nil {
		return nil, err
	}
	free, err := occupy(p)
	if err != nil {
		return nil, err
	}
	probe, ok := g.Health.Admit(t.ID(), last)
	if !ok {
		free()
		return nil, notTried("the circuit of %s is open", t.ID())
	}
	x.entry.Attempts = append(x.entry.Attempts, requestlog.Attempt{
		Provider: t.Provider, Model: t.Model.Name, Upstream: t.Upstream, Credential: credential.ID, Start: time.Since(x.start),
	})
	ctx, cancel := context.WithCancelCause(ctx)
	x.waiting = time.Now()
	a := &answer{
		gateway: g, exchange: x, target: t, probe: probe, began: x.waiting,
		index: len(x.entry.Attempts) - 1, cancel: cancel, free: free, ctx: ctx,
		call: &provider.Call{Target: t, Secret: credential.Secret, Request: x.req, Client: x.format, MaxOutput: x.maxOutput},
	}
	if c != nil {
		a.continues(c)
	}
	if !last {
		limit := t.FirstToken
		if !x.req.Stream {
			limit *= wholeFactor
		}
		a.timer = time.AfterFunc(limit, func() { cancel(errFirstToken) })
	}
	if err := a.open(ctx, p); err != nil {
		return nil, a.fail(err)
	}
	return a, nil
}

func notTried(format string, args ...any) error {
	return &llm.Error{Kind: llm.UpstreamOverloaded, Message: fmt.Sprintf(format, args...), Err: errNotTried}
}

// credential picks one that is not resting. A provider without credentials needs none.
func (g *Gateway) credential(p *provider.Provider) (provider.Credential, error) {
	if len(p.Credentials) == 0 {
		return provider.Credential{}, nil
	}
	id, wait := g.Health.Pick(p.Name, credentialIDs(p))
	if wait > 0 {
		return provider.Credential{}, notTried("every credential of %s rests for %s", p.Name, wait.Round(time.Second))
	}
	for _, c := range p.Credentials {
		if c.ID == id {
			return c, nil
		}
	}
	return p.Credentials[0], nil
}

func credentialIDs(p *provider.Provider) []string {
	ids := make([]string, len(p.Credentials))
	for i, c := range p.Credentials {
		ids[i] = c.ID
	}
	return ids
}

// occupy takes one of the provider's places, where their number is bounded.
func occupy(p *provider.Provider) (free func(), err error) {
	if p.Slots == nil {
		return func() {}, nil
	}
	select {
	case p.Slots <- struct{}{}:
		return func() { <-p.Slots }, nil
	default:
		return nil, notTried("%s is at its cap of %d requests at a time", p.Name, cap(p.Slots))
	}
}

// open makes the call and reads events until the first that carries content.
func (a *answer) open(ctx context.Context, p *provider.Provider) error {
	exchange := p.Exchange(a.exchange.op)
	if exchange == nil {
		return llm.Errorf(llm.CannotExpress, "%s does not offer %s.", p.Name, a.exchange.op)
	}
	ctx, timing := egress.Trace(ctx)
	if p.Login != nil {
		token, err := p.Login(ctx, a.call.Secret)
		if err != nil {
			return err
		}
		a.call.Secret = token
	}
	if tooMany(a.call) {
		return a.openBatches(ctx, p)
	}
	req, err := exchange.NewRequest(ctx, a.call)
	if err != nil {
		return err
	}
	resp, err := a.gateway.send(p, req) //nolint:bodyclose // close does, when the answer is done with
	if err != nil {
		return err
	}
	a.body = resp.Body
	attempt := a.attempt()
	attempt.Status = resp.StatusCode
	attempt.Headers = time.Since(a.began)
	if at := timing.Connected(); !at.IsZero() {
		attempt.Connect = at.Sub(a.began)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return exchange.Failure(a.call, resp)
	}
	resp.Body = conceal(resp.Body, a.call.Secret)
	return a.read(exchange, resp)
}

func (g *Gateway) send(p *provider.Provider, req *http.Request) (*http.Response, error) {
	if p.Transport != nil {
		return p.Transport.RoundTrip(req)
	}
	return g.Egress.Do(req)
}

// describe adds to an error that another target could not help with who refused the request.
func (g *Gateway) describe(x *exchange, e *llm.Error) *llm.Error {
	if !e.Kind.FromUpstream() {
		return e
	}
	last := x.entry.Attempts[len(x.entry.Attempts)-1]
	shown := *e
	shown.Message = fmt.Sprintf("%s refused the request: %s", last.Provider, strings.TrimSpace(e.Message))
	return shown.With("attempts", attempts(x)).With("provider", last.Provider).With("model", last.Model)
}

// exhausted is the error when every attempt failed, or none could be made.
func exhausted(x *exchange) *llm.Error {
	tried := x.entry.Attempts
	if len(tried) == 0 {
		e := llm.Errorf(llm.NoTargetReady, "Every provider that could serve this request is failing, resting or at its cap. Repeat it in a few seconds.")
		e.RetryAfter = 2 * time.Second
		return e
	}
	kind := tried[len(tried)-1].Class
	var wait time.Duration
	var told []string
	for _, a := range tried {
		if a.Class != kind {
			kind = llm.UpstreamServer
		}
		if a.RetryAfter > 0 && (wait == 0 || a.RetryAfter < wait) {
			wait = a.RetryAfter
		}
		told = append(told, fmt.Sprintf("%s/%s %s", a.Provider, a.Model, sentence(a)))
	}
	e := llm.Errorf(kind, "No provider could answer: %s. Repeat the request, or allow more fallbacks.", strings.Join(told, "; "))
	e.RetryAfter = wait
	e.UpstreamStatus = tried[len(tried)-1].Status
	return e.With("attempts", attempts(x))
}

func sentence(a requestlog.Attempt) string {
	what := "failed (" + string(a.Class) + ")"
	if a.Status != 0 {
		what = fmt.Sprintf("answered %d (%s)", a.Status, a.Class)
	}
	if a.Message == "" {
		return what
	}
	return what + ": " + strings.TrimRight(a.Message, ". ")
}

// attempts is what a client may know of the attempts.
func attempts(x *exchange) []map[string]any {
	list := make([]map[string]any, 0, len(x.entry.Attempts))
	for _, a := range x.entry.Attempts {
		list = append(list, map[string]any{
			"provider": a.Provider, "model": a.Model, "status": a.Status, "class": a.Class,
			"ms": a.Duration.Milliseconds(), "message": a.Message,
		})
	}
	return list
}

// report tells health how the call went.
func (a *answer) report(e *llm.Error, output int64) {
	attempt := a.attempt()
	var ttft time.Duration
	if a.exchange.req.Stream {
		ttft = attempt.FirstToken
	}
	a.gateway.Health.Report(health.Report{
		Target: a.target.ID(), Credential: attempt.Credential, Err: e, Probe: a.probe,
		TTFT: ttft, Duration: attempt.Duration, OutputTokens: output,
	})
}
