package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

const (
	pollBatches = time.Minute
	// pollTime limits the read of one batch, so that a provider that does not respond does not delay the batches of others for long.
	pollTime = 10 * time.Second
	// maxBatchAge is the age at which a batch is charged with its maximum cost if its end is still unknown. Providers end batches within a day.
	maxBatchAge = 72 * time.Hour
	// defaultContext is assumed for models with an unknown context window.
	defaultContext = 200_000
)

// batchID identifies a batch.
type batchID struct{ workspace, id string }

// keepHold keeps the hold of a new batch until the batch is settled. On a replica that does not follow batches, it releases the hold when
// the replica that follows them has had the time to hold the same amount.
func (s *objectState) keepHold(b batchID, hold *ledger.Hold) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.holds == nil {
		s.holds = map[batchID]*ledger.Hold{}
	}
	s.holds[b] = hold
	if !s.following {
		time.AfterFunc(2*pollBatches, func() { s.releaseHold(b, false) })
	}
}

// releaseHold releases the hold of a batch. If settled is false, a replica that follows batches keeps it.
func (s *objectState) releaseHold(b batchID, settled bool) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if hold := s.holds[b]; hold != nil && (settled || !s.following) {
		hold.Release()
		delete(s.holds, b)
	}
}

// setFollowing sets whether this replica follows batches, and returns the batches that it holds.
func (s *objectState) setFollowing(following bool) (held []batchID) {
	s.holding.Lock()
	defer s.holding.Unlock()
	s.following = following
	for b := range s.holds {
		held = append(held, b)
	}
	return held
}

// FollowBatches holds the maximum cost of every batch that is not settled, and charges batches when they end, even if no client reads them.
// One replica of the deployment calls it. report receives the result of each round.
func (g *Gateway) FollowBatches(ctx context.Context, report func(task string, err error)) {
	if g.Objects == nil {
		return
	}
	tick := time.NewTicker(pollBatches)
	defer tick.Stop()
	for {
		report("poll batches", g.pollBatches(ctx))
		select {
		case <-ctx.Done():
			for _, b := range g.objects.setFollowing(false) {
				g.objects.releaseHold(b, false)
			}
			return
		case <-tick.C:
		}
	}
}

func (g *Gateway) pollBatches(ctx context.Context) error {
	held := g.objects.setFollowing(true) // read before the list, so that every one of these batches is in the list or settled
	list, err := g.Objects.UnsettledBatches(ctx)
	if err != nil {
		return err
	}
	for _, b := range held {
		if !slices.ContainsFunc(list, func(o batch.Object) bool { return b == batchID{o.WorkspaceID, o.ID} }) {
			g.objects.releaseHold(b, true)
		}
	}
	operations := g.Routes[slices.IndexFunc(g.Routes, func(r Route) bool { return r.Op == llm.BatchObjects })]
	var failed []error // one batch does not stop the others
	for _, object := range list {
		workspace := g.Keys.Workspace(object.WorkspaceID)
		if workspace == nil {
			continue
		}
		call := &Call{Start: time.Now(), Route: operations, Grant: &account.Grant{Key: &account.Key{}, Workspace: workspace}}
		o := &objectRequest{run: g.newRun(call, nil)}
		if err := o.followBatch(ctx, object); err != nil {
			failed = append(failed, fmt.Errorf("follow batch %s: %w", object.ID, err))
		}
	}
	return errors.Join(failed...)
}

// followBatch holds the cost of a batch, reads it from its provider, and charges it if it has ended.
func (o *objectRequest) followBatch(ctx context.Context, object batch.Object) error {
	ctx, stop := context.WithTimeout(ctx, pollTime)
	defer stop()
	b := batchID{object.WorkspaceID, object.ID}
	charges, total := o.maxBatchCharges(object)
	o.objects.holding.Lock()
	known := o.objects.holds[b] != nil
	o.objects.holding.Unlock()
	if !known { // after a restart, or for a batch of another replica
		hold, err := o.Ledger.Hold(ctx, o.incurred(object), total)
		if err != nil {
			return err
		}
		o.objects.keepHold(b, hold)
	}
	o.refresh(ctx, []batch.Object{object})
	if o.call.Start.Sub(object.CreatedAt) < maxBatchAge {
		return nil
	}
	return o.settleCharges(ctx, object, charges) // does nothing if refresh has settled the batch
}

// incurred returns the budgets of a batch. None of them rejects a cost, because the batch has been sent to the provider.
func (o *objectRequest) incurred(object batch.Object) []ledger.Budget {
	key := o.creator(object)
	budgets := budget.Applied(&account.Grant{Key: key, Workspace: o.call.Grant.Workspace})
	for i := range budgets {
		budgets[i].WarnOnly = true
	}
	return budgets
}

// creator returns the key that created a batch, which may have been deleted.
func (o *objectRequest) creator(object batch.Object) *account.Key {
	return cmp.Or(o.Keys.Key(object.KeyID), &account.Key{ID: object.KeyID, WorkspaceID: object.WorkspaceID})
}

// maxBatchCharges returns the maximum usage of a batch for each of its models, and the maximum cost.
func (o *objectRequest) maxBatchCharges(object batch.Object) (charges []*batchCharge, total money.Amount) {
	for _, use := range object.Uses {
		c := o.newCharge(object.Provider, batch.Object{Uses: []batch.Use{use}}, use.Model)
		charges = append(charges, c)
		c.usage.Estimated = true
		if c.target == nil {
			continue
		}
		m := c.target.Model
		u := llm.Usage{Input: use.Bytes + use.Unsized*cmp.Or(m.Context, defaultContext), ServiceTier: batch.ServiceTier}
		if bill.Generates(use.Op) {
			u.Output = use.Output + use.Unlimited*cmp.Or(m.MaxOutput, batch.MaxOutput)
		}
		c.add(u, object.CreatedAt)
		c.usage.Estimated = true
		if c.bill == nil {
			continue
		}
		if fee := c.target.Price.At(object.CreatedAt).PerRequest; fee > 0 && use.Requests > 1 { // the bill has the fee of one request
			fee *= money.Amount(use.Requests - 1)
			c.bill.Add(catalog.Bill{Rows: []catalog.Row{{Class: "request", Amount: fee}}, Total: fee})
		}
		total = total.Add(c.bill.Total)
	}
	return charges, total
}
