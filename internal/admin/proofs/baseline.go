package proofs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// BaselineLog reads entries. requestlog.Reader implements it.
type BaselineLog interface {
	Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error)
}

// Snapshots returns the targets and prices of the given versions. If v is empty or the versions are not stored, it returns the current
// targets and prices, and stored is false.
type Snapshots func(ctx context.Context, v route.Versions) (snap *route.Snapshot, stored bool)

// BaselineOptions selects the requests and the baseline model.
type BaselineOptions struct {
	Filter requestlog.Filter // selects the requests, including From and To
	Model  string            // name or alias of the baseline model
	Limit  int               // maximum number of requests, newest first
	Within time.Duration     // time limit for the computation
}

// Coverage describes how the baseline costs of a baselineReport were determined.
type Coverage struct {
	Model    string    `json:"model" doc:"Chosen baseline model."`
	From     time.Time `json:"from" doc:"Start of the requests that were read. Later than the start of the period if complete is false."`
	Complete bool      `json:"complete" doc:"Whether all logged requests of the period were read. Otherwise the newest ones were."`
	Logged   int64     `json:"logged" doc:"Requests that were read from the log."`
	Recorded int64     `json:"recorded" doc:"Requests whose recorded baseline is this model. Their recorded baseline cost is used."`
	Repriced int64     `json:"repriced" doc:"Requests whose baseline cost was computed from the recorded tokens and the price of the model at that time."`
	// CacheUnknown and CurrentPrices count subsets of Repriced.
	CacheUnknown  int64 `json:"cache_unknown" doc:"Repriced requests whose prompt the model might have cached differently. They are priced with the recorded cached tokens."`
	CurrentPrices int64 `json:"current_prices" doc:"Repriced requests whose price list has been deleted. They are priced with the current price history."`
	Unpriced      int64 `json:"unpriced" doc:"Served requests for which the model had no price. They are not part of the savings."`
	OtherKind     int64 `json:"other_kind" doc:"Served requests of a kind that the model does not serve, such as embeddings. They are not part of the savings."`
}

// Baseline holds the figures of the requests, with the baseline costs of the chosen model.
type Baseline struct {
	Coverage
	Total  requestlog.Sums
	Models map[string]*requestlog.Sums
	Keys   map[string]*requestlog.Sums
}

// newBaseline reads the requests and computes the baselineReport. The options limit its time and memory: if the period has more requests than
// the limits allow, the baselineReport covers the newest ones.
func newBaseline(ctx context.Context, log BaselineLog, snapshots Snapshots, o BaselineOptions) (*Baseline, error) {
	r := &baselineReport{snapshots: snapshots}
	r.Baseline = Baseline{Models: map[string]*requestlog.Sums{}, Keys: map[string]*requestlog.Sums{}}
	current, _ := snapshots(ctx, route.Versions{})
	r.Model, r.From = current.Canonical(o.Model), o.Filter.From.UTC()
	deadline := time.Now().Add(o.Within)
	for before := ""; ; {
		page, err := log.Entries(ctx, o.Filter, requestlog.Page{Before: before, Limit: requestlog.MaxFigures, Figures: true})
		unfinished, partial := errors.AsType[*requestlog.UnfinishedError](err)
		if err != nil && !partial {
			return nil, fmt.Errorf("read requests: %w", err)
		}
		for i := range page {
			r.add(ctx, &page[i])
		}
		switch {
		case partial: // the search reached its time limit: continue it
			before = unfinished.Before
		case len(page) < requestlog.MaxFigures:
			r.Complete = true
			return &r.Baseline, nil
		default:
			before = page[len(page)-1].ID
		}
		if r.Logged >= int64(o.Limit) || !time.Now().Before(deadline) {
			if oldest, ok := id.Time(before); ok {
				r.From = oldest.UTC()
			}
			return &r.Baseline, nil
		}
	}
}

// baselineReport is a Baseline that is being computed.
type baselineReport struct {
	Baseline
	snapshots Snapshots

	// Targets and prices for the versions of the previous request. They are cached because neighbouring requests usually have the same
	// versions.
	versions route.Versions
	snap     *route.Snapshot
	stored   bool
	price    *catalog.Price // price of the chosen model; nil if unknown
	cache    catalog.CacheRule
}

func (r *baselineReport) add(ctx context.Context, e *requestlog.Entry) {
	r.Logged++
	e.BaselineCost = r.cost(ctx, e)
	e.BaselineModel = r.Model
	r.Total.Add(e)
	baselineSums(r.Models, e.Model).Add(e)
	baselineSums(r.Keys, e.KeyID).Add(e)
}

func baselineSums(groups map[string]*requestlog.Sums, name string) *requestlog.Sums {
	s := groups[name]
	if s == nil {
		s = &requestlog.Sums{}
		groups[name] = s
	}
	return s
}

// cost returns the cost of the request with the chosen model, or nil if the cost is unknown or the request is not compared. Cached
// responses are not compared, because their savings are not an effect of routing.
func (r *baselineReport) cost(ctx context.Context, e *requestlog.Entry) *money.Amount {
	switch {
	case !e.Served() || e.Cost == nil:
		return nil
	case e.BaselineModel == r.Model && e.BaselineCost != nil:
		r.Recorded++
		return e.BaselineCost
	case e.Usage.Total() == 0:
		r.Unpriced++
		return nil
	}
	r.load(ctx, e.Versions)
	if kindOf(r.snap, e.Model) != kindOf(r.snap, r.Model) {
		r.OtherKind++
		return nil
	}
	if r.price == nil {
		r.Unpriced++
		return nil
	}
	r.Repriced++
	if !r.stored {
		r.CurrentPrices++
	}
	// The recorded cached tokens are those of the model that served the request. The chosen model might have cached more or fewer, so
	// the request is counted in CacheUnknown.
	u := &e.Usage
	if cached := u.CacheRead > 0 || u.CacheWrite > 0 || r.cache.Granularity != catalog.NoCache && u.Prompt() >= r.cache.Minimum; cached && e.Model != r.Model {
		r.CacheUnknown++
	}
	price := r.price.At(e.Time)
	if e.Usage.Searches > 0 && (price.Search == nil || price.Search.Rate == nil) {
		price = withSearchFee(price, r.snap, e)
	}
	cost := price.Cost(e.Usage)
	return &cost
}

// load reads the targets and prices of the given versions, unless they are already loaded.
func (r *baselineReport) load(ctx context.Context, v route.Versions) {
	v = route.Versions{Router: v.Router, Catalog: v.Catalog, Snapshot: v.Snapshot}
	if r.snap != nil && v == r.versions {
		return
	}
	r.versions = v
	r.snap, r.stored = r.snapshots(ctx, v)
	vendor := ""
	if m, ok := r.snap.Catalog.Model(r.Model); ok {
		vendor = m.Home
	}
	r.price = r.snap.Price(r.Model)
	r.cache = catalog.CacheRuleFor(vendor, r.Model, r.price)
}

// withSearchFee returns the price with the web search fee of the target that served the request, because the number of searches does
// not depend on the model.
func withSearchFee(price *catalog.Price, snap *route.Snapshot, e *requestlog.Entry) *catalog.Price {
	for _, t := range snap.Named(e.Model) {
		if t.Provider == e.Provider && t.Price != nil {
			same := *price
			same.Search = t.Price.At(e.Time).Search
			return &same
		}
	}
	return price
}

// kindOf returns the kind of a model. Models that are not in the catalog are chat models.
func kindOf(snap *route.Snapshot, model string) llm.Op {
	if m, ok := snap.Catalog.Model(model); ok {
		return m.Op
	}
	for _, t := range snap.Named(model) {
		return t.Model.Op
	}
	return llm.Chat
}
