package gateway

import (
	"net/http"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
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
func (x *exchange) texts() ([]string, error) {
	conv, err := x.format.Conversation(x.req)
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

// countTokens says how long a conversation is, by our own estimate: no model is called, and there is no entry.
func (g *Gateway) countTokens(w http.ResponseWriter, r *http.Request, requestID string, route Route) {
	x := g.newExchange(w, r, requestID, route)
	if err := g.byKey(x); err != nil {
		g.refuse(w, r, requestID, err)
		return
	}
	release, err := g.readRequest(x)
	if err != nil {
		g.refuse(w, r, requestID, err)
		return
	}
	defer release()
	writeJSON(w, r, struct {
		InputTokens int64 `json:"input_tokens"`
	}{x.countedModel().Prompt(token.PromptOf(x.req))})
}
