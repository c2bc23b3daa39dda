package gateway

import (
	"cmp"
	"context"
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/wire"
)

// plan is a prompt with its routing decision and output limit.
type plan struct {
	*prompt
	decision  *route.Decision // nil when the request was rejected before routing
	maxOutput int64           // output limit from a policy if the caller sets none; 0 for no limit
	immediate bool            // whether to reject the request instead of waiting for reserved money
}

// baseline returns the baseline model, whose cost is compared with the actual cost.
func (p plan) baseline(snap *route.Snapshot) bill.Baseline {
	if p.decision.Baseline == nil {
		return bill.Baseline{}
	}
	return bill.NewBaseline(snap, p.decision.Baseline.Model, &p.cache)
}

// decide plans the request. For embeddings it pins the workspace's model on first use. When no target can serve the request, the plan
// contains the decision that explains the error.
func (r *run) decide(ctx context.Context, p *prompt) (plan, error) {
	if err := r.bindReferences(ctx, p.req); err != nil {
		return plan{}, err
	}
	grant := r.call.Grant
	if p.req.Op == llm.Chat {
		p.cache = r.Routing.Prefixes.Lookup(grant.Workspace.ID, promptcache.Build(p.req, p.tokens), r.call.Start)
	}
	r.nameSession(p)
	if grant.Key.Sessions != nil {
		p.budgets = r.Sessions.Budgets(grant, p.req.Controls.SessionID, p.req.EndUser)
		if len(p.budgets) > 0 && grant.Key.Sessions.Downgrade {
			r.downgrade(ctx, p, p.budgets)
			r.resolveRoute(p)
		}
	}
	if err := llm.Cancelled(ctx); err != nil {
		return plan{}, err
	}
	// The request is read before route allocates its large input, so that the stack never holds both. A stack that has grown stays large
	// until the next garbage collection, and each open stream has its own stack.
	reading := readRequest(p)
	d, err := r.route(p, reading)
	if err == nil && d.SessionBudget != nil {
		// Route again: a request with a session budget needs a model with a price, and auto:cost if the budget is nearly spent.
		if r.limitByPolicy(ctx, p, *d.SessionBudget) || d.Input.AllowUnpriced {
			r.resolveRoute(p)
			d, err = r.route(p, reading)
		}
	}
	if err == nil && d.Input.Op == llm.Embed && d.Input.Routed() && d.Input.PinnedEmbed == "" && !r.call.DryRun {
		d, err = r.pinEmbedding(ctx, d, p.policies)
	}
	if err != nil {
		return plan{decision: d}, err
	}
	if d.NoCacheMarks {
		p.cache.Outlook = promptcache.Outlook{}
	}
	planned := plan{prompt: p, decision: d}
	if r.call.Shadow != nil {
		if err := r.call.Shadow.restrict(&planned); err != nil {
			return planned, err
		}
	}
	switch limit := d.MaxOutput; {
	case limit == 0:
	case p.req.MaxOutput == 0:
		planned.maxOutput = limit
	case p.req.MaxOutput > limit && r.call.Route.Format != nil: // an explained request has no format
		p.req, err = wire.LimitOutput(ctx, r.call.Route.Format, p.req, limit)
		r.req = p.req
	}
	return planned, err
}

// replanner returns a function that decides again once a provider has denied a model to the account, so that the request goes to the models
// that the account offers. It returns nil for a call whose response must come from the models planned first.
func (d *delivery) replanner() func(context.Context) []*provider.Target {
	if d.req.Op != llm.Chat || d.call.Shadow != nil {
		return nil
	}
	first, second := d.hold, (*ledger.Hold)(nil)
	return func(ctx context.Context) []*provider.Target {
		next := d.plan
		var err error
		if next.decision, err = d.route(next.prompt, readRequest(next.prompt)); err != nil {
			return nil
		}
		// The second hold does not wait, because it might wait for the first one. The cost is charged to the first.
		next.immediate = true
		held, err := d.reserve(ctx, d.call.Grant, next)
		if err != nil {
			return nil
		}
		if second != nil {
			second.Release()
		}
		second = held.hold
		d.hold = ledger.NewHold(second.Amount(), func(cost money.Amount) {
			first.Settle(cost)
			second.Release()
		})
		d.plan, d.series.Terms, d.baseline = next, held.terms, next.baseline(d.snapshot)
		d.recordDecision(next.decision)
		if d.cache.Flight != nil {
			d.cache.Flight.Discard(responsecache.OtherModel)
		}
		return held.targets
	}
}

// bindReferences binds a request to the provider account that stores the objects to which the request refers.
func (r *run) bindReferences(ctx context.Context, req *llm.Request) error {
	if req.Previous != "" {
		if err := bindStored(r.StoredIDs, r.snapshot, r.call.Grant.Workspace.ID, req); err != nil {
			return err
		}
	}
	if len(req.StoredFiles) > 0 {
		if err := r.bindFiles(ctx, req); err != nil {
			return err
		}
	}
	if req.Account != "" {
		return checkAccount(r.snapshot, req)
	}
	return nil
}

// route makes the routing decision for a request. If no target can serve the request, it returns the decision and an *llm.Error.
func (r *run) route(p *prompt, reading predict.Reading) (*route.Decision, error) {
	var input route.Input
	if err := r.fillInput(&input, p, reading.Features); err != nil {
		return nil, err
	}
	input.Conversation = reading.Findings
	if usesFeatures(p) {
		input.Predictor = predict.Version()
		if r.Routing.Lengths != nil {
			input.Lengths = r.Routing.Lengths.Factors(input.Workspace.ID, reading.Features.Task)
		}
	}
	return r.decideOn(&input, p.policies, &p.cache)
}

// decideOn makes the routing decision for an input and measures its duration.
func (r *run) decideOn(input *route.Input, policies *policy.Set, cache *promptcache.View) (*route.Decision, error) {
	states := r.Health.States(time.Now(), input.InputTokens)
	c := route.Conditions{State: states, Policies: policies, CacheHit: cacheHits(cache)}
	if r.Routing.Lengths != nil {
		c.State = func(target string) route.State {
			s := states(target)
			s.Length = r.Routing.Lengths.Model(target)
			return s
		}
	}
	if corrections := r.Routing.Feedback.For(input.Workspace.ID); corrections != nil {
		c.Corrections, c.Feedback = corrections, corrections.Version
	}
	began := time.Now()
	d, err := route.Decide(input, r.snapshot, c)
	d.Micros = time.Since(began).Microseconds()
	return d, err
}

// pinEmbedding stores the chosen model as the workspace's embedding model. If another request has already stored a model, pinEmbedding
// repeats the decision with that model.
func (r *run) pinEmbedding(ctx context.Context, d *route.Decision, policies *policy.Set) (*route.Decision, error) {
	chosen := d.Plan[0].Model.Name
	pinned, err := r.Routing.Pins.PinEmbedding(ctx, r.call.Grant.Workspace.ID, chosen)
	if err != nil {
		return d, &llm.Error{Kind: llm.LedgerUnavailable, Message: "The workspace's embedding model cannot be set while the database is unavailable. Name a model or retry later.", Err: err}
	}
	if pinned == chosen {
		return d, nil
	}
	input := d.Input
	input.PinnedEmbed = pinned
	return r.decideOn(&input, policies, &promptcache.View{})
}

// readRequest reads the task of a request and the state of its conversation. The result is empty unless `auto` or a policy needs it.
func readRequest(p *prompt) predict.Reading {
	if !usesFeatures(p) || !bill.Generates(p.req.Op) {
		return predict.Reading{}
	}
	return predict.Read(p.req)
}

// usesFeatures reports whether the decision depends on the features of the prompt.
func usesFeatures(p *prompt) bool { return p.req.Routed || p.policies.Len() > 0 }

// fillInput replaces *input with the values of the request, its key and its workspace. route adds the conversation and the predictor's data.
func (r *run) fillInput(input *route.Input, p *prompt, f predict.Features) error {
	req, key, workspace := p.req, r.call.Grant.Key, r.call.Grant.Workspace
	tradeoff := r.call.Tradeoff
	if p.downgrade != "" {
		tradeoff = ""
	}
	objective, err := route.ParseObjective(req.Model, req.Routed, tradeoff)
	if err != nil {
		return err
	}
	*input = route.Input{
		At:        r.call.Start.UTC().Truncate(time.Second),
		Op:        req.Op,
		Format:    req.Format,
		Model:     req.Model,
		Route:     p.route,
		Draw:      r.drawShare(p),
		Objective: objective,
		Downgrade: p.downgrade,
		PromptSize: route.PromptSize{
			InputTokens: p.tokens,
			Text:        req.Text,
			ImageSizes:  req.ImageSizes,
		},
		ResponseOptions: route.ResponseOptions{
			MaxOutput: req.MaxOutput,
			Choices:   req.Choices,
			Needs:     req.Needs,
			Effort:    req.Effort,
			Sampling:  req.Sampling,
			Stream:    req.Stream,
		},
		PromptParts: route.PromptParts{
			Messages:      req.Messages,
			Images:        req.Images,
			ImageURLs:     req.ImageURLs,
			AttachedBytes: req.AttachedBytes,
			Unsized:       req.Unsized,
		},
		EmbeddingOptions: route.EmbeddingOptions{
			Longest:    req.Longest,
			Dimensions: req.Dimensions,
			TokenInput: req.TokenIDs > 0,
		},
		Settings: route.Settings{
			Controls:      req.Controls,
			AllowUnpriced: r.settings.AllowsUnpriced(r.call.Grant) && !p.limited,
			PinnedEmbed:   workspace.PinnedEmbed,
		},
		History: route.History{
			Turns: max(req.Answers, p.cache.Turns),
			Last:  p.cache.Last,
		},
		Caller: route.Caller{
			Workspace: condition.Workspace{ID: workspace.ID, Name: workspace.Name},
			EndUser:   req.EndUser,
			Metadata:  req.Metadata,
			Tags:      r.call.Tags,
		},
		Prediction: route.Prediction{Features: f},
	}
	input.AllowedModels = input.AllowedFor(key.AllowedModels, r.snapshot)
	defaultModel := cmp.Or(workspace.DefaultModel, r.settings.DefaultModel)
	switch {
	case r.call.Baseline != "":
		input.Baseline = route.Baseline{Model: r.call.Baseline, Source: route.BaselineHeader}
	case key.Baseline != "":
		input.Baseline = route.Baseline{Model: key.Baseline, Source: route.BaselineKey}
	case defaultModel != "":
		input.Baseline = route.Baseline{Model: defaultModel, Source: route.BaselineDefault}
	}
	if budgets := append(budget.Applied(r.call.Grant), p.budgets...); len(budgets) > 0 && r.Ledger != nil {
		if room := r.available(budgets); room < money.Max {
			input.Room = &room
		}
	}
	if r.call.AccountID == "" && key.ID != "" {
		input.Key = condition.Key{ID: key.ID, Name: key.Name, Tags: key.Tags}
	}
	if r.Comparer != nil {
		if c := r.comparison(req); c != nil && c.Holdout > 0 {
			input.Holdout = &route.Holdout{Model: r.snapshot.Canonical(c.Baseline), Share: c.Holdout, Draw: UniformHash(r.call.ID)}
		}
	}
	return nil
}

// drawShare returns the place of the request in the shares of its route, from 0 to 1. It is the same for all requests of a session, or of an
// end user. A decision without a request, such as an explanation, takes part in no share.
func (r *run) drawShare(p *prompt) float64 {
	switch {
	case p.route == nil || len(p.route.Shares) == 0:
		return 0
	case p.req.Controls.SessionID != "":
		return uniformHash("share of session " + p.req.Controls.SessionID)
	case p.req.EndUser != "":
		return uniformHash("share of user " + r.call.Grant.Key.ID + " " + p.req.EndUser)
	case r.call.ID != "":
		return uniformHash("share of request " + r.call.ID)
	}
	return 1
}

// cacheHits returns a function that estimates how much of a prompt a target has cached.
func cacheHits(view *promptcache.View) func(*provider.Target, int64, bool) route.CacheHit {
	return func(t *provider.Target, prompt int64, marks bool) route.CacheHit {
		rules := bill.CacheRules(t)
		rules.EndMark = rules.EndMark && marks
		hit := view.CacheHit(t.ID(), rules)
		u := hit.Usage(prompt)
		return route.CacheHit{
			Read: u.CacheRead, Write: u.CacheWrite, Long: u.CacheWriteLong > 0,
			Caches: hit.Prompt >= max(rules.Minimum, 1) && rules.Granularity != catalog.NoCache && (rules.Granularity != catalog.CacheMarks || hit.Tokens+hit.Writes > 0),
		}
	}
}
