package gateway

import (
	"context"
	"net/http"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/requestlog"
	"fairlead/internal/token"
)

// tokens is whose tokens are counted.
func tokens(m *catalog.Model) token.Model { return token.Model{Vendor: m.Vendor, Name: m.Name} }

// estimate is the length of a prompt for no model in particular: limits count it before a model is chosen.
func estimate(req *llm.Request) int64 {
	return token.Model{Vendor: "OpenAI"}.Prompt(token.PromptOf(req))
}

// promptTokens is our own count of the prompt at a target: exact where its vocabulary is published and the prompt is short
// enough to be split.
func (x *exchange) promptTokens(t *provider.Target) int64 {
	model, prompt := tokens(t.Model), token.PromptOf(x.req)
	if x.op == llm.Chat && prompt.Bytes <= token.MaxExact {
		if texts, err := x.texts(); err == nil {
			if n, ok := x.counter.Prompt(model, prompt, texts...); ok {
				return n
			}
		}
	}
	return model.Prompt(prompt)
}

// texts is everything that the request says.
//
//nolint:contextcheck,nolintlint // the usage of a disconnected client is counted too
func (x *exchange) texts() ([]string, error) {
	conv, err := x.format.Conversation(context.Background(), x.req)
	if err != nil {
		return nil, err
	}
	return conv.Texts(), nil
}

// countedModel is the model that the caller has its conversation counted for. The operation is Anthropic's: what nobody
// knows is taken for a model of theirs.
func (x *exchange) countedModel() token.Model {
	if targets := x.snap.Named(x.req.Model); len(targets) > 0 {
		return tokens(targets[0].Model)
	}
	if m, ok := x.snap.Catalog.Model(x.req.Model); ok {
		return tokens(m)
	}
	return token.Model{Vendor: "Anthropic", Name: x.req.Model}
}

// countTokens answers with our own estimate of how long a conversation is. No model is called and nothing is charged. The
// entry does not store the conversation: it is logged when it is sent to a model.
func (g *Gateway) countTokens(x *exchange) error {
	e := x.entry
	e.Outcome, e.Status, e.Cost = requestlog.OK, http.StatusOK, new(money.Amount)
	e.BodyState, e.Preview, e.Body = requestlog.BodyNone, "", requestlog.Body{}
	if !x.dry {
		if err := g.record(x); err != nil {
			return err
		}
	}
	writeJSON(x.w.w, x.r, struct {
		InputTokens int64 `json:"input_tokens"`
	}{x.countedModel().Prompt(token.PromptOf(x.req))})
	return nil
}
