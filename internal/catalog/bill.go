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
	Class  string       `json:"class"` // input, input_audio, cache_read, cache_write, cache_write_1h, output, output_audio, request, above_hold, broken_attempts
	Tokens int64        `json:"tokens"`
	Rate   money.Rate   `json:"rate"` // nano-dollars per million tokens
	Amount money.Amount `json:"amount"`
}

// Bill prices usage row by row: the rows exclude each other, and Total is their exact sum.
type Bill struct {
	Rows   []Row        `json:"rows"`
	Total  money.Amount `json:"total"`
	Source string       `json:"source"`
	AsOf   string       `json:"as_of,omitempty"`
	Card   string       `json:"card,omitempty"` // which of the price's cards: "base", ">272k", "flex", "promotion until 2026-12-31"
}

// Bill prices the usage with the card as it stands. Tokens of a class without a rate of its own cost what the ordinary
// ones of their kind cost. Usage of a service tier that the price does not know is priced as ordinary, and the card
// says so.
func (p *Price) Bill(u llm.Usage) Bill {
	const usual = 4 // rows
	bill := Bill{Rows: make([]Row, 0, usual), Source: p.Source, AsOf: p.AsOf, Card: p.cardName(u)}
	for _, row := range p.rows(u) {
		if row.Tokens == 0 && optional(row.Class) {
			continue
		}
		bill.Rows = append(bill.Rows, row)
		bill.Total = bill.Total.Add(row.Amount)
	}
	if p.PerRequest > 0 {
		bill.Rows = append(bill.Rows, Row{Class: "request", Amount: p.PerRequest})
		bill.Total = bill.Total.Add(p.PerRequest)
	}
	return bill
}

// Cost is the total of Bill.
func (p *Price) Cost(u llm.Usage) money.Amount {
	rates := p.Rates(u.Prompt(), u.ServiceTier)
	return rates.Cost(&u)
}

// Rates are those of one card, with one for every class of tokens. Routing prices several usages at each candidate of each
// request: it takes the rates once, and needs no rows.
type Rates struct {
	Input, AudioInput, CacheRead, CacheWrite, CacheWriteLong, Output, AudioOutput money.Rate
	PerRequest                                                                    money.Amount
}

// Rates are what holds for prompts of this length in a service tier. Classes without a rate of their own have that of the
// ordinary tokens of their kind.
func (p *Price) Rates(prompt int64, service string) Rates {
	card := p.card(prompt, service)
	write := or(card.CacheWrite, card.Input)
	return Rates{
		Input: card.Input, AudioInput: or(card.AudioInput, card.Input), CacheRead: or(card.CacheRead, card.Input),
		CacheWrite: write, CacheWriteLong: or(card.CacheWriteLong, write),
		Output: card.Output, AudioOutput: or(card.AudioOutput, card.Output), PerRequest: p.PerRequest,
	}
}

// Cost is what the usage comes to at these rates.
func (r *Rates) Cost(u *llm.Usage) money.Amount {
	audioIn, audioOut, long := parts(u)
	total := r.Input.Cost(u.Input - audioIn).Add(r.AudioInput.Cost(audioIn))
	total = total.Add(r.CacheRead.Cost(u.CacheRead)).Add(r.CacheWrite.Cost(u.CacheWrite - long)).Add(r.CacheWriteLong.Cost(long))
	total = total.Add(r.Output.Cost(u.Output - audioOut)).Add(r.AudioOutput.Cost(audioOut))
	return total.Add(r.PerRequest)
}

// optional classes are left out of a bill where there is nothing of them.
func optional(class string) bool {
	return class == "input_audio" || class == "cache_write_1h" || class == "output_audio"
}

// rows splits the usage into classes that exclude each other.
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

// parts are the counts that belong to another one. Never more of them are taken than the whole has: a provider that reports
// more audio than input is wrong about the audio.
func parts(u *llm.Usage) (audioIn, audioOut, long int64) {
	return part(u.AudioInput, u.Input), part(u.AudioOutput, u.Output), part(u.CacheWriteLong, u.CacheWrite)
}

func row(class string, tokens int64, rate money.Rate) Row {
	return Row{Class: class, Tokens: tokens, Rate: rate, Amount: rate.Cost(tokens)}
}

func part(n, whole int64) int64 { return min(max(n, 0), max(whole, 0)) }

// card chooses the rates by the length of the prompt, and then by the service tier.
func (p *Price) card(prompt int64, service string) Tier {
	card := p.Base()
	if tier := p.tier(prompt); tier != nil {
		card = *tier
	}
	if s := p.service(service); s != nil {
		card = card.times(s.Factor)
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

// ordinary are the names by which providers report the service tier that the list price is for.
func ordinary(service string) bool {
	switch service {
	case "", "auto", "default", "standard", "standard_only", "on_demand", "unspecified":
		return true
	}
	return false
}

// base is the name of the card that nothing makes another one of.
const base = "base"

// shortened bounds a name that comes from a caller.
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
	case !ordinary(u.ServiceTier):
		name = join(cmp.Or(name, base), "no rate known for service tier "+shortened(u.ServiceTier))
	}
	return cmp.Or(name, base)
}

func thousands(n int64) string {
	if n%1000 == 0 {
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

func or(rate *money.Rate, otherwise money.Rate) money.Rate {
	if rate == nil {
		return otherwise
	}
	return *rate
}
