package strict

import (
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
)

// Controls holds the members that select the model and the provider in a request of any format. The request type of a format embeds it.
type Controls struct {
	Model       Name                `json:"model,omitzero"`
	Models      Names               `json:"models,omitzero"`
	Provider    ProviderPreferences `json:"provider,omitzero"`
	SessionID   Name                `json:"session_id,omitzero"`
	ServiceTier Label               `json:"service_tier,omitzero"`
}

// ProviderPreferences is the provider object. Members that only other gateways support are ignored.
type ProviderPreferences struct {
	Order             Names          `json:"order"`
	Only              Names          `json:"only"`
	Ignore            Names          `json:"ignore"`
	AllowFallbacks    *bool          `json:"allow_fallbacks"`
	RequireParameters bool           `json:"require_parameters"`
	BestEffort        bool           `json:"best_effort"`
	Sort              string         `json:"sort"`
	MaxPrice          *MaxPrice      `json:"max_price"`
	DataCollection    string         `json:"data_collection"`
	ZeroRetention     bool           `json:"zdr"`
	Unknown           jsontext.Value `json:",embed"`
}

// MaxPrice limits the price of a target.
type MaxPrice struct {
	Prompt     Price          `json:"prompt"`
	Completion Price          `json:"completion"`
	Unknown    jsontext.Value `json:",embed"`
}

// Apply checks the controls and sets the routing options of a request.
func (c *Controls) Apply(doc *Document, req *llm.Request) {
	p := &c.Provider
	doc.RejectLookAlikes("provider.", p.Unknown, *p)
	req.Model, req.ServiceTier = string(c.Model), string(c.ServiceTier)
	req.Controls = llm.Controls{Models: c.Models, SessionID: string(c.SessionID), Provider: llm.ProviderPreferences{
		Order: p.Order, Only: p.Only, Ignore: p.Ignore,
		NoFallbacks: p.AllowFallbacks != nil && !*p.AllowFallbacks, RequireParameters: p.RequireParameters, BestEffort: p.BestEffort,
		Sort:           doc.OneOf("provider.sort", p.Sort, "price", "latency", "throughput"),
		DenyCollection: doc.OneOf("provider.data_collection", p.DataCollection, "allow", "deny") == "deny", ZeroRetention: p.ZeroRetention,
	}}
	if limit := p.MaxPrice; limit != nil {
		doc.RejectLookAlikes("provider.max_price.", limit.Unknown, *limit)
		req.Controls.Provider.MaxPrice = &llm.MaxPrice{Prompt: limit.Prompt.Dollars, Completion: limit.Completion.Dollars}
	}
}
