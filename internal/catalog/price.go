package catalog

import (
	"cmp"
	"time"

	"fairlead.dev/internal/money"
)

// Price is the price of a model at a provider: base rates and the conditions that change them. A zero rate means free;
// a nil cache or audio rate means the standard rate. Bill applies the price as is; call At first to select the price at
// a given time.
type Price struct {
	Input          money.Rate   `json:"input"`
	Output         money.Rate   `json:"output"`
	CacheRead      *money.Rate  `json:"cache_read,omitempty"`
	CacheWrite     *money.Rate  `json:"cache_write,omitempty"`
	CacheWriteLong *money.Rate  `json:"cache_write_1h,omitempty"` // rate for tokens cached for an hour; defaults to CacheWrite
	AudioInput     *money.Rate  `json:"audio_input,omitempty"`
	AudioOutput    *money.Rate  `json:"audio_output,omitempty"`
	PerRequest     money.Amount `json:"per_request,omitzero"`
	Search         *SearchFee   `json:"search,omitempty"`   // fee for web searches; nil if unknown
	Tiers          []Tier       `json:"tiers,omitempty"`    // prices for long prompts, in ascending order of Above
	Services       []Service    `json:"services,omitempty"` // service tiers with another price
	Hours          []Hours      `json:"hours,omitempty"`    // times of the week with another price
	Periods        []Period     `json:"periods,omitempty"`  // promotions and former prices; the first match applies
	Source         string       `json:"source"`             // source of the figures: "vendor page", "models.dev", "override", "local"
	AsOf           string       `json:"as_of,omitempty"`    // date the figures were read
	Card           string       `json:"card,omitempty"`     // variant selected by At, such as "off-peak"; empty for the list price
}

// Tier is a more expensive price for long prompts. It applies to the whole request if the prompt has more than Above
// tokens.
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

// Service is a service tier under the name that the provider reports. Its factor, in thousandths, multiplies every
// rate, including tier rates, but not the fee per request.
type Service struct {
	Name   string `json:"name"`
	Factor int64  `json:"factor"`
}

// Hours are times of the week, in UTC, during which every rate is multiplied by a factor, given in thousandths.
type Hours struct {
	Name    string   `json:"name"`
	Factor  int64    `json:"factor"`
	Windows []Window `json:"windows"`
}

// Window is a time range on consecutive days of the week, from Start (inclusive) to End (exclusive) in minutes since
// midnight.
type Window struct {
	First time.Weekday `json:"first"`
	Last  time.Weekday `json:"last"` // last day, inclusive; if First > Last, the range wraps around the end of the week
	Start int          `json:"start"`
	End   int          `json:"end"`
}

// Period is a time range with its own price, from From (inclusive) to Until (exclusive). A period with a zero From has no
// start, and a period with a zero Until has no end. A period without a name is a former price.
type Period struct {
	Name  string    `json:"name,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Price Price     `json:"price"`
}

// At returns the price at time t, considering periods and hours. A price that does not depend on time is returned
// unchanged.
func (p *Price) At(t time.Time) *Price {
	if len(p.Periods) == 0 && len(p.Hours) == 0 {
		return p
	}
	card := *p.During(t)
	hours := card.Hours
	card.Hours = nil
	for _, one := range hours {
		if one.contains(t) {
			card = card.scale(one.Factor)
			card.Card = join(card.Card, one.Name)
			break
		}
	}
	return &card
}

// During returns the price of the period that contains t, regardless of the hour.
func (p *Price) During(t time.Time) *Price {
	card, name := *p, p.Card
	for i := range p.Periods {
		if one := &p.Periods[i]; one.Contains(t) {
			card, name = one.Price, cmp.Or(one.Name, "price")
			if !one.Until.IsZero() {
				name += " until " + one.Until.UTC().Add(-time.Nanosecond).Format(time.DateOnly) // the label contains the last day, not the exclusive end
			}
			break
		}
	}
	card.Periods, card.Card = nil, name
	card.Search = cmp.Or(card.Search, p.Search)
	return &card
}

// Contains reports whether t is in the period.
func (p Period) Contains(t time.Time) bool {
	return (p.From.IsZero() || !t.Before(p.From)) && (p.Until.IsZero() || t.Before(p.Until))
}

func (h Hours) contains(t time.Time) bool {
	t = t.UTC()
	minute := t.Hour()*60 + t.Minute()
	for _, w := range h.Windows {
		if w.covers(t.Weekday()) && minute >= w.Start && minute < w.End {
			return true
		}
	}
	return false
}

func (w Window) covers(day time.Weekday) bool {
	if w.First <= w.Last {
		return day >= w.First && day <= w.Last
	}
	return day >= w.First || day <= w.Last
}

// scale multiplies every rate by a factor in thousandths.
func (p Price) scale(factor int64) Price {
	base := p.Base().scale(factor)
	p.Input, p.Output, p.CacheRead, p.CacheWrite = base.Input, base.Output, base.CacheRead, base.CacheWrite
	p.CacheWriteLong, p.AudioInput, p.AudioOutput = base.CacheWriteLong, base.AudioInput, base.AudioOutput
	tiers := make([]Tier, 0, len(p.Tiers))
	for _, t := range p.Tiers {
		tiers = append(tiers, t.scale(factor))
	}
	p.Tiers = tiers
	return p
}

// Base returns the rates for prompts below the first tier.
func (p *Price) Base() Tier {
	return Tier{
		Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, CacheWriteLong: p.CacheWriteLong,
		AudioInput: p.AudioInput, AudioOutput: p.AudioOutput,
	}
}

func (t Tier) scale(factor int64) Tier {
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

// FollowedBy returns a copy of next that applies from the given time. The copy's history consists of p and the history of p, which apply
// before that time. Future periods of p are dropped.
func (p *Price) FollowedBy(next *Price, at time.Time) *Price {
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
	if since := p.since(); since.Before(at) { // a price that never became active is not added to the history
		old := *p
		old.Periods, old.Card = nil, ""
		after.Periods = append(after.Periods, Period{From: since, Until: at, Price: old})
	}
	for _, one := range next.Periods { // keep the periods of next that end after the given time
		if one.Until.IsZero() || one.Until.After(at) {
			if one.From.Before(at) {
				one.From = at
			}
			after.Periods = append(after.Periods, one)
		}
	}
	after.Periods = after.Periods[max(0, len(after.Periods)-maxPeriods):]
	return &after
}

// maxPeriods limits the history of a price.
const maxPeriods = 100

// since returns the time when the list price became active, which is the end of the last former price.
func (p *Price) since() time.Time {
	var last time.Time
	for _, one := range p.Periods {
		if one.Name == "" && one.Until.After(last) {
			last = one.Until
		}
	}
	return last
}

// History lists the prices in chronological order, ending with the list price as a period without an end. Promotions
// are sorted by their start.
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
