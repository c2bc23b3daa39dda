package catalog

import (
	"cmp"
	"strconv"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// Row is one line of a bill.
type Row struct {
	Class  string       `json:"class"`  // input, input_audio, cache_read, cache_write, cache_write_1h, output, output_audio, web_search, request, above_hold, broken_attempts, failed_checks
	Tokens int64        `json:"tokens"` // tokens, or searches
	Rate   money.Rate   `json:"rate"`   // nano-dollars per million tokens or searches
	Amount money.Amount `json:"amount"`
}

// Bill is usage priced row by row. The rows do not overlap, and Total is their exact sum.
type Bill struct {
	Rows   []Row        `json:"rows"`
	Total  money.Amount `json:"total"`
	Source string       `json:"source"`
	AsOf   string       `json:"as_of,omitempty"`
	Card   string       `json:"card,omitempty"` // the card applied: "base", ">272k", "flex", "promotion until 2026-12-31"
	// Excluded lists the classes that were used and have no known price. Total does not include them.
	Excluded []string `json:"excluded,omitempty"`
}

// WebSearch is the class of the fees for web searches.
const WebSearch = "web_search"

// Bill prices the usage with the current card. A class of tokens without its own rate costs the standard rate of its
// kind. Usage of an unknown service tier is priced at the standard rate, and Card names the unknown tier.
func (p *Price) Bill(u llm.Usage) Bill {
	const usual = 4 // rows of a typical bill
	bill := Bill{Rows: make([]Row, 0, usual), Source: p.Source, AsOf: p.AsOf, Card: p.cardName(u)}
	for _, row := range p.rows(u) {
		if row.Tokens == 0 && optional(row.Class) {
			continue
		}
		bill.Rows = append(bill.Rows, row)
		bill.Total = bill.Total.Add(row.Amount)
	}
	switch {
	case u.Searches <= 0:
	case !p.Search.known():
		bill.Excluded = append(bill.Excluded, WebSearch)
	case *p.Search.Rate > 0:
		fee := row(WebSearch, p.Search.charged(&u), *p.Search.Rate)
		bill.Rows = append(bill.Rows, fee)
		bill.Total = bill.Total.Add(fee.Amount)
	}
	if p.PerRequest > 0 {
		bill.Rows = append(bill.Rows, Row{Class: "request", Amount: p.PerRequest})
		bill.Total = bill.Total.Add(p.PerRequest)
	}
	return bill
}

// Cost returns the total of Bill.
func (p *Price) Cost(u llm.Usage) money.Amount {
	rates := p.Rates(u.Prompt(), u.ServiceTier)
	return rates.Cost(&u)
}

// Rates are the rates of one card, with a rate for every class of tokens. Routing prices several usages per candidate
// and request, so it computes the rates once and needs no rows.
type Rates struct {
	Input, AudioInput, CacheRead, CacheWrite, CacheWriteLong, Output, AudioOutput money.Rate
	PerRequest                                                                    money.Amount
	Search                                                                        *SearchFee
}

// Rates returns the rates for a prompt of the given length in a service tier. Classes without their own rate have the
// standard rate of their kind.
func (p *Price) Rates(prompt int64, service string) Rates {
	card := p.card(prompt, service)
	write := rateOr(card.CacheWrite, card.Input)
	return Rates{
		Input: card.Input, AudioInput: rateOr(card.AudioInput, card.Input), CacheRead: rateOr(card.CacheRead, card.Input),
		CacheWrite: write, CacheWriteLong: rateOr(card.CacheWriteLong, write),
		Output: card.Output, AudioOutput: rateOr(card.AudioOutput, card.Output), PerRequest: p.PerRequest, Search: p.Search,
	}
}

// Cost returns the cost of the usage at these rates.
func (r *Rates) Cost(u *llm.Usage) money.Amount {
	audioIn, audioOut, long := parts(u)
	total := r.Input.Cost(u.Input - audioIn).Add(r.AudioInput.Cost(audioIn))
	total = total.Add(r.CacheRead.Cost(u.CacheRead)).Add(r.CacheWrite.Cost(u.CacheWrite - long)).Add(r.CacheWriteLong.Cost(long))
	total = total.Add(r.Output.Cost(u.Output - audioOut)).Add(r.AudioOutput.Cost(audioOut))
	return total.Add(r.PerRequest).Add(r.Search.cost(u))
}

// optional reports whether a class without tokens is omitted from a bill.
func optional(class string) bool {
	return class == "input_audio" || class == "cache_write_1h" || class == "output_audio"
}

// rows splits the usage into classes that do not overlap.
func (p *Price) rows(u llm.Usage) [7]Row {
	rates := p.Rates(u.Prompt(), u.ServiceTier)
	audioIn, audioOut, long := parts(&u)
	return [7]Row{
		row("input", u.Input-audioIn, rates.Input),
		row("input_audio", audioIn, rates.AudioInput),
		row("cache_read", u.CacheRead, rates.CacheRead),
		row("cache_write", u.CacheWrite-long, rates.CacheWrite),
		row("cache_write_1h", long, rates.CacheWriteLong),
		row("output", u.Output-audioOut, rates.Output),
		row("output_audio", audioOut, rates.AudioOutput),
	}
}

// parts returns the counts that are part of another count, limited to that count: a provider that reports more audio
// than input tokens is wrong about the audio.
func parts(u *llm.Usage) (audioIn, audioOut, long int64) {
	return clampPart(u.AudioInput, u.Input), clampPart(u.AudioOutput, u.Output), clampPart(u.CacheWriteLong, u.CacheWrite)
}

func row(class string, tokens int64, rate money.Rate) Row {
	return Row{Class: class, Tokens: tokens, Rate: rate, Amount: rate.Cost(tokens)}
}

func clampPart(n, whole int64) int64 { return min(max(n, 0), max(whole, 0)) }

// card selects the rates by prompt length and then by service tier.
func (p *Price) card(prompt int64, service string) Tier {
	card := p.Base()
	if tier := p.tier(prompt); tier != nil {
		card = *tier
	}
	if s := p.service(service); s != nil {
		card = card.scale(s.Factor)
	}
	return card
}

func (p *Price) tier(prompt int64) *Tier {
	var found *Tier
	for i := range p.Tiers {
		if prompt > p.Tiers[i].Above {
			found = &p.Tiers[i]
		}
	}
	return found
}

func (p *Price) service(name string) *Service {
	for i := range p.Services {
		if p.Services[i].Name == name {
			return &p.Services[i]
		}
	}
	return nil
}

// isStandardTier reports whether a service tier is charged at the list price.
func isStandardTier(service string) bool {
	switch service {
	case "", "auto", "default", "standard", "standard_only", "on_demand", "unspecified":
		return true
	}
	return false
}

// base is the name of the card without adjustments.
const base = "base"

// shortened truncates a name given by a caller.
func shortened(name string) string {
	const most = 32
	return strings.ToValidUTF8(name[:min(most, len(name))], "")
}

func (p *Price) cardName(u llm.Usage) string {
	name := p.Card
	if tier := p.tier(u.Prompt()); tier != nil {
		name = join(name, ">"+thousands(tier.Above))
	}
	switch {
	case p.service(u.ServiceTier) != nil:
		name = join(name, u.ServiceTier)
	case !isStandardTier(u.ServiceTier):
		name = join(cmp.Or(name, base), "unknown service tier "+shortened(u.ServiceTier))
	}
	return cmp.Or(name, base)
}

func thousands(n int64) string {
	if n%1000 == 0 {
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

func rateOr(rate *money.Rate, otherwise money.Rate) money.Rate {
	if rate == nil {
		return otherwise
	}
	return *rate
}
