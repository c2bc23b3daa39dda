package gateway

import (
	"context"
	"net/http"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/ledger"
	"fairlead/internal/limit"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/policy"
	"fairlead/internal/predict"
	"fairlead/internal/promptcache"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
	"fairlead/internal/token"
	"fairlead/internal/wire"
)

// exchange is one request on its way through the gateway. Its goroutine alone touches it.
type exchange struct {
	op        llm.Op
	format    wire.Format
	identify  func(*exchange) error // finds out who asks
	w         *client
	r         *http.Request
	start     time.Time
	settings  *Settings
	snap      *route.Snapshot // one view of targets and prices until the end
	grant     *account.Grant
	req       *llm.Request
	length    int64                   // of the prompt in tokens, for no model in particular
	digest    promptcache.Fingerprint // of the conversation
	view      promptcache.View        // what is warm of it
	decision  *route.Decision
	yardstick yardstick     // the baseline
	maxOutput int64         // bound of a policy or of what a budget can pay for, where the caller sets none; 0 for none
	budgeted  bool          // a budget can refuse the request
	held      *money.Amount // what was held, which no attempt is charged more than; nil before that
	entry     *requestlog.Entry
	counter   *token.Counter
	upstream  time.Duration // spent waiting for providers, in attempts that have ended
	waiting   time.Time     // since when attempts have been under way; zero when there are none
	calls     int           // under way
	paused    time.Duration // waiting since the last attempt ended, for the record of the next one
	passed    []*llm.Error  // why targets were passed over without an attempt
	begun     bool          // the log knows of it
	kept      scroll        // the answer so far, as far as it is kept
	said      int64         // bytes of its text
	forgotten bool          // not all of it was
	spent     spending      // on attempts that delivered a part and broke
	given     int64         // tokens of the answer that the target was given as its beginning
	warned    []string      // of attempts that broke, and of the answer
	decoding  *buffer       // memory reserved for decoding a large body; nil for others
	dry       bool          // the caller wants the decision and no answer
	noText    bool          // a header forbids storing the text
}

// serve answers one request. Read it top to bottom: it is the life of a request.
func (g *Gateway) serve(ctx context.Context, x *exchange) error {
	if err := x.identify(x); err != nil {
		return err
	}
	if err := x.readFlags(); err != nil {
		return err
	}
	ctx, leave, err := g.inflight.enter(ctx, x.grant.Key.ID, x.settings)
	if err != nil {
		return err
	}
	defer leave()
	release, err := g.readRequest(x) //nolint:contextcheck // the body is read and decoded in the context of the HTTP request
	if err != nil {
		return err
	}
	defer release()
	slot, err := g.Limits.Take(ctx, x.grant.Key.ID, limit.Limits(x.grant.Key.Limits), x.length)
	if err != nil {
		return err
	}
	defer slot.Release()
	if x.op == llm.Count {
		return g.countTokens(x)
	}
	if err := g.decide(ctx, x); err != nil {
		return err
	}
	if x.dry {
		return x.dryRun()
	}
	hold, err := g.hold(ctx, x)
	if err != nil {
		return err
	}
	defer hold.Release() // does nothing once settled
	x.held = new(hold.Amount())
	if err := g.begin(x); err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, x.total(), errDeadline)
	defer stop()
	ans, err := g.attempt(ctx, x)
	if err != nil {
		settle(x, hold, slot) // a client that left has a prompt to pay for; a failure has nothing
		return err
	}
	x.decoding.releaseDecoding()
	return g.relay(ctx, x, ans, func() { settle(x, hold, slot) })
}

// settle charges what the entry says the request cost and used.
func settle(x *exchange, hold *ledger.Hold, slot *limit.Slot) {
	if x.entry.Cost != nil {
		hold.Settle(x.entry.Cost.Sub(x.spent.cost)) // what broke before was charged when another target went on
	}
	slot.Settle(x.entry.Usage.Total() + x.spent.tokens)
}

// decide plans the request and, for embeddings, fixes the workspace's model on first use.
func (g *Gateway) decide(ctx context.Context, x *exchange) error {
	if x.op == llm.Chat {
		x.digest = promptcache.Build(x.req, x.length)
		x.view = g.Prefixes.Lookup(ctx, x.grant.Workspace.ID, x.digest, x.start)
	}
	if err := x.connected(); err != nil {
		return err
	}
	policies := g.Policies.For(x.grant.Workspace.ID)
	if err := g.planRequest(x, policies, g.sketch(x, policies)); err != nil {
		return err
	}
	in := &x.decision.Input
	if in.Op == llm.Embed && route.IsAuto(in.Model) && in.PinnedEmbed == "" && !x.dry {
		if err := g.pin(ctx, x, policies); err != nil {
			return err
		}
	}
	return x.limitOutput(ctx, x.decision.MaxOutput)
}

// planRequest plans the request as it came. The sketch of its prompt is made before, and not on top of the input: a stack that has once
// grown stays large until the next collection, and streams that open meanwhile would each have one.
func (g *Gateway) planRequest(x *exchange, policies *policy.Set, s predict.Features) error {
	var in route.Input
	if err := g.input(x, policies, s, &in); err != nil {
		return err
	}
	return x.plan(&in, g.circumstances(x.grant.Workspace.ID, policies, x.view))
}

// plan decides, and notes on the entry what was decided.
func (x *exchange) plan(in *route.Input, c route.Conditions) error {
	began := time.Now()
	d, err := route.Decide(in, x.snap, c)
	d.Micros = time.Since(began).Microseconds()
	x.decision = d
	e := x.entry
	e.Decision, e.Versions, e.Policy = d, d.Versions, d.Policy
	if d.HideText {
		x.hideText()
	}
	if err != nil {
		return err
	}
	e.Simulated = d.Plan[0].Simulated // the kind of the decision is the matter of whoever serves
	if d.Baseline != nil {
		e.BaselineModel, e.BaselineSource = d.Baseline.Model, d.Baseline.Source
	}
	return nil
}

// pin makes the model just chosen the workspace's embedding model. Another request may have been first: then its choice
// holds, and the decision is made again.
func (g *Gateway) pin(ctx context.Context, x *exchange, policies *policy.Set) error {
	chosen := x.decision.Plan[0].Model.Name
	pinned, err := g.Pins.PinEmbedding(ctx, x.grant.Workspace.ID, chosen)
	if err != nil {
		return &llm.Error{Kind: llm.LedgerUnavailable, Message: "The workspace's embedding model cannot be fixed while the database is away. Name a model, or repeat the request later.", Err: err}
	}
	if pinned == chosen {
		return nil
	}
	in := x.decision.Input
	in.PinnedEmbed = pinned
	return x.plan(&in, g.circumstances(x.grant.Workspace.ID, policies, x.view))
}

// begin puts the request on record before the first provider hears of it.
func (g *Gateway) begin(x *exchange) error {
	if err := g.Log.Begin(x.entry); err != nil {
		return err
	}
	x.begun = true
	g.Started(x.entry)
	return nil
}
