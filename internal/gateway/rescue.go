package gateway

import (
	"context"
	"slices"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/responsecache"
)

// interrupted charges an incomplete response and returns the attempt that continues it, or the error for the client.
func (d *delivery) interrupted(ctx context.Context, a *upstream.Attempt, received *bill.UsageCounter, e *llm.Error) (*upstream.Attempt, error) {
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
func (d *delivery) rescue(ctx context.Context, broken *upstream.Attempt, e *llm.Error) (*upstream.Attempt, error) {
	if ctx.Err() != nil || !d.settings.Rescue || !upstream.CanContinue(d.plan.req) || d.delivered.Full {
		return broken, e
	}
	r, ok := upstream.NewRescue(d.series, e, d.delivered.Bytes(nil))
	if !ok {
		return broken, e
	}
	// The request's hold pays for the attempt that continues, so the broken attempt needs its own hold.
	paid, err := d.Ledger.Hold(ctx, append(budget.Applied(d.call.Grant), d.plan.budgets...), broken.Spent().Cost)
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
	d.warnings = append(slices.Clone(d.entry.Warnings), r.Warning(broken, next))
	d.cache.Flight.Discard(responsecache.Rescued)
	paid.Settle(spent.Cost)
	return next, nil
}
