package gateway

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
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
func (g *Gateway) decide(ctx context.Context, in *incoming, who modelapi.Caller, p *prompt, dryRun bool) (plan, error) {
	if err := bindStored(g.StoredIDs, in.Snapshot, who.Grant.Workspace.ID, p.req); err != nil {
		return plan{}, err
	}
	if err := g.objects.Bind(ctx, in.Snapshot, who.Grant.Workspace.ID, p.req); err != nil {
		return plan{}, err
	}
	if err := checkAccount(in.Snapshot, p.req); err != nil {
		return plan{}, err
	}
	if p.req.Op == llm.Chat {
		p.cache = g.Routing.Prefixes.Lookup(who.Grant.Workspace.ID, promptcache.Build(p.req, p.tokens), in.Start)
	}
	g.nameSession(who, p)
	p.budgets = g.Sessions.Budgets(who.Grant, p.req.Controls.SessionID, p.req.EndUser)
	if len(p.budgets) > 0 && who.Grant.Key.Sessions.Downgrade {
		g.downgrade(ctx, p, p.budgets)
		resolveRoute(p, in, who)
	}
	if err := llm.Cancelled(in.HTTP.Context()); err != nil { //nolint:contextcheck // the context of the HTTP request shows whether the client is connected
		return plan{}, err
	}
	policies := g.Routing.Policies.For(who.Grant.Workspace.ID)
	// The request is read before route allocates its large input, so that the stack never holds both. A stack that has grown stays large
	// until the next garbage collection, and each open stream has its own stack.
	reading := readRequest(p, policies)
	d, err := g.route(in, who, p, policies, reading)
	if err == nil && d.SessionBudget != nil {
		// Route again: a request with a session budget needs a model with a price, and auto:cost if the budget is nearly spent.
		if g.limitByPolicy(ctx, who.Grant, p, *d.SessionBudget) || d.Input.AllowUnpriced {
			resolveRoute(p, in, who)
			d, err = g.route(in, who, p, policies, reading)
		}
	}
	if err != nil {
		return plan{decision: d}, err
	}
	if d.Input.Op == llm.Embed && d.Input.Routed() && d.Input.PinnedEmbed == "" && !dryRun {
		if d, err = g.pinEmbedding(ctx, in, who, d, policies); err != nil {
			return plan{decision: d}, err
		}
	}
	if d.NoCacheMarks {
		p.cache.Outlook = promptcache.Outlook{}
	}
	planned := plan{prompt: p, decision: d}
	if in.shadow != nil {
		if err := in.shadow.restrict(&planned); err != nil {
			return planned, err
		}
	}
	switch limit := d.MaxOutput; {
	case limit == 0:
	case p.req.MaxOutput == 0:
		planned.maxOutput = limit
	case p.req.MaxOutput > limit:
		p.req, err = wire.LimitOutput(ctx, in.Route.Format, p.req, limit)
	}
	return planned, err
}

// Explain makes the routing decision for a request without calling a provider. If draft is not nil, it replaces the active policies. If no
// target is available, Explain returns the decision and an *llm.Error.
func (g *Gateway) Explain(ctx context.Context, grant *account.Grant, req *llm.Request, tradeoff string, draft *policy.Set) (*route.Decision, error) {
	h := http.Header{}
	h.Set("X-Fairlead-Tradeoff", tradeoff)
	req.Measure()
	in := &incoming{Request: modelapi.Request{HTTP: &http.Request{Header: h}, Start: time.Now(), Settings: g.settings.Load(), Snapshot: g.snapshot.Load()}}
	p, who := &prompt{req: req, tokens: token.PromptOf(req).Estimate()}, modelapi.Caller{Grant: grant, Tags: grant.Key.Tags}
	resolveRoute(p, in, who)
	policies := g.Routing.Policies.For(grant.Workspace.ID)
	if draft != nil {
		policies = draft
	}
	if req.Op == llm.Chat {
		p.cache = g.Routing.Prefixes.Lookup(grant.Workspace.ID, promptcache.Build(req, p.tokens), in.Start)
	}
	return g.route(in, who, p, policies, readRequest(p, policies))
}

// route makes the routing decision for a request. If no target can serve the request, it returns the decision and an *llm.Error.
func (g *Gateway) route(in *incoming, who modelapi.Caller, p *prompt, policies *policy.Set, reading predict.Reading) (*route.Decision, error) {
	var input route.Input
	if err := g.fillInput(&input, in, who, p, reading.Features); err != nil {
		return nil, err
	}
	input.Conversation = reading.Findings
	if usesFeatures(p.req, policies) {
		input.Predictor = predict.Version()
		if g.Routing.Lengths != nil {
			input.Lengths = g.Routing.Lengths.Factors(input.Workspace.ID, reading.Features.Task)
		}
	}
	return g.decideOn(&input, in, policies, &p.cache)
}

// decideOn makes the routing decision for an input and measures its duration.
func (g *Gateway) decideOn(input *route.Input, in *incoming, policies *policy.Set, cache *promptcache.View) (*route.Decision, error) {
	states := g.Health.States(time.Now())
	c := route.Conditions{State: states, Policies: policies, CacheHit: cacheHits(cache)}
	if g.Routing.Lengths != nil {
		c.State = func(target string) route.State {
			s := states(target)
			s.Length = g.Routing.Lengths.Model(target)
			return s
		}
	}
	if corrections := g.Routing.Feedback.For(input.Workspace.ID); corrections != nil {
		c.Corrections, c.Feedback = corrections, corrections.Version
	}
	began := time.Now()
	d, err := route.Decide(input, in.Snapshot, c)
	d.Micros = time.Since(began).Microseconds()
	return d, err
}

// pinEmbedding stores the chosen model as the workspace's embedding model. If another request has already stored a model, pinEmbedding
// repeats the decision with that model.
func (g *Gateway) pinEmbedding(ctx context.Context, in *incoming, who modelapi.Caller, d *route.Decision, policies *policy.Set) (*route.Decision, error) {
	chosen := d.Plan[0].Model.Name
	pinned, err := g.Routing.Pins.PinEmbedding(ctx, who.Grant.Workspace.ID, chosen)
	if err != nil {
		return d, &llm.Error{Kind: llm.LedgerUnavailable, Message: "The workspace's embedding model cannot be set while the database is unavailable. Name a model or retry later.", Err: err}
	}
	if pinned == chosen {
		return d, nil
	}
	input := d.Input
	input.PinnedEmbed = pinned
	return g.decideOn(&input, in, policies, &promptcache.View{})
}

// readRequest reads the task of a request and the state of its conversation. The result is empty unless `auto` or a policy needs it.
func readRequest(p *prompt, policies *policy.Set) predict.Reading {
	if !usesFeatures(p.req, policies) || !bill.Generates(p.req.Op) {
		return predict.Reading{}
	}
	return predict.Read(p.req)
}

// usesFeatures reports whether the decision depends on the features of the prompt.
func usesFeatures(req *llm.Request, policies *policy.Set) bool {
	return req.Routed || policies.Len() > 0
}

// fillInput replaces *input with the values of the request, its key and its workspace. route adds the conversation and the predictor's data.
func (g *Gateway) fillInput(input *route.Input, in *incoming, who modelapi.Caller, p *prompt, f predict.Features) error {
	req, key, workspace := p.req, who.Grant.Key, who.Grant.Workspace
	tradeoff := in.HTTP.Header.Get("X-Fairlead-Tradeoff")
	if p.downgrade != "" {
		tradeoff = ""
	}
	objective, err := route.ParseObjective(req.Model, req.Routed, tradeoff)
	if err != nil {
		return err
	}
	*input = route.Input{
		At:        in.Start.UTC().Truncate(time.Second),
		Op:        req.Op,
		Format:    req.Format,
		Model:     req.Model,
		Route:     p.route,
		Draw:      p.drawShare(in.ID, who),
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
			AllowUnpriced: in.Settings.AllowsUnpriced(who.Grant) && !p.limited,
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
			Tags:      who.Tags,
		},
		Prediction: route.Prediction{Features: f},
	}
	input.AllowedModels = input.AllowedFor(key.AllowedModels, in.Snapshot)
	header := show.ShortenName(in.HTTP.Header.Get("X-Fairlead-Baseline"))
	defaultModel := cmp.Or(workspace.DefaultModel, in.Settings.DefaultModel)
	switch {
	case header != "":
		input.Baseline = route.Baseline{Model: header, Source: route.BaselineHeader}
	case key.Baseline != "":
		input.Baseline = route.Baseline{Model: key.Baseline, Source: route.BaselineKey}
	case defaultModel != "":
		input.Baseline = route.Baseline{Model: defaultModel, Source: route.BaselineDefault}
	}
	if budgets := append(budget.Applied(who.Grant), p.budgets...); len(budgets) > 0 && g.Ledger != nil {
		if room := g.available(budgets); room < money.Max {
			input.Room = &room
		}
	}
	if who.AccountID == "" && key.ID != "" {
		input.Key = condition.Key{ID: key.ID, Name: key.Name, Tags: key.Tags}
	}
	if c := g.comparison(in, who, req); c != nil && c.Holdout > 0 {
		input.Holdout = &route.Holdout{Model: in.Snapshot.Canonical(c.Baseline), Share: c.Holdout, Draw: UniformHash(in.ID)}
	}
	return nil
}

// drawShare returns the place of the request in the shares of its route, from 0 to 1. It is the same for all requests of a session, or of an
// end user. A decision without a request, such as an explanation, takes part in no share.
func (p *prompt) drawShare(requestID string, who modelapi.Caller) float64 {
	switch {
	case p.route == nil || len(p.route.Shares) == 0:
		return 0
	case p.req.Controls.SessionID != "":
		return uniformHash("share of session " + p.req.Controls.SessionID)
	case p.req.EndUser != "":
		return uniformHash("share of user " + who.Grant.Key.ID + " " + p.req.EndUser)
	case requestID != "":
		return uniformHash("share of request " + requestID)
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
