package gateway

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
)

// Comparer compares served responses with responses from another model.
type Comparer interface {
	// Offer receives a served request that was chosen for comparison. The Comparer then owns the request. Offer never blocks.
	Offer(s *Served)
}

// Served is a request that was served and chosen for comparison.
type Served struct {
	Call       Call            // the call with its decoded options; Body is the request
	Response   requestlog.Body // contains only the response
	Format     string
	Stored     bool // whether request text may be stored
	Simulated  bool
	Model      string // model that served the request
	Other      string // model to compare with
	Decision   *route.Decision
	Propensity float64 // probability with which the request was chosen
}

// capture keeps the response of a call for a comparison with another model.
type capture struct {
	Other      string // name of the model to compare with
	Propensity float64
	Buffer     response.Buffer
}

const (
	// MaxCompared limits the size of a compared request and of its response, because both stay in memory until the comparison ends.
	MaxCompared = 1 << 20
	// uniformBits is the number of hash bits in the result of UniformHash.
	uniformBits = 53
)

// UniformHash returns a uniformly distributed number from 0 to 1 that decides whether a request takes part in a comparison. It depends only
// on the request ID, so that it can be computed again from the log and does not change the random numbers of other decisions.
func UniformHash(requestID string) float64 { return uniformHash("comparison " + requestID) }

func uniformHash(text string) float64 {
	sum := sha256.Sum256([]byte(text))
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-uniformBits)) / (1 << uniformBits)
}

// comparison returns the comparison settings for a request, or nil if the request does not take part. Requests that refer to data stored by
// a provider do not take part, because they cannot be sent to another provider. Requests from the dashboard do not take part, because they
// are not representative.
func (r *run) comparison(req *llm.Request) *account.Comparison {
	c := r.call.Grant.Workspace.Comparison
	if c == nil || r.call.ID == "" || r.call.Shadow != nil || r.call.AccountID != "" {
		return nil
	}
	if req.Op != llm.Chat || !req.Routed || req.Choices > 1 || req.Background || req.Previous != "" || req.Account != "" || req.Holder != nil || len(req.Body) > MaxCompared {
		return nil
	}
	return c
}

// captureForComparison returns an empty capture for the response to a request, or nil if the request is not chosen for comparison.
func (r *run) captureForComparison(p plan) *capture {
	c := r.comparison(p.req)
	if c == nil {
		return nil
	}
	chosen := &capture{Other: r.snapshot.Canonical(c.Baseline), Propensity: c.Holdout + c.Share, Buffer: response.Buffer{Limit: MaxCompared}}
	if p.decision.HeldOut != "" {
		i := slices.IndexFunc(p.decision.Candidates, func(c route.Candidate) bool { return c.Target == p.decision.HeldOut })
		chosen.Other = p.decision.Candidates[i].Model
		return chosen
	}
	// A request drawn for the holdout is compared even if the baseline did not serve it, so that every request has the same propensity.
	if UniformHash(r.call.ID) >= chosen.Propensity {
		return nil
	}
	return chosen
}

// offer passes a response chosen for comparison to the Comparer. It is called after the client has received the whole response.
func (d *delivery) offer() {
	e, s := d.entry, d.capture
	if s.Buffer.Full {
		return
	}
	served := *d.call
	served.Body, served.Upload, served.Start = slices.Clone(d.plan.req.Body), nil, e.Time
	served.Trace, served.IP = requestlog.TraceContext{}, ""
	d.Comparer.Offer(&Served{
		Call: served, Format: e.Format, Stored: d.storesText(), Simulated: e.Simulated, Model: e.Model, Other: s.Other, Decision: d.plan.decision,
		Response: requestlog.Body{Response: s.Buffer.Bytes(nil), Streamed: d.req.Stream, Folded: d.streams()}, Propensity: s.Propensity,
	})
	if s.Buffer.InBlocks() {
		s.Buffer.Reset()
	}
}

// ShadowTerms are the terms of a call that no client waits for. The gateway that makes such calls must not share limits, health, caches or
// the log with the gateway that serves clients.
type ShadowTerms struct {
	Model  string        // replaces the model in the body
	Budget ledger.Budget // budget charged for the call instead of the budgets of the key and the workspace
	// MaxOutput limits the output tokens if the body sets no limit.
	MaxOutput int64
	Excluded  func(t *provider.Target) bool
}

// restrict removes the excluded targets from the plan of a shadow call, and limits its output.
func (s *ShadowTerms) restrict(p *plan) error {
	d := p.decision
	d.Plan = slices.DeleteFunc(d.Plan, func(t *provider.Target) bool { return s.Excluded != nil && s.Excluded(t) })
	if len(d.Plan) == 0 {
		return llm.Errorf(llm.NoRoute, "The constraints of the request exclude every provider of %s.", s.Model)
	}
	if d.MaxOutput == 0 && p.req.MaxOutput == 0 {
		d.MaxOutput = s.MaxOutput
	}
	return nil
}
