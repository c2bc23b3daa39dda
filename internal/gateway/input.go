package gateway

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/predict"
	"fairlead/internal/promptcache"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// Explain decides on a request as the gateway would now, and calls nobody. A draft stands in for the policies in force
// where it is not nil. Where there is no target it returns the decision with an *llm.Error.
func (g *Gateway) Explain(ctx context.Context, grant *account.Grant, req *llm.Request, tradeoff string, draft *policy.Set) (*route.Decision, error) {
	h := http.Header{}
	h.Set("X-Fairlead-Tradeoff", tradeoff)
	req.Model = route.AsAuto(req.Model)
	req.Measure()
	x := &exchange{
		op: req.Op, r: &http.Request{Header: h}, start: time.Now(), settings: g.settings.Load(), snap: g.snapshot.Load(), grant: grant, req: req,
		entry:  &requestlog.Entry{WorkspaceID: grant.Workspace.ID, KeyID: grant.Key.ID, Tags: grant.Key.Tags},
		length: estimate(req),
	}
	policies := g.Policies.For(grant.Workspace.ID)
	if draft != nil {
		policies = draft
	}
	x.view = g.Prefixes.Lookup(ctx, grant.Workspace.ID, promptcache.Build(req, x.length), x.start)
	err := g.planRequest(x, policies, g.sketch(x, policies))
	return x.decision, err
}

// input writes down everything about the request that the decision depends on.
func (g *Gateway) input(x *exchange, policies *policy.Set, sketch predict.Features, in *route.Input) error {
	req, key, workspace := x.req, x.grant.Key, x.grant.Workspace
	objective, err := route.ParseObjective(req.Model, x.r.Header.Get("X-Fairlead-Tradeoff"))
	if err != nil {
		return err
	}
	*in = route.Input{
		At:            x.start.UTC().Truncate(time.Second),
		Op:            req.Op,
		Format:        req.Format,
		Model:         req.Model,
		Objective:     objective,
		InputTokens:   x.length,
		Text:          req.Text,
		ImageSizes:    req.ImageSizes,
		MaxOutput:     req.MaxOutput,
		Choices:       req.Choices,
		Needs:         req.Needs,
		Sampling:      req.Sampling,
		Stream:        req.Stream,
		Messages:      req.Messages,
		Images:        req.Images,
		ImageURLs:     req.ImageURLs,
		AttachedBytes: req.AttachedBytes,
		Unsized:       req.Unsized,
		Longest:       req.Longest,
		Dimensions:    req.Dimensions,
		TokenInput:    req.TokenIDs > 0,
		Controls:      req.Controls,
		AllowedModels: key.AllowedModels,
		AllowUnpriced: x.settings.allowsUnpriced(x.grant),
		Baseline:      baselineHint(x.grant, x.r.Header, x.settings),
		PinnedEmbed:   workspace.PinnedEmbed,
		Turns:         max(req.Answers, x.view.Turns()),
		Last:          x.view.Last(),
		Workspace:     policy.Workspace{ID: workspace.ID, Name: workspace.Name},
		EndUser:       req.EndUser,
		Metadata:      req.Metadata,
		Tags:          x.entry.Tags,
		Features:      sketch,
	}
	if x.entry.KeyID != "" {
		in.Key = policy.Key{ID: key.ID, Name: key.Name, Tags: key.Tags}
	}
	if x.sketched(policies) {
		in.Predictor = g.Predictor.Version()
	}
	if route.IsAuto(req.Model) && x.settings.Explore > 0 {
		in.Explore, in.Draw = x.settings.Explore, g.Draw()
	}
	return nil
}

// baselineHint is the first named of: the request's header, the key's baseline, the workspace's and the instance's
// default model.
func baselineHint(grant *account.Grant, h http.Header, s *Settings) route.Baseline {
	named := []route.Baseline{
		{Model: shortenName(h.Get("X-Fairlead-Baseline")), Source: "header"},
		{Model: grant.Key.Baseline, Source: "key"},
		{Model: cmp.Or(grant.Workspace.DefaultModel, s.DefaultModel), Source: "default"},
	}
	for _, b := range named {
		if b.Model != "" {
			return b
		}
	}
	return route.Baseline{}
}
