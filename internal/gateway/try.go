package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fairlead/internal/egress"
	"fairlead/internal/health"
	"fairlead/internal/limit"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
)

// errNotTried marks a target that was passed over without a call.
var errNotTried = errors.New("not tried")

// notTried is the error for a target that was passed over. Its kind is that of the failures that led to this.
func notTried(kind llm.Kind, format string, args ...any) *llm.Error {
	return &llm.Error{Kind: kind, Message: fmt.Sprintf(format, args...), Err: errNotTried}
}

// try makes one call and reads its answer up to the first content that the client is to see. With c it goes on with an answer
// that broke.
func (g *Gateway) try(ctx context.Context, x *exchange, t *provider.Target, last bool, c *continuation) (*answer, error) {
	a, err := g.prepare(ctx, x, t, last, c)
	if err != nil {
		return nil, err
	}
	if err := a.open(); err != nil { //nolint:contextcheck // an answer has the context of its own call
		return nil, a.fail(err)
	}
	return a, nil
}

// prepare finds a place and a credential for a call, and puts it on the entry.
func (g *Gateway) prepare(ctx context.Context, x *exchange, t *provider.Target, last bool, c *continuation) (*answer, error) {
	p, _ := x.snap.Provider(t.Provider)
	places, err := g.occupy(ctx, x, p, last)
	if err != nil {
		return nil, err
	}
	pass, err := g.admit(ctx, x, p, t, last)
	if err != nil {
		places.Release(x.grant.Key.ID)
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	key := secret(p, pass.Credential)
	a := &answer{
		gateway: g, exchange: x, target: t, provider: p, probe: pass.Probe, began: time.Now(),
		index: len(x.entry.Attempts), cancel: cancel, places: places, ctx: ctx,
		call: &provider.Call{Target: t, Secret: key, Secrets: p.Secrets(key), Request: x.req, Client: x.format, MaxOutput: x.mostAt(t)},
		note: requestlog.Attempt{
			Provider: t.Provider, Model: t.Model.Name, Upstream: t.Upstream, Credential: pass.Credential, Start: time.Since(x.start),
		},
	}
	a.call.Counter = a
	a.note.Wait, x.paused = x.paused, 0
	x.entry.Attempts = append(x.entry.Attempts, a.note)
	x.wait(a.began)
	if c != nil {
		a.continues(c)
	}
	if !last {
		a.timer = time.AfterFunc(x.firstToken(t), func() { cancel(errFirstToken) })
	}
	return a, nil
}

// firstToken is how long the first token of a target may take while another one remains.
func (x *exchange) firstToken(t *provider.Target) time.Duration {
	if x.req.Stream {
		return t.FirstToken
	}
	return t.FirstToken * wholeFactor
}

// occupy takes one of the provider's places. It waits a moment for one where there is no other target to go to.
func (g *Gateway) occupy(ctx context.Context, x *exchange, p *provider.Provider, last bool) (*limit.FairSemaphore, error) {
	if p.Concurrent == 0 {
		return nil, nil // no bound: nothing is taken, and leaving it does nothing
	}
	var wait time.Duration
	if last {
		wait = x.settings.PlaceWait
	}
	places := g.rooms.of(p.Name)
	defer x.blocked(time.Now())
	if !places.Take(ctx, x.grant.Key.ID, p.Concurrent, wait) {
		return nil, notTried(llm.UpstreamOverloaded, "%s is at its cap of %d requests at a time", p.Name, p.Concurrent)
	}
	return places, nil
}

// admit asks health for leave to call the target. Where traffic is returning after an outage, the only target's turn comes
// after a moment.
func (g *Gateway) admit(ctx context.Context, x *exchange, p *provider.Provider, t *provider.Target, last bool) (health.Pass, error) {
	ids := credentialIDs(p)
	pass, ok := g.Health.Admit(t.ID(), ids, last)
	if ok && pass.Delay > 0 {
		ok = x.sleep(ctx, pass.Delay) && g.Health.Closed(t.ID(), pass)
	}
	switch {
	case ok:
		return pass, nil
	case pass.Refused:
		return pass, notTried(llm.UpstreamAuth, "%s has refused the credential or the model", t.ID())
	case pass.Resting > 0:
		e := notTried(llm.UpstreamRateLimited, "%s limits its rate for %s more", t.ID(), pass.Resting.Round(time.Second))
		e.RetryAfter = pass.Resting
		return pass, e
	}
	return pass, notTried(llm.UpstreamOverloaded, "the circuit of %s is open", t.ID())
}

// sleep waits for a provider's sake. It reports whether the request still has time.
func (x *exchange) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	defer x.blocked(time.Now())
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func credentialIDs(p *provider.Provider) []string {
	ids := make([]string, len(p.Credentials))
	for i, c := range p.Credentials {
		ids[i] = c.ID
	}
	return ids
}

func secret(p *provider.Provider, id string) string {
	for _, c := range p.Credentials {
		if c.ID == id {
			return c.Secret
		}
	}
	return ""
}

// open makes the call and reads events until the first that carries content.
func (a *answer) open() error {
	p := a.provider
	exchange := p.Exchange(a.exchange.op)
	if exchange == nil {
		return llm.Errorf(llm.Untranslatable, "%s does not offer %s.", p.Name, a.exchange.op)
	}
	ctx, timing := egress.Trace(a.ctx)
	a.timing = timing
	inTime := a.watchStart(timing)
	defer inTime()
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
	inTime()
	a.body.from = resp.Body
	resp.Body = &a.body
	attempt := a.attempt()
	attempt.Status = resp.StatusCode
	attempt.Headers = time.Since(a.began)
	if at := timing.Connected(); !at.IsZero() {
		attempt.Connect = at.Sub(a.began)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return exchange.Failure(a.call, resp)
	}
	err = a.read(exchange, resp)
	resp.Header = nil // they have been read, and its body keeps the answer for as long as it is open
	return err
}

func (g *Gateway) send(p *provider.Provider, req *http.Request) (*http.Response, error) {
	if p.Transport != nil {
		return p.Transport.RoundTrip(req)
	}
	return g.Egress.Do(req)
}

// watchStart gives the call up when its connection or its status takes longer than the target is given for that. The function
// it returns ends the watch.
func (a *answer) watchStart(timing *egress.Timing) (inTime func()) {
	connect, headers := a.target.Waits.Connect, a.target.Waits.Headers
	if !a.exchange.req.Stream {
		headers = 0 // the status of a whole answer comes with its last word
	}
	if connect == 0 && headers == 0 {
		return func() {}
	}
	var timers []*time.Timer
	if connect > 0 {
		timers = append(timers, time.AfterFunc(connect, func() {
			if timing.Connected().IsZero() {
				a.cancel(errConnect)
			}
		}))
	}
	if headers > 0 {
		timers = append(timers, time.AfterFunc(headers, func() { a.cancel(errHeaders) }))
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
	}
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
