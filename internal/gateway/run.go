package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/reasoning"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/session"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire"
)

// Call is a call of the model API. It does not depend on HTTP: http.go makes one of every request, and comparisons make their own.
type Call struct {
	ID        string // request ID
	Start     time.Time
	Route     Route
	Grant     *account.Grant    // key of the caller with its workspace
	AccountID string            // account ID of a dashboard user; empty for a call with an API key
	Tags      map[string]string // tags of the key and of the call
	Options
	Invalid error // problem with the options; Run logs the call and returns the problem

	Body   []byte                       // request in the format of Route
	Upload func() (*upload.Body, error) // reads the request once the call is admitted; nil if Body is set

	Shadow *ShadowTerms // terms of a call that no client waits for; nil for all other calls
}

// Sink receives the response to a call.
type Sink interface {
	upstream.Output
	// Stream announces that the response is a stream.
	Stream()
	// Start passes the entry that describes the response, before the first event. The entry changes until Run returns.
	Start(e *requestlog.Entry)
	// Event receives an event. The data of an event in a stream is valid only during the call.
	Event(ev *llm.Event) error
	// End ends a complete response. The entry is complete and durable.
	End() error
	// Stop ends a response that failed, and reports whether part of it was sent.
	Stop() (started bool)
	// Sent returns the number of bytes of the response.
	Sent() int64
}

// Result is the outcome of a call.
type Result struct {
	Entry  *requestlog.Entry // log entry; a dry run returns the decision in its entry, which is not logged
	Tokens int64             // length of the prompt, for a call that counts tokens
}

// run is a call in progress. Its steps return what they find. The entry and the fields below it are what remains to be recorded if the
// call fails in any step.
type run struct {
	*Gateway
	call     *Call
	settings *Settings
	snapshot *route.Snapshot
	sink     Sink
	entry    *requestlog.Entry

	req        *llm.Request     // decoded request; nil before it is decoded
	tokens     int64            // result of a call that counts tokens
	series     *upstream.Series // attempts of the call; nil before the first attempt
	delivered  response.Buffer  // delivered response, for the log or to continue an interrupted stream
	text       *[]byte          // pooled buffer of the delivered text in the entry
	warnings   []string         // warnings other than those of the current attempt
	background func()           // completes the entry later; nil unless the provider generates the response in the background
}

// Run serves a call and completes its log entry. The error is for the client; it was recorded.
func (g *Gateway) Run(ctx context.Context, call Call, sink Sink) (Result, error) {
	return g.record(ctx, &call, sink, (*run).serve)
}

// record serves a call with the given function. It completes the log entry of the call, also after an error or a panic.
func (g *Gateway) record(ctx context.Context, call *Call, sink Sink, serve func(*run, context.Context) error) (Result, error) {
	r := g.newRun(call, sink)
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil { // one request must not end the process
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return serve(r, ctx)
	}()
	if err != nil {
		err = r.fail(ctx, llm.AsError(err))
	}
	result := Result{Entry: r.entry, Tokens: r.tokens}
	if r.background != nil {
		go r.background()
		return result, err
	}
	r.observe(ctx)
	return result, err
}

// serve is the life of a model call. An option that is off is not called.
func (r *run) serve(client context.Context) error {
	call, grant := r.call, r.call.Grant

	// Check the permissions of the key, and admit the call.
	if err := checkScope(grant); err != nil {
		return err
	}
	if call.Invalid != nil {
		return call.Invalid
	}
	ctx, leave, err := r.Enter(client, grant.Key.ID, r.settings.MaxConcurrent)
	if err != nil {
		return err
	}
	defer leave()

	// Decode the body, once.
	body := &upload.Body{Bytes: call.Body}
	if call.Upload != nil {
		if body, err = call.Upload(); err != nil {
			return err
		}
		defer body.Release()
	}
	p, err := r.decode(client, body)
	if err != nil {
		return err
	}
	r.recordRequest(p.req, body.Bytes)
	if p.req.Stream && bill.Generates(call.Route.Op) {
		r.sink.Stream()
	}
	if p.req.Background {
		release, err := r.admitBackground(ctx)
		if err != nil {
			return err
		}
		defer release()
	}

	// Take the limits of the key.
	slot, err := r.Limits.Take(ctx, grant.Key.ID, limit.Limits(grant.Key.Limits), p.tokens)
	if err != nil {
		return err
	}
	defer slot.Release()
	if call.Route.Op == llm.Count {
		return r.countTokens(p.req)
	}

	// Decide which targets may serve the call, and in which order.
	plan, err := r.decide(ctx, p)
	r.recordSession(p)
	r.recordDecision(plan.decision)
	if err != nil || call.DryRun {
		return err
	}

	// Look in the response cache.
	d := &delivery{run: r, plan: plan, slot: slot}
	if call.Cache != responsecache.HeaderUnset || grant.Key.Cache != nil || plan.decision.ResponseCache != nil {
		found, err := d.lookup(ctx)
		if err != nil {
			return err
		}
		if found != nil {
			return d.replay(ctx, found)
		}
		// ctx also ends for other reasons, so the context of the client is used to detect a disconnect.
		defer func() { d.cache.Flight.End(client.Err() != nil) }()
	}
	if r.Comparer != nil {
		d.capture = r.captureForComparison(plan)
	}
	var clientOf func(*provider.Target) provider.Client
	if r.Reasoning != nil && p.req.Needs.Has(llm.Tools) {
		clientOf = r.recall(plan) // before the hold, which must cover the recalled reasoning
	}

	// Hold the maximum cost, and record that the call begins.
	held, err := r.hold(ctx, grant, plan)
	r.entry.Wait = held.waited
	if err != nil {
		return r.adviseBudget(plan, held.terms, err)
	}
	defer func() { r.releaseHold(d.hold) }()
	d.hold = held.hold
	d.series = r.newSeries(plan, held)
	d.series.Client, d.series.Replan = clientOf, d.replanner()
	if err := r.begin(d.series); err != nil {
		return err
	}

	// Call the targets of the plan until one has content, and relay its response.
	ctx, stop := d.series.WithDeadline(ctx)
	defer stop()
	d.baseline = plan.baseline(r.snapshot)
	first, err := d.series.TryInOrder(ctx)
	if err != nil {
		d.settleFailure()
		return err
	}
	body.ReleaseDecoding()
	return d.relay(ctx, first)
}

// Explain makes the routing decision for a request without serving it: no limit applies and nothing is logged. If draft is not nil, it
// replaces the active policies. If no target is available, Explain returns the decision and an *llm.Error.
func (g *Gateway) Explain(ctx context.Context, call Call, req *llm.Request, draft *policy.Set) (*route.Decision, error) {
	call.Start, call.DryRun = time.Now(), true
	r := g.newRun(&call, nil)
	p := r.newPrompt(req)
	if draft != nil {
		p.policies = draft
	}
	plan, err := r.decide(ctx, p)
	return plan.decision, err
}

// prompt is a decoded request with its length and the prefixes cached by targets.
type prompt struct {
	req       *llm.Request
	policies  *policy.Set
	route     *route.Route // definition of the route that the request asks for; nil for a model and for auto without a definition
	tokens    int64        // model-independent estimate of the prompt length in tokens; 0 for a request that only counts tokens
	cache     promptcache.View
	session   session.Source  // origin of the session ID; empty before the session is known and for requests without a session
	budgets   []ledger.Budget // budgets of the session and the end user
	limited   bool            // whether a policy limits the session
	downgrade string          // reason why the request is routed by auto:cost; empty if it is routed as requested
}

// decode parses the body after acquiring a CPU slot. It returns Overloaded when the admission queue is full. A large body is decoded
// without a slot, because it would occupy the slot for too long.
func (r *run) decode(ctx context.Context, body *upload.Body) (*prompt, error) {
	if !body.Large() {
		err := r.Admission.Acquire(ctx, r.call.Grant.Key.ID)
		if errors.Is(err, limit.ErrOverloaded) {
			return nil, overloadedError("The gateway is overloaded. Retry in 1 second.")
		}
		if err == nil {
			defer r.Admission.Release()
		}
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	req, err := r.call.Route.Format.DecodeRequest(ctx, r.call.Route.Op, body.Bytes)
	if err != nil {
		return nil, err
	}
	if r.call.Shadow != nil {
		req.Model, req.Controls.Models = r.call.Shadow.Model, nil
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	return r.newPrompt(req), nil
}

// newPrompt returns a decoded request with the values of the call that belong to it.
func (r *run) newPrompt(req *llm.Request) *prompt {
	if r.call.Beta != "" {
		req.Beta = r.call.Beta
	}
	req.Controls.SessionID, req.EndUser = session.Named(req, r.call.Session), session.EndUser(req.EndUser)
	if req.Conversation != nil {
		req.Conversation.EndUser = req.EndUser
	}
	p := &prompt{req: req, policies: r.Routing.Policies.For(r.call.Grant.Workspace.ID)}
	r.resolveRoute(p)
	if req.Op != llm.Count && req.Op != llm.Realtime {
		p.tokens = token.PromptOf(req).Estimate()
	}
	return p
}

// resolveRoute finds the route that the request asks for. The routes of the instance take precedence over those of the workspace.
func (r *run) resolveRoute(p *prompt) {
	p.req.Model, p.route, p.req.Routed = r.snapshot.Resolve(p.req.Model, r.settings.Routes, r.call.Grant.Workspace.Routes)
}

// begin records the call durably before the first provider is called. It limits the size of the response that is kept for the log or
// to continue an interrupted stream.
func (r *run) begin(s *upstream.Series) error {
	r.series = s
	r.limitDelivered()
	if r.Tracing != nil {
		s.Propagate = r.propagate
	}
	if err := r.Log.Begin(r.entry); err != nil {
		return err
	}
	r.Started(r.entry)
	return nil
}

// delivery sends the response to one call to its sink. Several attempts may contribute to the response.
type delivery struct {
	*run
	plan     plan
	cache    cacheUse
	capture  *capture // captures the response for a comparison; nil if the call is not compared
	baseline bill.Baseline
	series   *upstream.Series
	hold     *ledger.Hold
	slot     *limit.Slot
	spent    bill.Spent // usage and cost of earlier attempts; interrupted attempts are already charged
}

// relay delivers the response of an attempt. If the attempt is interrupted, another attempt continues the response. The response is charged
// and recorded before its last byte is sent.
func (d *delivery) relay(ctx context.Context, a *upstream.Attempt) error {
	defer func() { a.Close() }()
	for {
		d.recordTarget(a.Target(), d.plan.decision)
		d.recordWarnings(a)
		d.start()
		a.FlushBeforeWait(d.sink)
		var received bill.UsageCounter
		err := d.deliver(a, &received)
		switch {
		case received.Pending != "" && (err != nil || received.Finish == ""):
			return d.detach(ctx, a, &received, err)
		case err == nil:
			return d.finish(ctx, a, &received)
		}
		if a, err = d.interrupted(ctx, a, &received, llm.AsError(err)); err != nil {
			return err
		}
	}
}

// deliver passes the events of a response to the sink.
func (d *delivery) deliver(a *upstream.Attempt, received *bill.UsageCounter) error {
	var usage llm.Event // the usage is sent last, and only with a complete response
	var record *reasoning.Recording
	if d.Reasoning != nil {
		record = d.recordSignatures(a.Target())
	}
	if record != nil && d.PublishSignatures != nil {
		defer func() { d.PublishSignatures(record.Message()) }()
	}
	for {
		ev, ok, err := a.Next()
		switch {
		case err != nil:
			d.sink.Flush() // the next events may be delayed until another attempt continues the response
			return err
		case !ok:
			return d.send(&usage)
		}
		received.Add(&ev)
		if record != nil {
			record.Read(ev.Data)
		}
		if ev.Bare {
			usage = ev.Clone()
		} else if err := d.send(&ev); err != nil {
			return err
		}
	}
}

// send delivers one event and stores it for the log. If the response is not streamed, the client's response and the log share the
// event's data, so send clones an event that does not own its data.
func (d *delivery) send(ev *llm.Event) error {
	if ev.Data == nil || ev.Bare && !d.req.IncludeUsage {
		return nil
	}
	if d.cache.Inputs != nil {
		whole, err := d.cache.Inputs.Merge(ev)
		if err != nil {
			return err
		}
		ev = &whole
	}
	if !d.streams() && !ev.Own {
		own := ev.Clone()
		ev = &own
	}
	if d.req.Op == llm.Embed {
		if f, ok := d.call.Route.Format.(wire.VectorEncoder); ok {
			ev.Data = f.EncodeVectors(ev.Data)
		}
	}
	d.recordEvent(ev)
	if d.capture != nil {
		d.capture.Buffer.Add(ev, d.streams())
	}
	if d.cache.Flight != nil {
		d.cache.Flight.Add(ev)
	}
	if err := d.sink.Event(ev); err != nil {
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the response.", Err: err}
	}
	return nil
}

// finish charges and records a complete response, then ends it. The entry is durable before the last byte is sent.
func (d *delivery) finish(ctx context.Context, a *upstream.Attempt, received *bill.UsageCounter) error {
	charge := d.charge(a, received)
	a.Finish(nil, charge)
	d.recordPrefix(a.Target(), charge.Usage)
	d.settle(charge)
	d.recordResponse(received)
	if d.cache.Flight != nil {
		d.recordStored(a.Target())
	}
	if err := d.writeEntry(); err != nil {
		return err
	}
	d.end(ctx)
	if d.cache.Flight != nil || d.cache.Inputs != nil {
		d.keep(ctx, a.Target())
	}
	if d.capture != nil {
		d.offer()
	}
	return nil
}

// end ends a recorded response. If the client disconnects during the last bytes, the entry on disk is not changed: whether the client read
// them is unknown.
func (r *run) end(ctx context.Context) {
	if err := r.sink.End(); err != nil {
		r.Logger.DebugContext(ctx, "client disconnected during the last bytes", "request_id", r.call.ID, "error", err.Error())
	}
}

// recordPrefix records that the target has cached the conversation, and that the baseline model would also have cached it.
func (d *delivery) recordPrefix(t *provider.Target, u llm.Usage) {
	d.plan.cache.Record(t.ID(), bill.CacheRules(t), u)
	if b := d.baseline; b.Model != "" {
		d.plan.cache.Record(promptcache.Baseline(b.Model), b.Rules, u)
	}
}

// charge computes and records the usage and the cost of an attempt.
func (d *delivery) charge(a *upstream.Attempt, received *bill.UsageCounter) bill.Charge {
	u, rejected := a.Usage(received)
	c := d.series.Terms.Charge(a.Target(), u, a.Prefilled, d.spent, d.baseline)
	d.recordCharge(c, rejected)
	d.recordWarnings(a)
	return c
}

// settle charges the budgets for the last attempt, and counts all tokens towards the rate limit. The budgets were charged for interrupted
// attempts when another target continued.
func (d *delivery) settle(c bill.Charge) {
	if c.Attempt != nil {
		d.hold.Settle(*c.Attempt)
	}
	d.slot.Settle(c.Usage.Total() + d.spent.Tokens)
}

// settleFailure settles a call without a response. If the client disconnected after the prompt was sent, the prompt is charged.
func (d *delivery) settleFailure() {
	target, usage, ok := d.series.Cancelled()
	if !ok {
		d.settle(bill.Charge{})
		return
	}
	d.recordTarget(target, d.plan.decision)
	c := d.series.Terms.Charge(target, usage, 0, d.spent, d.baseline)
	d.recordCharge(c, false)
	d.settle(c)
}

// fail records a failed call and returns the error for the client.
func (r *run) fail(ctx context.Context, e *llm.Error) *llm.Error {
	r.logInternal(ctx, r.call.ID, e)
	started := r.sink.Stop()
	if !r.logged() {
		return e
	}
	r.recordError(e, started)
	if r.background != nil {
		r.complete() // the background task writes the entry when the response ends
	} else if err := r.writeEntry(); err != nil {
		return llm.AsError(err)
	}
	return e
}
