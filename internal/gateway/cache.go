package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/wire"
)

// cacheUse stores the response to a call that missed the response cache. The zero value stores nothing.
type cacheUse struct {
	Flight *responsecache.Flight // stores the whole response; nil if the response is not cached as a whole
	Inputs *responsecache.Inputs // stores the results for single inputs; nil unless the request is for embeddings
}

// cacheAge returns the maximum age of a cached response for a request, or the reason why the request does not use the cache. Both are empty
// if the request has no cache header and neither its key nor a policy enables the cache.
func (r *run) cacheAge(p plan) (age time.Duration, reason string) {
	header := r.call.Cache
	if k := r.call.Grant.Key.Cache; k != nil && (k.Mode == account.CacheAlways || header == responsecache.HeaderOn || header == responsecache.HeaderRefresh) {
		age = k.TTL
	}
	policy := p.decision.ResponseCache
	if policy != nil {
		age = time.Duration(*policy)
	}
	switch enabled := age > 0 && r.Cache != nil && r.call.Shadow == nil; {
	case policy != nil && *policy == 0:
		return 0, responsecache.ByPolicy
	case !enabled && header == responsecache.HeaderUnset:
		return 0, ""
	case header == responsecache.HeaderOff:
		return 0, responsecache.ByRequest
	case !enabled:
		return 0, responsecache.NotEnabled
	}
	switch req := p.req; {
	case !bill.Generates(req.Op) && req.Op != llm.Embed:
		return 0, responsecache.OtherEndpoint
	case req.Needs.Has(llm.Tools) || req.Hosted: // replaying a tool call could repeat its side effects
		return 0, responsecache.OffersTools
	case req.Background || req.Previous != "" || req.Account != "" || req.Stores:
		return 0, responsecache.ProviderState
	case req.Needs.Has(llm.AudioOut):
		return 0, responsecache.AudioOutput
	case req.Choices > 1:
		return 0, responsecache.ManyChoices
	case req.Controls.Provider.ZeroRetention:
		return 0, responsecache.ZeroRetention
	}
	return age, ""
}

// lookup returns the cached response for a request, or nil if none is cached or the request does not use the cache. After a miss,
// d.cache stores the response in the cache.
func (d *delivery) lookup(ctx context.Context) (*responsecache.Response, error) {
	age, reason := d.cacheAge(d.plan)
	switch {
	case reason != "":
		d.entry.Cache = &requestlog.Cache{Status: requestlog.CacheBypass, Reason: reason}
		return nil, nil
	case age == 0:
		return nil, nil
	}
	refresh := d.call.Cache == responsecache.HeaderRefresh
	if f, ok := d.call.Route.Format.(wire.InputFormat); ok && d.req.Op == llm.Embed {
		return d.lookupInputs(ctx, responsecache.InputQuery{Format: f, MaxAge: age, Shared: d.sharesText(d.plan), Refresh: refresh})
	}
	found, flight, err := d.Cache.Get(ctx, responsecache.Query{
		Key: responsecache.KeyOf(d.identity(d.plan), d.req), MaxAge: age, Shared: d.sharesText(d.plan), Refresh: refresh,
	})
	if err != nil { // the request ended while it waited for another request with the same cache key
		return nil, llm.Cancelled(ctx)
	}
	d.cache.Flight = flight
	d.entry.Cache = cacheResult(found)
	return found, nil
}

// lookupInputs returns the response to an embeddings request if every vector is cached. Otherwise it reduces the request to the missing
// inputs.
func (d *delivery) lookupInputs(ctx context.Context, q responsecache.InputQuery) (*responsecache.Response, error) {
	inputs := d.Cache.FindInputs(ctx, d.identity(d.plan), d.req, q)
	whole := inputs.Whole()
	d.entry.Cache = cacheResult(whole)
	if whole != nil {
		d.entry.Cache.Inputs = inputs.Known
		return whole, nil
	}
	part, err := inputs.Reduce(ctx, d.req)
	if err != nil {
		return nil, err
	}
	if inputs.Known > 0 {
		d.entry.Cache.Inputs, d.entry.Cache.Saved = inputs.Known, &inputs.Saved
	}
	d.plan.req, d.cache.Inputs = part, inputs
	return nil, nil
}

// cacheResult describes a cached response for the log. found is nil for a miss.
func cacheResult(found *responsecache.Response) *requestlog.Cache {
	if found == nil {
		return &requestlog.Cache{Status: requestlog.CacheMiss}
	}
	return &requestlog.Cache{Status: requestlog.CacheHit, Age: found.Age(time.Now()), Source: found.RequestID, Saved: found.Cost}
}

// sharesText reports whether the text of the request may be stored outside the memory of this process.
func (r *run) sharesText(p plan) bool {
	return !p.decision.OmitBodies && (r.entry.BodyState == requestlog.BodyStored || r.entry.BodyState == requestlog.BodyTooLarge)
}

// identity returns the values, other than the body, that determine the response to a request. It includes targets that are temporarily
// unavailable, so that an outage does not change the identity.
func (r *run) identity(p plan) *responsecache.Identity {
	d, grant := p.decision, r.call.Grant
	id := &responsecache.Identity{
		Workspace: grant.Workspace.ID, Key: grant.Key.ID, Endpoint: r.call.Route.Path, Features: p.req.Beta,
		Requested: d.Input.Model, Objective: d.Input.Objective.Name, Tradeoff: d.Input.Objective.Tradeoff, MaxOutput: d.MaxOutput,
		Versions: []string{d.Versions.Router, d.Versions.Snapshot, d.Versions.Policy, strconv.FormatInt(grant.Workspace.Revision, 10)}, Targets: make([]string, 0, len(d.Candidates)),
	}
	if k := grant.Key.Cache; k != nil && k.Shared {
		id.Key = ""
	}
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if c.Rank == 1 {
			id.Model, id.Effort = c.Model, c.Effort
		}
		if c.Excluded == nil || c.Excluded.Code.Temporary() {
			id.Targets = append(id.Targets, c.Target)
		}
	}
	return id
}

// replay sends a cached response. The call counts towards request limits, but its tokens and cost are 0. The cost is not compared with the
// baseline, because routing did not cause the savings.
func (d *delivery) replay(ctx context.Context, found *responsecache.Response) error {
	if d.call.Grant.Key.Sessions != nil {
		turn, err := d.Sessions.TakeTurn(ctx, d.Limits, d.call.Grant, d.req.Controls.SessionID)
		if err != nil {
			return err
		}
		if turn != nil {
			turn.Settle(0)
			turn.Release()
		}
	}
	d.slot.Settle(0)
	e := d.entry
	e.Model, e.Provider, e.Simulated, e.ServedAs, e.Finish = found.Model, found.Provider, found.Simulated, found.ServedAs, found.Finish
	e.DecisionKind, e.Outcome, e.Status, e.Cost = d.plan.decision.Kind, requestlog.OK, http.StatusOK, new(money.Amount)
	d.limitDelivered()
	d.start()
	for i := range found.Events {
		ev := found.Events[i].LLM()
		d.recordEvent(&ev)
		if err := d.sink.Event(&ev); err != nil {
			return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the response.", Err: err}
		}
	}
	if err := d.writeEntry(); err != nil {
		return err
	}
	d.end(ctx)
	return nil
}

// recordStored discards a response that is incomplete or comes from a model other than the first model of the plan, so that it is not
// cached. It records the reason why a response is not cached.
func (d *delivery) recordStored(t *provider.Target) {
	switch {
	case d.entry.Finish != "stop":
		d.cache.Flight.Discard(responsecache.Incomplete)
	case t.Model.Name != d.plan.decision.Plan[0].Model.Name:
		d.cache.Flight.Discard(responsecache.OtherModel)
	}
	d.entry.Cache.Reason = d.cache.Flight.Reason()
}

// keep stores a complete response in the cache.
func (d *delivery) keep(ctx context.Context, t *provider.Target) {
	e := d.entry
	if inputs := d.cache.Inputs; inputs != nil {
		d.Cache.KeepInputs(ctx, inputs, responsecache.Response{
			RequestID: e.ID, Provider: e.Provider, Model: e.Model, ServedAs: e.ServedAs, Simulated: e.Simulated, Cost: e.Cost,
		})
	}
	d.cache.Flight.Store(ctx, responsecache.Response{
		RequestID: e.ID, Provider: t.Provider, Model: t.Model.Name, ServedAs: e.ServedAs, Finish: e.Finish, Simulated: t.Simulated, Cost: e.Cost,
	})
}
