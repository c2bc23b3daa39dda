// Package catalog knows models: their names and aliases, abilities, sizes, a prior of their quality, and what each
// provider asks for them. A Catalog is a value that nobody changes: overrides make a new one.
package catalog

import "fairlead/internal/llm"

// Model is what is known about a model wherever it runs.
type Model struct {
	Name   string // canonical
	Vendor string
	Family string
	Op     llm.Op
	Home   string // the vendor's own provider, where it has one

	Context   int64 // whole window in tokens; 0 when unknown
	MaxInput  int64 // a separate cap on the prompt, where there is one
	MaxOutput int64 // 0 when unknown
	Abilities llm.Abilities
	Assumed   bool // Abilities are a guess: nothing is known about the model

	// FixedSampling models refuse temperature, top_p, penalties, logprobs and logit_bias.
	FixedSampling bool
	// CompletionTokens models take max_completion_tokens and refuse max_tokens.
	CompletionTokens bool

	Quality       float64 // prior chance of a good answer, 0 to 1; 0 when unknown
	QualitySource string
	Benchmarks    []Benchmark // published scores, by name of the benchmark
	Dimensions    []int64     // embeddings: the vector sizes on offer, the default first
	Aliases       []string
	Released      string // date as far as known
	Deprecated    bool
	OpenWeights   bool
}

// Benchmark is what a model reached on a published benchmark.
type Benchmark struct {
	Name   string
	Value  float64 // a share, 0 to 1
	Source string  // who published it
	AsOf   string
}

// Offer is a model at a provider.
type Offer struct {
	Model    string // canonical name
	Provider string
	Upstream string // the name that the provider knows
	Price    *Price // nil when unknown: never free
	Unpriced string // why the price is not known, where that is

	// Needs is empty when a key and the provider's usual API are enough. Else it says what more it takes: "responses"
	// (another API), "invitation", "contributor" (training on what is sent). Such an offer has a price but is not
	// listed until an override names it.
	Needs   string
	Context int64         // the provider's own window, where it is narrower than the model's; else 0
	Lacks   llm.Abilities // what the model can do, but not at this provider
}
