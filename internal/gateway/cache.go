package gateway

import (
	"context"
	"strconv"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire"
)

// cacheAge returns the maximum age of a cached response for a request, or the reason why the request does not use the cache. Both are empty
// if the request has no cache header and neither its key nor a policy enables the cache.
func (g *Gateway) cacheAge(in *incoming, grant *account.Grant, p plan, header responsecache.Header) (age time.Duration, reason string) {
	if k := grant.Key.Cache; k != nil && (k.Mode == account.CacheAlways || header == responsecache.HeaderOn || header == responsecache.HeaderRefresh) {
		age = k.TTL
	}
	policy := p.decision.ResponseCache
	if policy != nil {
		age = time.Duration(*policy)
	}
	switch enabled := age > 0 && g.Cache != nil && in.shadow == nil; {
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
// rec.Cache.Flight or, for embeddings, rec.Cache.Inputs stores the response in the cache.
func (g *Gateway) lookup(ctx context.Context, in *incoming, who modelapi.Caller, p plan, header responsecache.Header, rec *recorder) (*responsecache.Response, error) {
	age, reason := g.cacheAge(in, who.Grant, p, header)
	switch {
	case reason != "":
		rec.Entry.Cache = &requestlog.Cache{Status: requestlog.CacheBypass, Reason: reason}
		return nil, nil
	case age == 0:
		return nil, nil
	}
	if f, ok := in.Route.Format.(wire.InputFormat); ok && p.req.Op == llm.Embed {
		return g.lookupInputs(ctx, in, who, p, responsecache.InputQuery{Format: f, MaxAge: age, Shared: storesText(p, rec), Refresh: header == responsecache.HeaderRefresh}, rec)
	}
	found, flight, err := g.Cache.Get(ctx, responsecache.Query{
		Key: responsecache.KeyOf(identity(in, who, p), p.req), MaxAge: age, Shared: storesText(p, rec), Refresh: header == responsecache.HeaderRefresh,
	})
	if err != nil { // the request ended while it waited for another request with the same cache key
		if e := llm.AsError(err); e.Kind != llm.Internal {
			return nil, e // the API key was revoked, or the gateway is shutting down
		}
		return nil, llm.Cancelled(ctx)
	}
	rec.Cache.Flight = flight
	rec.RecordCache(found)
	return found, nil
}

// lookupInputs returns the response to an embeddings request if every vector is cached. Otherwise it reduces the request to the missing
// inputs.
func (g *Gateway) lookupInputs(ctx context.Context, in *incoming, who modelapi.Caller, p plan, q responsecache.InputQuery, rec *recorder) (*responsecache.Response, error) {
	inputs := g.Cache.FindInputs(ctx, identity(in, who, p), p.req, q)
	whole := inputs.Whole()
	rec.RecordCache(whole)
	if whole != nil {
		rec.Entry.Cache.Inputs = inputs.Known
		return whole, nil
	}
	part, err := inputs.Reduce(ctx, p.req)
	if err != nil {
		return nil, err
	}
	if inputs.Known > 0 {
		rec.Entry.Cache.Inputs, rec.Entry.Cache.Saved = inputs.Known, &inputs.Saved
	}
	p.req, rec.Cache.Inputs = part, inputs
	return nil, nil
}

// identity returns the values, other than the body, that determine the response to a request. It includes targets that are temporarily
// unavailable, so that an outage does not change the identity.
func identity(in *incoming, who modelapi.Caller, p plan) *responsecache.Identity {
	d := p.decision
	id := &responsecache.Identity{
		Workspace: who.Grant.Workspace.ID, Key: who.Grant.Key.ID, Endpoint: in.Route.Path, Features: p.req.Beta,
		Requested: d.Input.Model, Objective: d.Input.Objective.Name, Tradeoff: d.Input.Objective.Tradeoff, MaxOutput: d.MaxOutput,
		Versions: []string{d.Versions.Router, d.Versions.Snapshot, d.Versions.Policy, strconv.FormatInt(who.Grant.Workspace.Revision, 10)}, Targets: make([]string, 0, len(d.Candidates)),
	}
	if k := who.Grant.Key.Cache; k != nil && k.Shared {
		id.Key = ""
	}
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if c.Rank == 1 {
			id.Model, id.Effort = c.Model, c.Effort
		}
		if c.Excluded == nil || c.Excluded.Code == route.CircuitOpen || c.Excluded.Code == route.CredentialBackingOff {
			id.Targets = append(id.Targets, c.Target)
		}
	}
	return id
}

// replay sends a cached response. The request counts towards request limits, but its tokens and cost are 0.
func (d *delivery) replay(ctx context.Context, found *responsecache.Response) error {
	turn, err := d.gateway.Sessions.TakeTurn(ctx, d.gateway.Limits, d.grant, d.plan.req.Controls.SessionID)
	if err != nil {
		return err
	}
	if turn != nil {
		turn.Settle(0)
		turn.Release()
	}
	d.slot.Settle(0)
	d.rec.RecordHit(found, d.plan.decision)
	events := make([]llm.Event, len(found.Events))
	for i := range found.Events {
		events[i] = found.Events[i].LLM()
		d.rec.RecordEvent(&events[i])
	}
	if err := d.out.Events(events, d.rec); err != nil {
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the response.", Err: err}
	}
	if err := d.gateway.Log.End(d.rec.Complete()); err != nil {
		return err
	}
	d.rec.ReleaseText()
	if err := d.out.End(d.rec); err != nil {
		d.gateway.Logger.DebugContext(ctx, "client disconnected during the last bytes", "request_id", d.in.ID, "error", err.Error())
	}
	return nil
}

// keep stores a complete response in the cache.
func (d *delivery) keep(ctx context.Context, t *provider.Target) {
	e := d.rec.Entry
	if inputs := d.rec.Cache.Inputs; inputs != nil {
		d.gateway.Cache.KeepInputs(ctx, inputs, responsecache.Response{
			RequestID: e.ID, Provider: e.Provider, Model: e.Model, ServedAs: e.ServedAs, Simulated: e.Simulated, Cost: e.Cost,
		})
	}
	d.rec.Cache.Flight.Store(ctx, responsecache.Response{
		RequestID: e.ID, Provider: t.Provider, Model: t.Model.Name, ServedAs: e.ServedAs, Finish: e.Finish, Simulated: t.Simulated, Cost: e.Cost,
	})
}
