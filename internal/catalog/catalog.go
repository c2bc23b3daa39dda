// Package catalog knows models: their names and aliases, abilities, sizes, a prior of their quality, and what each
// provider asks for them. A Catalog is a value that nobody changes: overrides make a new one.
package catalog

import (
	"fairlead/internal/llm"
	"fairlead/internal/money"
)

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

	// FixedSampling models refuse temperature, top_p, penalties, logprobs and logit_bias.
	FixedSampling bool
	// CompletionTokens models take max_completion_tokens and refuse max_tokens.
	CompletionTokens bool

	Quality       float64 // prior chance of a good answer, 0 to 1; 0 when unknown
	QualitySource string
	Dimensions    []int64 // embeddings: the vector sizes on offer, the default first
	Aliases       []string
	Released      string // date as far as known
	Deprecated    bool
	OpenWeights   bool
}

// Offer is a model at a provider.
type Offer struct {
	Model    string // canonical name
	Provider string
	Upstream string // the name that the provider knows
	Price    *Price // nil when unknown: never free

	// Needs is empty when a key and the provider's usual API are enough. Else it says what more it takes: "responses"
	// (another API), "invitation", "contributor" (training on what is sent). Such an offer has a price but is not
	// listed until an override names it.
	Needs   string
	Context int64         // the provider's own window, where it is narrower than the model's; else 0
	Lacks   llm.Abilities // what the model can do, but not at this provider
}

// Price is a price card. The zero rate is free; a nil cache rate means that cached tokens cost as fresh ones.
type Price struct {
	Input      money.Rate
	Output     money.Rate
	CacheRead  *money.Rate
	CacheWrite *money.Rate
	PerRequest money.Amount
	Tiers      []Tier // in rising order of Above
	Source     string // where the figures come from: "vendor page", "models.dev+litellm", "override", "local"
	AsOf       string // the day they were read
}

// Tier is a dearer card for long prompts: it prices the whole request once the prompt has more than Above tokens.
type Tier struct {
	Above      int64
	Input      money.Rate
	Output     money.Rate
	CacheRead  *money.Rate
	CacheWrite *money.Rate
}

// Row is one line of a bill.
type Row struct {
	Class  string       `json:"class"` // input, cache_read, cache_write, output, request
	Tokens int64        `json:"tokens"`
	Rate   money.Rate   `json:"rate"` // nano-dollars per million tokens
	Amount money.Amount `json:"amount"`
}

// Bill prices usage row by row; Total is the exact sum of the rows.
type Bill struct {
	Rows   []Row        `json:"rows"`
	Total  money.Amount `json:"total"`
	Source string       `json:"source"`
	AsOf   string       `json:"as_of,omitempty"`
}

// Bill prices the usage. Tokens of a class without a rate of its own cost what fresh input costs.
func (p *Price) Bill(u llm.Usage) Bill {
	card := p.card(u.Prompt())
	bill := Bill{Source: p.Source, AsOf: p.AsOf}
	bill.add("input", u.Input, card.Input)
	bill.add("cache_read", u.CacheRead, or(card.CacheRead, card.Input))
	bill.add("cache_write", u.CacheWrite, or(card.CacheWrite, card.Input))
	bill.add("output", u.Output, card.Output)
	if p.PerRequest > 0 {
		bill.Rows = append(bill.Rows, Row{Class: "request", Amount: p.PerRequest})
		bill.Total = bill.Total.Add(p.PerRequest)
	}
	return bill
}

// Cost is the total of Bill, without the rows.
func (p *Price) Cost(u llm.Usage) money.Amount {
	card := p.card(u.Prompt())
	return card.Input.Cost(u.Input).
		Add(or(card.CacheRead, card.Input).Cost(u.CacheRead)).
		Add(or(card.CacheWrite, card.Input).Cost(u.CacheWrite)).
		Add(card.Output.Cost(u.Output)).
		Add(p.PerRequest)
}

func (p *Price) card(prompt int64) Tier {
	card := Tier{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	for _, tier := range p.Tiers {
		if prompt > tier.Above {
			card = tier
		}
	}
	return card
}

func (b *Bill) add(class string, tokens int64, rate money.Rate) {
	amount := rate.Cost(tokens)
	b.Rows = append(b.Rows, Row{Class: class, Tokens: tokens, Rate: rate, Amount: amount})
	b.Total = b.Total.Add(amount)
}

func or(rate *money.Rate, otherwise money.Rate) money.Rate {
	if rate == nil {
		return otherwise
	}
	return *rate
}
