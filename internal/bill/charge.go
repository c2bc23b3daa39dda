package bill

import (
	"cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// Spent holds the usage and cost of earlier attempts that the client pays for.
type Spent struct {
	Tokens int64 // tokens of interrupted attempts that delivered part of the response
	Cost   money.Amount
}

// Charge holds the usage and cost of a response. Unknown costs are nil.
type Charge struct {
	Usage    llm.Usage
	Attempt  *money.Amount // cost of the last attempt only
	Bill     *catalog.Bill // bill for all attempts that the client pays for
	Baseline *catalog.Bill // bill for the same request at the baseline model
	Flag     requestlog.UsageFlag
}

// Charge computes the cost of a usage. prefilled is the number of input tokens that an earlier attempt delivered as
// output. An attempt is charged at most its hold.
func (t Terms) Charge(target *provider.Target, u llm.Usage, prefilled int64, spent Spent, baseline Baseline) Charge {
	if target.Price != nil && target.Price.Search != nil && target.Price.Search.Always && Generates(t.Request.Op) {
		u.Searches = max(u.Searches, 1)
	}
	c := Charge{Usage: u}
	u.ServiceTier = cmp.Or(u.ServiceTier, t.Request.ServiceTier) // the tier that was served, or the requested one
	if target.Price != nil {
		b := target.Price.At(t.At).Bill(u)
		if t.Held != nil && b.Total > *t.Held {
			// The row shows the operator the part of the cost above the hold, which is not charged.
			b.Rows = append(b.Rows, catalog.Row{Class: "above_hold", Amount: t.Held.Sub(b.Total)})
			b.Total = *t.Held
			c.Flag = requestlog.UsageAboveHold
		}
		c.Attempt = new(b.Total)
		if spent.Tokens != 0 || spent.Cost != 0 {
			b.Rows = append(b.Rows, catalog.Row{Class: "broken_attempts", Tokens: spent.Tokens, Amount: spent.Cost})
		}
		b.Total = b.Total.Add(spent.Cost)
		c.Bill = &b
	}
	if baseline.Price != nil {
		n := min(prefilled, u.Input) // the baseline model would have generated these tokens as output
		u.Input -= n
		u.Output += n
		if t.Request.Op == llm.Chat && target.Model.Name != baseline.Model {
			u = baseline.usage(u)
		}
		price := baseline.Price.At(t.At)
		if u.Searches > 0 && (price.Search == nil || price.Search.Rate == nil) && target.Price != nil {
			// The number of searches is the same for every model. If the search fee of the baseline is unknown, the fee of the target is used.
			same := *price
			same.Search = target.Price.At(t.At).Search
			price = &same
		}
		c.Baseline = new(price.Bill(u))
	}
	return c
}

// CacheSaved returns the amount by which the prompt cache lowers the cost of a usage. It is negative for a response that mostly wrote to
// the cache, and nil when the price is unknown or the usage is an estimate.
func (t Terms) CacheSaved(target *provider.Target, u llm.Usage) *money.Amount {
	if target.Price == nil || u.Estimated {
		return nil
	}
	u.ServiceTier = cmp.Or(u.ServiceTier, t.Request.ServiceTier)
	fresh := u
	fresh.Input, fresh.CacheRead, fresh.CacheWrite, fresh.CacheWriteLong = u.Prompt(), 0, 0, 0
	price := target.Price.At(t.At)
	saved := price.Bill(fresh).Total.Sub(price.Bill(u).Total)
	return &saved
}

// Baseline is the model that the cost of a request is compared with.
type Baseline struct {
	Model string         // name of the baseline model; empty for none
	Price *catalog.Price // price of the baseline model; nil when unknown
	Rules catalog.CacheRule
	Cache *promptcache.View // prefix of the prompt that the baseline would have cached
}

// NewBaseline looks up the price and the cache rules of the baseline model with the given name, which may be empty.
func NewBaseline(snap *route.Snapshot, name string, cache *promptcache.View) Baseline {
	b := Baseline{Model: name, Cache: cache}
	if name == "" {
		return b
	}
	if b.Price = snap.Price(name); b.Price != nil {
		vendor := ""
		if m, ok := snap.Catalog.Model(name); ok {
			vendor = m.Home
		}
		b.Rules = catalog.CacheRuleFor(vendor, name, b.Price)
	}
	return b
}

// usage estimates the baseline's usage for the same tokens. The cached prefix is the prefix that the baseline model
// would have cached, but at least as long as the prefix that the target read from its cache.
func (b Baseline) usage(u llm.Usage) llm.Usage {
	cached := b.Cache.CacheHit(promptcache.Baseline(b.Model), b.Rules).Usage(u.Prompt())
	would := u
	would.CacheRead = max(u.CacheRead, cached.CacheRead)
	would.CacheWrite = min(cached.CacheWrite, u.Prompt()-would.CacheRead)
	would.CacheWriteLong = min(cached.CacheWriteLong, would.CacheWrite)
	would.Input = u.Prompt() - would.CacheRead - would.CacheWrite
	would.AudioInput = min(u.AudioInput, would.Input)
	return would
}

// CacheRules returns the prompt cache rules of a target.
func CacheRules(t *provider.Target) catalog.CacheRule {
	if t.Price == nil {
		return catalog.CacheRule{}
	}
	rules := catalog.CacheRuleFor(t.Vendor, t.Model.Name, t.Price)
	if p := t.Price; t.EndMark && rules.Granularity == catalog.CacheMarks && rules.Writes && *p.CacheRead < p.Input {
		saved := float64(p.Input - *p.CacheRead)
		rules.EndMark, rules.BreakEven = true, float64(*p.CacheWrite-p.Input)/saved
		if p.CacheWriteLong != nil { // nil if the price of cache writes with a long lifetime is unknown
			rules.BreakEvenLong = float64(*p.CacheWriteLong-p.Input) / saved
		}
	}
	return rules
}
