package catalog

import (
	"cmp"
	"time"

	"fairlead/internal/money"
)

// Price is what a provider asks for a model: a card of rates, and what makes another card of it. The zero rate is free;
// a nil cache or audio rate means that such tokens cost as ordinary ones. Bill prices usage with the card as it stands;
// At first chooses the card of a moment.
type Price struct {
	Input          money.Rate   `json:"input"`
	Output         money.Rate   `json:"output"`
	CacheRead      *money.Rate  `json:"cache_read,omitempty"`
	CacheWrite     *money.Rate  `json:"cache_write,omitempty"`
	CacheWriteLong *money.Rate  `json:"cache_write_1h,omitempty"` // kept for an hour; as CacheWrite when nil
	AudioInput     *money.Rate  `json:"audio_input,omitempty"`
	AudioOutput    *money.Rate  `json:"audio_output,omitempty"`
	PerRequest     money.Amount `json:"per_request,omitzero"`
	Tiers          []Tier       `json:"tiers,omitempty"`    // in rising order of Above
	Services       []Service    `json:"services,omitempty"` // service tiers with another price
	Hours          []Hours      `json:"hours,omitempty"`    // times of the week with another price
	Periods        []Period     `json:"periods,omitempty"`  // promotions and former prices: the first that holds wins
	Source         string       `json:"source"`             // where the figures come from: "vendor page", "models.dev", "override", "local"
	AsOf           string       `json:"as_of,omitempty"`    // the day they were read
	Card           string       `json:"card,omitempty"`     // what At has chosen: "off-peak"; empty for the list price
}

// Tier is a dearer card for long prompts: it prices the whole request once the prompt has more than Above tokens.
type Tier struct {
	Above          int64       `json:"above"`
	Input          money.Rate  `json:"input"`
	Output         money.Rate  `json:"output"`
	CacheRead      *money.Rate `json:"cache_read,omitempty"`
	CacheWrite     *money.Rate `json:"cache_write,omitempty"`
	CacheWriteLong *money.Rate `json:"cache_write_1h,omitempty"`
	AudioInput     *money.Rate `json:"audio_input,omitempty"`
	AudioOutput    *money.Rate `json:"audio_output,omitempty"`
}

// Service is a service tier under the name that the provider reports it by. Its factor, in thousandths, multiplies
// every rate, those of tiers for long prompts too, but no fee per request.
type Service struct {
	Name   string `json:"name"`
	Factor int64  `json:"factor"`
}

// Hours are times of the week, in UTC, at which a factor in thousandths multiplies every rate.
type Hours struct {
	Name    string   `json:"name"`
	Factor  int64    `json:"factor"`
	Windows []Window `json:"windows"`
}

// Window is a part of each of some days: from Start until before End, in minutes since midnight.
type Window struct {
	First time.Weekday `json:"first"`
	Last  time.Weekday `json:"last"` // with First > Last the days wrap around the end of the week
	Start int          `json:"start"`
	End   int          `json:"end"`
}

// Period is a time with a price of its own: from From until before Until, where zero leaves that side open. A period
// without a name is a former price.
type Period struct {
	Name  string    `json:"name,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Price Price     `json:"price"`
}

// At returns the card in force at a moment, of the period and hours that it falls into. A price that does not change
// with time is returned as it is.
func (p *Price) At(t time.Time) *Price {
	if len(p.Periods) == 0 && len(p.Hours) == 0 {
		return p
	}
	card := *p.During(t)
	hours := card.Hours
	card.Hours = nil
	for _, one := range hours {
		if one.holds(t) {
			card = card.times(one.Factor)
			card.Card = join(card.Card, one.Name)
			break
		}
	}
	return &card
}

// During returns the card of the period that a moment falls into, whatever the hour.
func (p *Price) During(t time.Time) *Price {
	card, name := *p, p.Card
	for i := range p.Periods {
		if one := &p.Periods[i]; one.Holds(t) {
			card, name = one.Price, one.label()
			break
		}
	}
	card.Periods, card.Card = nil, name
	return &card
}

// Holds reports whether a moment falls into the period.
func (p Period) Holds(t time.Time) bool {
	return (p.From.IsZero() || !t.Before(p.From)) && (p.Until.IsZero() || t.Before(p.Until))
}

// label names a period as a bill shows it, with its last day.
func (p Period) label() string {
	name := cmp.Or(p.Name, "price")
	if p.Until.IsZero() {
		return name
	}
	return name + " until " + p.Until.UTC().Add(-time.Nanosecond).Format(time.DateOnly)
}

func (h Hours) holds(t time.Time) bool {
	t = t.UTC()
	minute := t.Hour()*60 + t.Minute()
	for _, w := range h.Windows {
		if w.on(t.Weekday()) && minute >= w.Start && minute < w.End {
			return true
		}
	}
	return false
}

func (w Window) on(day time.Weekday) bool {
	if w.First <= w.Last {
		return day >= w.First && day <= w.Last
	}
	return day >= w.First || day <= w.Last
}

// times multiplies every rate by a factor in thousandths.
func (p Price) times(factor int64) Price {
	base := p.Base().times(factor)
	p.Input, p.Output, p.CacheRead, p.CacheWrite = base.Input, base.Output, base.CacheRead, base.CacheWrite
	p.CacheWriteLong, p.AudioInput, p.AudioOutput = base.CacheWriteLong, base.AudioInput, base.AudioOutput
	tiers := make([]Tier, 0, len(p.Tiers))
	for _, t := range p.Tiers {
		tiers = append(tiers, t.times(factor))
	}
	p.Tiers = tiers
	return p
}

// Base is the card for prompts of ordinary length.
func (p *Price) Base() Tier {
	return Tier{
		Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, CacheWriteLong: p.CacheWriteLong,
		AudioInput: p.AudioInput, AudioOutput: p.AudioOutput,
	}
}

func (t Tier) times(factor int64) Tier {
	each := func(r *money.Rate) *money.Rate {
		if r == nil {
			return nil
		}
		return new(r.Times(factor))
	}
	t.Input, t.Output = t.Input.Times(factor), t.Output.Times(factor)
	t.CacheRead, t.CacheWrite, t.CacheWriteLong = each(t.CacheRead), each(t.CacheWrite), each(t.CacheWriteLong)
	t.AudioInput, t.AudioOutput = each(t.AudioInput), each(t.AudioOutput)
	return t
}

// Followed returns the next price with this one as its history: from at on the next one holds, before that this one
// and what it already had. What this one had planned for later is dropped.
func (p *Price) Followed(next *Price, at time.Time) *Price {
	after := *next
	after.Periods = nil
	for _, one := range p.Periods {
		if !one.From.IsZero() && !one.From.Before(at) {
			continue
		}
		if one.Until.IsZero() || one.Until.After(at) {
			one.Until = at
		}
		after.Periods = append(after.Periods, one)
	}
	if since := p.since(); since.Before(at) { // else it was planned and never held
		old := *p
		old.Periods, old.Card = nil, ""
		after.Periods = append(after.Periods, Period{From: since, Until: at, Price: old})
	}
	for _, one := range next.Periods { // what the next one plans itself
		if one.Until.IsZero() || one.Until.After(at) {
			if one.From.Before(at) {
				one.From = at
			}
			after.Periods = append(after.Periods, one)
		}
	}
	after.Periods = after.Periods[max(0, len(after.Periods)-mostPeriods):]
	return &after
}

// mostPeriods bounds how much history a price keeps.
const mostPeriods = 100

// since is when the list price began to hold: when the last of the earlier prices ended.
func (p *Price) since() time.Time {
	var last time.Time
	for _, one := range p.Periods {
		if one.Name == "" && one.Until.After(last) {
			last = one.Until
		}
	}
	return last
}

// History lists the prices in the order of time, the list price as a period without an end at the end. Promotions stand
// where they begin.
func (p *Price) History() []Period {
	list := make([]Period, 0, len(p.Periods)+1)
	list = append(list, p.Periods...)
	own := *p
	own.Periods = nil
	return append(list, Period{From: p.since(), Price: own})
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
