package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Row is one line of a bill.
type Row struct {
	Class  string       `json:"class"`  // input, input_audio, cache_read, cache_write, cache_write_1h, output, output_audio, web_search, request, above_hold, broken_attempts
	Tokens int64        `json:"tokens"` // number of tokens or searches
	Rate   money.Rate   `json:"rate"`   // nano-dollars per million tokens or searches
	Amount money.Amount `json:"amount"`
}

// Bill is usage priced row by row. The rows do not overlap, and Total is their exact sum.
type Bill struct {
	Rows   []Row        `json:"rows"`
	Total  money.Amount `json:"total"`
	Source string       `json:"source"`
	AsOf   string       `json:"as_of,omitempty"`
	Card   string       `json:"card,omitempty"` // name of the applied card: "base", ">272k", "flex", "promotion until 2026-12-31"
	// Excluded lists the classes that were used and have no known price. Total does not include them.
	Excluded []string `json:"excluded,omitempty"`
}

// WebSearch is the class of web search fees.
const WebSearch = "web_search"

// Bill prices the usage with the current card. A class of tokens without its own rate costs the standard rate of its
// kind. Usage of an unknown service tier is priced at the standard rate, and Card names the unknown tier.
func (p *Price) Bill(u llm.Usage) Bill {
	const usual = 4 // number of rows in a typical bill
	bill := Bill{Rows: make([]Row, 0, usual), Source: p.Source, AsOf: p.AsOf, Card: p.cardName(u)}
	rates := p.Rates(u.Prompt(), u.ServiceTier)
	audioIn, audioOut, long := parts(&u)
	for _, one := range [...]struct { // classes that do not overlap
		Row
		optional bool // whether the row is omitted if it has no tokens
	}{
		{Row: row("input", u.Input-audioIn, rates.Input)},
		{Row: row("input_audio", audioIn, rates.AudioInput), optional: true},
		{Row: row("cache_read", u.CacheRead, rates.CacheRead)},
		{Row: row("cache_write", u.CacheWrite-long, rates.CacheWrite)},
		{Row: row("cache_write_1h", long, rates.CacheWriteLong), optional: true},
		{Row: row("output", u.Output-audioOut, rates.Output)},
		{Row: row("output_audio", audioOut, rates.AudioOutput), optional: true},
	} {
		if one.Tokens != 0 || !one.optional {
			bill.Rows = append(bill.Rows, one.Row)
			bill.Total = bill.Total.Add(one.Amount)
		}
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

// Add adds another bill. Rows with the same class and rate are merged.
func (b *Bill) Add(other Bill) {
	for _, row := range other.Rows {
		same := func(r Row) bool { return r.Class == row.Class && r.Rate == row.Rate }
		if i := slices.IndexFunc(b.Rows, same); i >= 0 {
			b.Rows[i].Tokens += row.Tokens
			b.Rows[i].Amount = b.Rows[i].Amount.Add(row.Amount)
		} else {
			b.Rows = append(b.Rows, row)
		}
	}
	for _, class := range other.Excluded {
		if !slices.Contains(b.Excluded, class) {
			b.Excluded = append(b.Excluded, class)
		}
	}
	b.Total = b.Total.Add(other.Total)
}

// Cost returns the same amount as Bill(u).Total, without computing the rows.
func (p *Price) Cost(u llm.Usage) money.Amount {
	rates := p.Rates(u.Prompt(), u.ServiceTier)
	return rates.Cost(&u)
}

// Rates holds the rates of one card, with a rate for every class of tokens. Routing prices several usages per candidate
// and request, so it computes the rates once and needs no rows.
type Rates struct {
	Input, AudioInput, CacheRead, CacheWrite, CacheWriteLong, Output, AudioOutput money.Rate
	PerRequest                                                                    money.Amount
	Search                                                                        *SearchFee
}

// Rates returns the rates for a prompt of the given length in a service tier. Classes without their own rate have the
// standard rate of their kind.
func (p *Price) Rates(prompt int64, service string) Rates {
	card := p.Base()
	if tier := p.tier(prompt); tier != nil {
		card = *tier
	}
	if s := p.service(service); s != nil {
		card = card.scale(s.Factor)
	}
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
	if u.Searches > 0 && r.Search.known() {
		total = total.Add(r.Search.Rate.Cost(r.Search.charged(u)))
	}
	return total.Add(r.PerRequest)
}

// parts returns the audio tokens in Input, the audio tokens in Output and the one-hour writes in CacheWrite. Each is
// limited to the count that includes it, because a provider may report more audio tokens than input tokens.
func parts(u *llm.Usage) (audioIn, audioOut, long int64) {
	return clampPart(u.AudioInput, u.Input), clampPart(u.AudioOutput, u.Output), clampPart(u.CacheWriteLong, u.CacheWrite)
}

func row(class string, tokens int64, rate money.Rate) Row {
	return Row{Class: class, Tokens: tokens, Rate: rate, Amount: rate.Cost(tokens)}
}

func clampPart(n, whole int64) int64 { return min(max(n, 0), max(whole, 0)) }

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

// base is the card name of the list price, when no tier, service tier, weekly hours or period apply.
const base = "base"

func (p *Price) cardName(u llm.Usage) string {
	name := p.Card
	if tier := p.tier(u.Prompt()); tier != nil {
		above := strconv.FormatInt(tier.Above, 10)
		if tier.Above%1000 == 0 {
			above = strconv.FormatInt(tier.Above/1000, 10) + "k"
		}
		name = join(name, ">"+above)
	}
	switch {
	case p.service(u.ServiceTier) != nil:
		name = join(name, u.ServiceTier)
	case !isStandardTier(u.ServiceTier):
		const maxTier = 32 // maximum length in bytes of an unknown tier's name
		name = join(cmp.Or(name, base), "unknown service tier "+strings.ToValidUTF8(u.ServiceTier[:min(maxTier, len(u.ServiceTier))], ""))
	}
	return cmp.Or(name, base)
}

func rateOr(rate *money.Rate, otherwise money.Rate) money.Rate {
	if rate == nil {
		return otherwise
	}
	return *rate
}
