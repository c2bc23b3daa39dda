package gateway

import (
	"context"
	"slices"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/attempt"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/rescue"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/wire"
)

// delivery sends the response to one request to the client. Several attempts may contribute to the response.
type delivery struct {
	gateway  *Gateway
	in       *incoming
	grant    *account.Grant
	plan     plan
	baseline bill.Baseline
	series   *attempt.Series
	rec      *recorder
	out      *response.Writer
	hold     *ledger.Hold
	slot     *limit.Slot
	spent    bill.Spent // usage and cost of earlier attempts; interrupted attempts are already charged
}

// relay delivers the response of an attempt. If the attempt is interrupted, another attempt continues the response. The response is charged
// and recorded before its last byte is sent.
func (d *delivery) relay(ctx context.Context, a *attempt.Attempt) error {
	defer func() { a.Close() }()
	for {
		d.rec.RecordTarget(a.Target(), d.plan.decision)
		d.rec.RecordWarnings(a)
		d.out.DeferFlush()
		a.FlushBeforeWait(d.out)
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

// deliver passes the events of a response to the client.
func (d *delivery) deliver(a *attempt.Attempt, received *bill.UsageCounter) error {
	var usage llm.Event // the usage is sent last, and only with a complete response
	recorded := d.recordSignatures(a.Target())
	for {
		ev, ok, err := a.Next()
		switch {
		case err != nil:
			d.out.Flush() // the next events may be delayed until another attempt continues the response
			return err
		case !ok:
			return d.send(&usage)
		}
		received.Add(&ev)
		recorded(ev.Data)
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
	if ev.Data == nil || ev.Bare && !d.plan.req.IncludeUsage {
		return nil
	}
	if d.rec.Cache.Inputs != nil {
		whole, err := d.rec.Cache.Inputs.Merge(ev)
		if err != nil {
			return err
		}
		ev = &whole
	}
	if !d.out.Streams() && !ev.Own {
		own := ev.Clone()
		ev = &own
	}
	if f, ok := d.in.Route.Format.(wire.VectorEncoder); ok && d.plan.req.Op == llm.Embed {
		ev.Data = f.EncodeVectors(ev.Data)
	}
	d.rec.RecordEvent(ev)
	if err := d.out.Event(ev, d.rec); err != nil {
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the response.", Err: err}
	}
	return nil
}

// finish charges and records a complete response, then ends it.
func (d *delivery) finish(ctx context.Context, a *attempt.Attempt, received *bill.UsageCounter) error {
	charge := d.charge(a, received)
	a.Finish(nil, charge)
	d.recordCache(a.Target(), charge.Usage)
	d.settle(charge)
	d.rec.RecordResponse(received)
	d.rec.RecordStored(a.Target(), d.plan.decision)
	if err := d.gateway.Log.End(d.rec.Complete()); err != nil {
		return err
	}
	d.rec.ReleaseText()
	if err := d.out.End(d.rec); err != nil {
		// The entry on disk is not changed: whether the client read the last bytes is unknown.
		d.gateway.Logger.DebugContext(ctx, "client disconnected during the last bytes", "request_id", d.in.ID, "error", err.Error())
	}
	d.keep(ctx, a.Target())
	d.offer()
	return nil
}

// recordCache records that the target has cached the conversation, and that the baseline model would also have cached it.
func (d *delivery) recordCache(t *provider.Target, u llm.Usage) {
	d.plan.cache.Record(t.ID(), bill.CacheRules(t), u)
	if b := d.baseline; b.Model != "" {
		d.plan.cache.Record(promptcache.Baseline(b.Model), b.Rules, u)
	}
}

// detach ends a request whose response the provider continues to generate in the background. A task charges the response and
// completes the entry. err is the error for a client that waits for the whole response, or nil for a client that does not wait.
func (d *delivery) detach(ctx context.Context, a *attempt.Attempt, received *bill.UsageCounter, err error) error {
	var e *llm.Error
	if err != nil {
		e = llm.AsError(err)
	}
	usage, _ := a.Usage(received)
	a.Finish(e, bill.Charge{Usage: usage})
	d.rec.RecordWarnings(a)
	task := d.newTask(a, received.Pending, usage)
	d.rec.Task = task.complete // runs after the request has ended
	if err != nil {
		return err
	}
	d.rec.RecordResponse(received)
	d.rec.Complete()
	if err := d.out.End(d.rec); err != nil {
		d.gateway.Logger.DebugContext(ctx, "client disconnected during the last bytes", "request_id", d.in.ID, "error", err.Error())
	}
	return nil
}

// interrupted charges an incomplete response and returns the attempt that continues it, or the error for the client.
func (d *delivery) interrupted(ctx context.Context, a *attempt.Attempt, received *bill.UsageCounter, e *llm.Error) (*attempt.Attempt, error) {
	charge := d.charge(a, received)
	a.Finish(e, charge)
	a.Close()
	next, err := a, error(e)
	if received.Finish == "" {
		next, err = d.rescue(ctx, a, e)
	}
	if err != nil {
		d.settle(charge)
		return a, err
	}
	return next, nil
}

// rescue returns an attempt that continues the delivered text of a broken attempt. If no attempt can continue the text, rescue returns the
// error for the client.
func (d *delivery) rescue(ctx context.Context, broken *attempt.Attempt, e *llm.Error) (*attempt.Attempt, error) {
	if ctx.Err() != nil || !d.in.Settings.Rescue || !rescue.Supports(d.plan.req) || d.rec.Buffer.Full {
		return broken, e
	}
	r, ok := rescue.New(d.series, e, d.rec.Buffer.Bytes(nil))
	if !ok {
		return broken, e
	}
	// The request's hold pays for the attempt that continues, so the broken attempt needs its own hold.
	paid, err := d.gateway.Ledger.Hold(ctx, append(budget.Applied(d.grant), d.plan.budgets...), broken.Spent().Cost)
	if err != nil {
		return broken, e // the budget has too little left for a second response
	}
	defer paid.Release() // Release has no effect after settlement
	next := r.Continue(ctx, broken, e)
	if next == nil {
		if ctx.Err() != nil {
			return broken, d.series.Ended(ctx)
		}
		return broken, e
	}
	spent := broken.Spent()
	d.spent.Tokens += spent.Tokens
	d.spent.Cost = d.spent.Cost.Add(spent.Cost)
	d.rec.Warnings = append(slices.Clone(d.rec.Entry.Warnings), r.Warning(broken, next))
	d.rec.Cache.Flight.Discard(responsecache.Rescued)
	paid.Settle(spent.Cost)
	return next, nil
}

// charge computes and records the usage and the cost of an attempt.
func (d *delivery) charge(a *attempt.Attempt, received *bill.UsageCounter) bill.Charge {
	u, rejected := a.Usage(received)
	c := d.series.Terms.Charge(a.Target(), u, a.Prefilled, d.spent, d.baseline)
	d.rec.RecordCharge(c, rejected)
	d.rec.RecordWarnings(a)
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

// settleFailure settles a request without a response. If the client disconnected after the prompt was sent, the prompt is charged.
func (d *delivery) settleFailure() {
	target, usage, ok := d.series.Cancelled()
	if !ok {
		d.settle(bill.Charge{})
		return
	}
	d.rec.RecordTarget(target, d.plan.decision)
	c := d.series.Terms.Charge(target, usage, 0, d.spent, d.baseline)
	d.rec.RecordCharge(c, false)
	d.settle(c)
}
