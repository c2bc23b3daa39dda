package bedrock

import (
	"context"
	"net/http"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire/bedrock"
)

// conversation implements provider.Exchange for chat with the Converse API.
type conversation struct{ caller }

var _ provider.Exchange = conversation{}

func (e conversation) NewRequest(ctx context.Context, c *provider.Call) (*http.Request, error) {
	conv, err := c.Conversation()
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
	signers := []string{c.Target.ID(), "anthropic/" + c.Target.Model.Name} // targets whose thinking signatures are valid for the target
	body, warnings, err := bedrock.Render(ctx, conv, bedrock.RenderOptions{
		Dialect: f.dialect, Signers: signers, MaxOutput: c.MaxOutput, ModelOutput: c.Target.Model.MaxOutput,
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

// isClaude reports whether the model is an Anthropic model.
func isClaude(t *provider.Target) bool {
	return strings.Contains(t.Upstream, "claude") || strings.Contains(t.Model.Name, "claude")
}

func (e conversation) Events(c *provider.Call, resp *http.Response) llm.Stream {
	var plan bedrock.Plan // plan for tools and schema; empty for a request without them
	if c.Request.Needs&(llm.Tools|llm.JSONSchema) != 0 {
		conv, err := c.Conversation()
		if err != nil {
			return llm.Single(llm.Event{}, err)
		}
		plan = bedrock.NewPlan(conv, familyOf(c.Target.Upstream, c.Target.Model).dialect)
	}
	return llm.Pull(c.Client.EncodeResponse(c.Request, c.Target.Model.Name, bedrock.Deltas(resp.Body, bedrock.DeltaOptions{
		Plan: plan, ID: resp.Header.Get("X-Amzn-Requestid"), Provider: c.Target.ID(),
		MaxMessage: e.settings.MaxLine, MaxResponse: e.settings.MaxResponse,
		Stop: func() string {
			conv, err := c.Conversation()
			if err != nil || len(conv.Stop) != 1 {
				return ""
			}
			return conv.Stop[0]
		},
		Warn: func(what string) { c.Warn("%s", what) },
	})))
}
