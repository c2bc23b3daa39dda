package bedrock

import (
	"context"
	"net/http"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/wire/converse"
)

// conversation implements provider.Exchange for chat with the Converse API.
type conversation struct{ caller }

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	conv, err := c.Client.Conversation(ctx, c.Request)
	if err != nil {
		return nil, err
	}
	f := familyOf(c.Target.Upstream, c.Target.Model)
	marked := false
	if c.Cache.Mark != "" && (c.Cache.Mark != "1h" || f.dialect.LongCache) {
		conv, marked = conv.WithEndMark(c.Cache.Mark)
	}
	if !marked {
		c.Cache.Mark = ""
	}
	body, warnings, err := converse.Render(ctx, conv, converse.RenderOptions{
		Dialect: f.dialect, Signers: signers(c.Target), MaxOutput: c.MaxOutput, ModelOutput: c.Target.Model.MaxOutput,
	})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		c.Warn("%s", w)
	}
	if !c.Request.Stream || f.wholeCalls && len(conv.Tools) > 0 {
		return e.post(ctx, c, "converse", body, provider.AcceptJSON)
	}
	return e.post(ctx, c, "converse-stream", body, acceptStream)
}

// signers returns the providers whose thinking signatures are valid for the target: the target's own provider and, for
// Anthropic's models, Anthropic.
func signers(t *provider.Target) []string {
	if isClaude(t) {
		return []string{t.Provider, name, "anthropic"}
	}
	return []string{t.Provider}
}

// isClaude reports whether the model is Anthropic's.
func isClaude(t *provider.Target) bool {
	return strings.Contains(t.Upstream, "claude") || strings.Contains(t.Model.Name, "claude")
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	plan, err := planOf(c)
	if err != nil {
		return llm.Single(llm.Event{}, err)
	}
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, converse.Deltas(resp.Body, converse.DeltaOptions{
		Plan: plan, ID: resp.Header.Get("X-Amzn-Requestid"), Provider: c.Target.Provider,
		MaxMessage: e.settings.MaxLine, MaxAnswer: e.settings.MaxAnswer,
		Stop: func() string { return onlyStop(c) },
		Warn: func(what string) { c.Warn("%s", what) },
	})))
}

// onlyStop returns the request's stop sequence if the request has exactly one.
func onlyStop(c *provider.Call) string {
	conv, err := c.Client.Conversation(context.Background(), c.Request)
	if err != nil || len(conv.Stop) != 1 {
		return ""
	}
	return conv.Stop[0]
}

// planOf returns the plan of the request, which is empty if the request has no tools and no schema.
func planOf(c *provider.Call) (converse.Plan, error) {
	if c.Request.Needs&(llm.Tools|llm.JSONSchema) == 0 {
		return converse.Plan{}, nil
	}
	conv, err := c.Client.Conversation(context.Background(), c.Request)
	if err != nil {
		return converse.Plan{}, err
	}
	return converse.NewPlan(conv, familyOf(c.Target.Upstream, c.Target.Model).dialect), nil
}
