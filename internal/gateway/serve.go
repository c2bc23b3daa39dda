package gateway

import (
	"context"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/response"
)

// serve handles one request. rec records the result of each step in the log entry.
func (g *Gateway) serve(ctx context.Context, in *incoming, identify identifier, out *response.Writer, rec *recorder) error {
	who, err := identify(in)
	rec.RecordCaller(who)
	if err != nil {
		return err
	}
	flags, err := modelapi.ReadFlags(in.HTTP.Header)
	rec.RecordFlags(flags)
	if err != nil {
		return err
	}
	ctx, leave, err := g.Enter(ctx, who.Grant.Key.ID, in.Settings.MaxConcurrent)
	if err != nil {
		return err
	}
	defer leave()
	body, prompt, err := g.decode(in, who) //nolint:contextcheck // the body is read and decoded in the context of the HTTP request
	if err != nil {
		return err
	}
	defer body.Release()
	rec.RecordRequest(prompt.req, body.Bytes)
	if prompt.req.Stream && bill.Generates(in.Route.Op) {
		out.StartStream(in.Settings.Hold, in.Settings.Ping)
	}
	if prompt.req.Background {
		release, err := g.admitBackground(ctx, who.Grant.Key.ID, rec)
		if err != nil {
			return err
		}
		defer release()
	}
	slot, err := g.Limits.Take(ctx, who.Grant.Key.ID, limit.Limits(who.Grant.Key.Limits), prompt.tokens)
	if err != nil {
		return err
	}
	defer slot.Release()
	if in.Route.Op == llm.Count {
		return g.countTokens(in, prompt.req, rec)
	}
	plan, err := g.decide(ctx, in, who, prompt, flags.DryRun)
	rec.RecordSession(prompt.req.Controls.SessionID, prompt.session, prompt.budgets, prompt.downgrade)
	rec.RecordDecision(plan.decision)
	if err != nil {
		return err
	}
	if flags.DryRun {
		return respondDryRun(in, out, plan.decision)
	}
	cached, err := g.lookup(ctx, in, who, plan, flags.Cache, rec)
	if err != nil {
		return err
	}
	if cached != nil {
		return (&delivery{gateway: g, in: in, grant: who.Grant, plan: plan, rec: rec, out: out, slot: slot}).replay(ctx, cached)
	}
	// ctx also ends for other reasons, so the context of the HTTP request is used to detect a disconnect.
	defer func() { rec.Cache.Flight.End(in.HTTP.Context().Err() != nil) }()
	rec.Capture = g.captureForComparison(in, who, plan)
	kept := g.recall(ctx, in, who.Grant, plan)
	held, err := g.hold(ctx, in, who.Grant, plan)
	rec.Entry.Wait = held.waited
	if err != nil {
		return g.adviseBudget(in, who, plan, held.terms, err)
	}
	defer rec.ReleaseHold(held.hold) // ReleaseHold has no effect after settlement
	series := g.newSeries(in, who.Grant, plan, held, rec.StoresText())
	series.Client = kept
	if err := g.begin(rec, series); err != nil {
		return err
	}
	ctx, stop := series.WithDeadline(ctx)
	defer stop()
	d := &delivery{
		gateway: g, in: in, grant: who.Grant, plan: plan, baseline: plan.baseline(in.Snapshot), series: series, rec: rec, out: out, hold: held.hold, slot: slot,
	}
	first, err := series.TryInOrder(ctx)
	if err != nil {
		d.settleFailure()
		return err
	}
	body.ReleaseDecoding()
	return d.relay(ctx, first)
}
