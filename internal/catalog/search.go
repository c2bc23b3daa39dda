package catalog

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// SearchFee is the fee of a provider for the web searches that it runs for a model.
type SearchFee struct {
	Rate *money.Rate `json:"rate,omitempty"` // nano-dollars per million searches; nil if unknown
	// Once is true if a request with several searches is charged for only one search.
	Once bool `json:"once,omitempty"`
	// Always is true if every request is charged for one search, because the provider does not report the number of searches.
	Always bool `json:"always,omitempty"`
}

// SearchesPerRate is the number of searches that a published price covers.
const SearchesPerRate = 1000

// SearchRate returns the rate for a price in nano-dollars per SearchesPerRate searches.
func SearchRate(price money.Amount) money.Rate {
	return money.Rate(price).Times(1000 * 1_000_000 / SearchesPerRate) // a factor in thousandths, which cannot overflow
}

// SearchPrice returns the price of SearchesPerRate searches at a rate.
func SearchPrice(rate money.Rate) money.Amount { return rate.Cost(SearchesPerRate) }

// known reports whether the price of a search is known.
func (f *SearchFee) known() bool { return f != nil && f.Rate != nil }

// charged returns the number of searches that are charged.
func (f *SearchFee) charged(u *llm.Usage) int64 {
	if f != nil && f.Once {
		return min(u.Searches, 1)
	}
	return u.Searches
}

// WithSearchFee returns the price with the published search fee of a model at a provider, unless the price has one. A nil
// price stays nil.
func (p *Price) WithSearchFee(provider, model string) *Price {
	if p == nil || p.Search != nil {
		return p
	}
	r, _ := embeddedRules() // Default reports the error
	for i := range r.searches {
		row := &r.searches[i]
		if row.providers[provider] && row.model.matches(model) {
			with := *p
			with.Search = &row.fee
			return &with
		}
	}
	return p
}

type searchRow struct {
	providers map[string]bool
	model     pattern
	fee       SearchFee
}

func (r *rules) addSearch(row record) {
	one := searchRow{providers: map[string]bool{}, model: newPattern(row.text("model"))}
	for _, name := range row.list("providers") {
		one.providers[name] = true
	}
	if price := row.optionalRate("per_1k"); price != nil {
		one.fee.Rate = new(SearchRate(money.Amount(*price)))
	}
	switch unit := row.text("unit"); unit {
	case "search":
	case "request":
		one.fee.Once = true
	case "every_request":
		one.fee.Always = true
	default:
		row.fail("unknown unit %q", unit)
	}
	r.searches = append(r.searches, one)
}
