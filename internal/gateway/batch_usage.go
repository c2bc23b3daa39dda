package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire/show"
)

// batchPrice returns the price of a target at the given time, or nil if the price is unknown or does not include a batch price.
func batchPrice(t *provider.Target, at time.Time) *catalog.Price {
	if t.Price == nil {
		return nil
	}
	card := t.Price.At(at)
	if !slices.ContainsFunc(card.Services, func(s catalog.Service) bool { return s.Name == batch.ServiceTier }) {
		return nil
	}
	return card
}

// batchCharge is the usage of one model in a batch.
type batchCharge struct {
	target *provider.Target // target with the model; nil if the provider reports an unknown model
	model  string
	usage  llm.Usage
	bill   *catalog.Bill // cost of the usage; nil if the price is unknown
}

// add adds the usage of one request, or of several with the same price per token.
func (c *batchCharge) add(u llm.Usage, at time.Time) {
	c.usage = llm.Usage{
		Input: c.usage.Input + u.Input, CacheRead: c.usage.CacheRead + u.CacheRead, Output: c.usage.Output + u.Output, Reasoning: c.usage.Reasoning + u.Reasoning,
		AudioInput: c.usage.AudioInput + u.AudioInput, AudioOutput: c.usage.AudioOutput + u.AudioOutput, ServiceTier: batch.ServiceTier,
	}
	if c.target == nil {
		return
	}
	card := batchPrice(c.target, at)
	if card == nil {
		return
	}
	b := card.Bill(u)
	if c.bill == nil {
		c.bill = &b
		return
	}
	c.bill.Add(b)
}

// settleBatch records the usage of a batch that has ended: one entry for each model, charged to the key that created the batch. It does
// nothing if the batch is already settled.
func (o *objectRequest) settleBatch(ctx context.Context, p *provider.Provider, object batch.Object) error {
	if object.Settled || !batch.Ended(object.Data) {
		return nil
	}
	charges, err := o.batchCharges(ctx, p, object)
	if err != nil {
		return err
	}
	return o.settleCharges(ctx, object, charges)
}

// settleCharges records and charges the usage of a batch once.
func (o *objectRequest) settleCharges(ctx context.Context, object batch.Object, charges []*batchCharge) error {
	hold, err := o.Ledger.Hold(ctx, o.incurred(object), 0)
	if err != nil {
		return err
	}
	defer hold.Release() // Release has no effect after settlement
	began, _, err := o.Objects.SettleObject(ctx, object, o.call.Start)
	if err != nil {
		return databaseError(err)
	}
	if began.IsZero() {
		return nil
	}
	// If the process stops before it marks the batch as settled, a later request writes entries with the same ids, and the store counts
	// them once.
	var total money.Amount
	entries := make([]*requestlog.Entry, len(charges))
	for i, c := range charges {
		entries[i] = o.batchEntry(object, o.creator(object), c, began)
		if err := o.Log.End(entries[i]); err != nil {
			return err
		}
		if c.bill != nil {
			total = total.Add(c.bill.Total)
		}
	}
	_, first, err := o.Objects.SettleObject(ctx, object, time.Time{})
	if err != nil {
		return databaseError(err)
	}
	if first { // if first is false, another request has charged the batch, or the batch was removed
		for _, e := range entries {
			o.Observe(e)
		}
		hold.Settle(total)
	}
	o.objects.releaseHold(batchID{object.WorkspaceID, object.ID}, true)
	return nil
}

// batchCharges returns the usage of a batch that has ended: from the batch itself, or from the file with its results if the batch reports
// no usage or its price depends on individual requests.
func (o *objectRequest) batchCharges(ctx context.Context, p *provider.Provider, object batch.Object) ([]*batchCharge, error) {
	model, u, reported := batch.Usage(object.Data)
	results := batch.Results(object.Data)
	if reported && u.Total() == 0 || !reported && results == "" {
		return nil, nil
	}
	sum := o.newCharge(p.Name, object, model)
	if reported {
		card := (*catalog.Price)(nil)
		if sum.target != nil {
			card = batchPrice(sum.target, object.CreatedAt)
		}
		if card == nil || results == "" || card.PerRequest == 0 && (len(card.Tiers) == 0 || u.Prompt() <= card.Tiers[0].Above) {
			sum.add(u, object.CreatedAt)
			return []*batchCharge{sum}, nil
		}
	}
	stream, err := o.Dispatcher.CallObject(ctx, p, &provider.ObjectOperation{Credential: object.Credential, Method: http.MethodGet, Path: []string{"files", results, "content"}}, o.settings.Attempts.Idle)
	if err != nil {
		return nil, objectFailure(p, err)
	}
	defer stream.Close()
	byModel := map[string]*batchCharge{}
	err = batch.ReadResults(&streamReader{stream: stream}, func(r batch.Result) {
		if byModel[r.Model] == nil {
			byModel[r.Model] = o.newCharge(p.Name, object, r.Model)
		}
		byModel[r.Model].add(r.Usage, object.CreatedAt)
	})
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return nil, objectFailure(p, e)
	}
	if err != nil { // the provider reports no plausible usage, so the cost remains unknown
		o.Logger.WarnContext(ctx, "usage of a batch is unknown", "provider", p.Name, "batch", object.ID, "error", err.Error())
		sum.bill, sum.usage = nil, llm.Usage{Estimated: true}
		return []*batchCharge{sum}, nil
	}
	var charges []*batchCharge
	for _, name := range slices.Sorted(maps.Keys(byModel)) {
		charges = append(charges, byModel[name])
	}
	return charges, nil
}

// newCharge returns an empty charge for the model with the reported name. If the batch uses only one model, the reported name is ignored.
func (o *objectRequest) newCharge(providerName string, object batch.Object, reported string) *batchCharge {
	name := reported
	if len(object.Uses) == 1 { // a provider may report the name of a dated snapshot that the catalog does not have
		name = object.Uses[0].Model
	}
	c := &batchCharge{model: name}
	if targets := o.snapshot.Named(providerName + "/" + name); name != "" && len(targets) > 0 {
		c.target, c.model = targets[0], targets[0].Model.Name
	}
	return c
}

// batchEntry returns the entry with the usage of one model in a batch. began is the start of the settlement.
func (o *objectRequest) batchEntry(object batch.Object, key *account.Key, c *batchCharge, began time.Time) *requestlog.Entry {
	e := &requestlog.Entry{
		ID:      id.Derive("req", began, strings.Join([]string{object.WorkspaceID, object.ID, c.model}, "\x00")),
		Owner:   requestlog.Owner{WorkspaceID: object.WorkspaceID, KeyID: object.KeyID, KeyName: key.Name},
		Timing:  requestlog.Timing{Time: began},
		Call:    requestlog.Call{Endpoint: requestlog.BatchEndpoint, Format: o.call.Route.Format.Name(), Requested: c.model},
		Routing: requestlog.Routing{Model: c.model, Provider: object.Provider},
		Labels:  requestlog.Labels{Tags: key.Tags, Metadata: map[string]string{"batch_id": object.ID}},
		Result:  requestlog.Result{Outcome: requestlog.OK, Status: http.StatusOK, Finish: show.Shorten(rawjson.Get(object.Data, "status").String())},
		Charge:  requestlog.Charge{Usage: c.usage}, BodyState: requestlog.BodyMedia,
	}
	attempt := requestlog.Attempt{Target: requestlog.Target{Provider: object.Provider, Model: c.model, Credential: object.Credential}, AttemptResult: requestlog.AttemptResult{Status: http.StatusOK}, Usage: &c.usage}
	if c.target != nil {
		attempt.Upstream = c.target.Upstream
	}
	if c.bill != nil {
		e.Bill, e.Cost, attempt.Cost = c.bill, &c.bill.Total, &c.bill.Total
		if c.usage.Estimated {
			e.Warnings = append(e.Warnings, "the end of the batch is unknown: its maximum usage is charged")
		}
	} else {
		e.Warnings = append(e.Warnings, fmt.Sprintf("the cost of the batch is unknown: %s has no batch price, or the usage is unknown", c.model))
	}
	e.Attempts = []requestlog.Attempt{attempt}
	return e
}

// streamReader is an io.Reader for the data of a stream.
type streamReader struct {
	stream llm.Stream
	rest   []byte
}

// Read implements io.Reader.
func (r *streamReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		ev, ok, err := r.stream.Next()
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return 0, io.EOF
		}
		r.rest = ev.Data
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
