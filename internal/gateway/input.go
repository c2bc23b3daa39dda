package gateway

import (
	"cmp"
	"net/http"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/route"
)

// Explain decides on a request as the gateway would now, and calls nobody. Where there is no target it returns the
// decision with an *llm.Error.
func (g *Gateway) Explain(grant *account.Grant, req *llm.Request, tradeoff string) (*route.Decision, error) {
	h := http.Header{}
	h.Set("X-Fairlead-Tradeoff", tradeoff)
	req.Measure()
	in, err := input(grant, req, h, g.settings.Load())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	d, err := route.Decide(in, g.snapshot.Load(), g.Health.State)
	d.Micros = time.Since(began).Microseconds()
	return d, err
}

// input is everything about the request that the decision depends on.
func input(grant *account.Grant, req *llm.Request, h http.Header, s *Settings) (route.Input, error) {
	key := grant.Key
	objective, err := route.ParseObjective(req.Model, h.Get("X-Fairlead-Tradeoff"))
	if err != nil {
		return route.Input{}, err
	}
	return route.Input{
		At:            time.Now().UTC().Truncate(time.Second),
		Op:            req.Op,
		Model:         req.Model,
		Objective:     objective,
		InputTokens:   estimate(req),
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
		Dimensions:    req.Dimensions,
		TokenInput:    req.TokenIDs > 0,
		Controls:      req.Controls,
		AllowedModels: key.AllowedModels,
		AllowUnpriced: s.AllowUnpriced || key.AllowUnpriced,
		Baseline:      baselineHint(grant, h, s),
		PinnedEmbed:   grant.Workspace.PinnedEmbed,
	}, nil
}

// baselineHint is the first named of: the request's header, the key's baseline, the workspace's and the instance's
// default model.
func baselineHint(grant *account.Grant, h http.Header, s *Settings) route.Baseline {
	named := []route.Baseline{
		{Model: h.Get("X-Fairlead-Baseline"), Source: "header"},
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
