package gateway

import (
	"encoding/json"
	"net/http"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire"
)

// countTokens responds with the gateway's own estimate of a conversation's length. It calls no provider and charges nothing. The entry does
// not store the conversation, which is logged when it is sent to a model.
func (g *Gateway) countTokens(in *incoming, req *llm.Request, rec *recorder) error {
	e := rec.Entry
	e.Outcome, e.Status, e.Cost = requestlog.OK, http.StatusOK, new(money.Amount)
	e.BodyState, e.Preview, e.Body = requestlog.BodyNone, "", requestlog.Body{}
	if rec.Logged() {
		if err := g.Log.End(rec.Complete()); err != nil {
			return err
		}
	}
	m := token.Model{Name: req.Model}
	if targets := in.Snapshot.Named(req.Model); len(targets) > 0 {
		m = token.Model{Vendor: targets[0].Model.Vendor, Name: targets[0].Model.Name}
	} else if known, ok := in.Snapshot.Catalog.Model(req.Model); ok {
		m = token.Model{Vendor: known.Vendor, Name: known.Name}
	} else if f, ok := in.Route.Format.(wire.VendorFormat); ok {
		m.Vendor = f.Vendor() // the most likely vendor of an unknown model
	}
	count := m.Prompt(token.PromptOf(req))
	if f, ok := in.Route.Format.(wire.TokenCounter); ok {
		modelapi.WriteJSON(in.W, in.HTTP, f.TokenCount(count))
		return nil
	}
	modelapi.WriteJSON(in.W, in.HTTP, struct {
		InputTokens int64 `json:"input_tokens"`
	}{count})
	return nil
}

// respondDryRun responds with the decision without calling a provider, charging or logging.
func respondDryRun(in *incoming, out *response.Writer, d *route.Decision) error {
	body, err := json.Marshal(map[string]any{"object": "fairlead.decision", "request_id": in.ID, "decision": d})
	if err != nil {
		return err
	}
	out.StopKeepAlive()
	in.W.Header().Set("Content-Type", "application/json")
	in.W.WriteHeader(http.StatusOK)
	_, _ = in.W.Write(body) // fails only when the client has disconnected
	return nil
}
