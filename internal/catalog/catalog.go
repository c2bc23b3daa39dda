// Package catalog holds the facts about models: names and aliases, abilities, sizes, a prior for their quality, and the
// price at each provider. A Catalog is immutable: overrides create a new one.
package catalog

import "fairlead.dev/internal/llm"

// Model describes a model independently of the provider.
type Model struct {
	Name   string // canonical name
	Vendor string
	Family string
	Op     llm.Op
	Home   string // the vendor's own provider; empty if there is none

	Context   int64 // context window in tokens; 0 if unknown
	MaxInput  int64 // maximum prompt length in tokens if limited separately; otherwise 0
	MaxOutput int64 // output limit in tokens; 0 if unknown
	Abilities llm.Abilities
	Assumed   bool // whether Abilities are assumed because the model is unknown

	// FixedSampling is true if the model rejects temperature, top_p, penalties, logprobs and logit_bias.
	FixedSampling bool
	// CompletionTokens is true if the model accepts max_completion_tokens and rejects max_tokens.
	CompletionTokens bool
	// ToolsNeedResponses is true if the model accepts function tools together with reasoning only on the Responses API.
	ToolsNeedResponses bool
	// NoStream is true if the model rejects streaming requests on the Responses API.
	NoStream bool

	Quality       float64 // mean success probability over the task families, 0 to 1; 0 if unknown
	QualitySource string
	Rating        *Rating // row of the ability table; nil if there is none
	Dimensions    []int64 // embedding sizes, default first
	Aliases       []string
	Released      string // release date, such as 2025-04-14, 2025-04 or 2025
	Deprecated    bool
	OpenWeights   bool
}

// NeedsResponses marks an offer that is available only through the Responses API.
const NeedsResponses = "responses"

// Offer is a model at a provider.
type Offer struct {
	Model    string // canonical name
	Provider string
	Upstream string // model name at the provider
	Price    *Price // price at the provider; nil means unknown, not free
	Unpriced string // reason why the price is unknown

	// Needs is empty if an API key and the provider's standard API are enough. Otherwise it names the requirement:
	// "responses" (only the Responses API), "invitation", "contributor" (consent to training on requests), or
	// "hosted_tools" (the provider rejects requests without one of its hosted tools). An offer with a requirement other
	// than "responses" has a price but is not listed until an override names it.
	Needs       string
	Context     int64         // the provider's context window if smaller than the model's, otherwise 0
	Unsupported llm.Abilities // abilities of the model that the provider does not support
}
