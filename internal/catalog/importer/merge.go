package importer

import (
	"slices"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
)

// merge combines the listed price with the known one. Lists have less detail than the catalog: if the input and output
// rates are unchanged, rates missing from the list are kept. Hours are always kept, and the service tiers and the search
// fee are kept if the list has none.
func merge(old, listed *catalog.Price, at time.Time) *catalog.Price {
	p := *listed
	p.Tiers = slices.Clone(p.Tiers)
	p.AsOf = at.UTC().Format(time.DateOnly)
	if old == nil {
		return &p
	}
	if p.Search == nil {
		p.Search = old.Search
	}
	if len(p.Services) == 0 {
		p.Services = old.Services
	}
	p.Hours = old.Hours
	for _, h := range old.Hours { // a list may contain the price that applies during these hours, which is not a new price
		if nearlyEqual(p.Input, old.Input.Times(h.Factor)) && nearlyEqual(p.Output, old.Output.Times(h.Factor)) {
			return old
		}
	}
	if !nearlyEqual(p.Input, old.Input) || !nearlyEqual(p.Output, old.Output) {
		return &p
	}
	base := fillMissing(p.Base(), old.Base())
	p.CacheRead, p.CacheWrite, p.CacheWriteLong = base.CacheRead, base.CacheWrite, base.CacheWriteLong
	p.AudioInput, p.AudioOutput = base.AudioInput, base.AudioOutput
	for i, tier := range p.Tiers {
		if i < len(old.Tiers) && old.Tiers[i].Above == tier.Above && nearlyEqual(tier.Input, old.Tiers[i].Input) && nearlyEqual(tier.Output, old.Tiers[i].Output) {
			p.Tiers[i] = fillMissing(tier, old.Tiers[i])
		}
	}
	if len(p.Tiers) == 0 {
		p.Tiers = old.Tiers
	}
	if p.PerRequest == 0 {
		p.PerRequest = old.PerRequest
	}
	return &p
}

// fillMissing returns t with missing rates taken from old.
func fillMissing(t, old catalog.Tier) catalog.Tier {
	for _, one := range []struct{ to, from **money.Rate }{
		{&t.CacheRead, &old.CacheRead},
		{&t.CacheWrite, &old.CacheWrite},
		{&t.CacheWriteLong, &old.CacheWriteLong},
		{&t.AudioInput, &old.AudioInput},
		{&t.AudioOutput, &old.AudioOutput},
	} {
		if *one.to == nil {
			*one.to = *one.from
		}
	}
	return t
}

// same reports whether two prices have the same token rates, tiers and fee per request. It does not compare service tiers, hours and
// search fees. A rate that only one price has is not a difference if it equals the default rate.
func same(a, b *catalog.Price) bool {
	if len(a.Tiers) != len(b.Tiers) || a.PerRequest != b.PerRequest {
		return false
	}
	for i := range a.Tiers {
		if a.Tiers[i].Above != b.Tiers[i].Above {
			return false
		}
	}
	alike := true
	pairs(a, b, func(x, y money.Rate, _ bool) { alike = alike && nearlyEqual(x, y) })
	return alike
}

// largestFactor returns the largest ratio between corresponding rates of two prices. It compares only rates that both prices state.
func largestFactor(a, b *catalog.Price) float64 {
	largest := 1.0
	pairs(a, b, func(x, y money.Rate, stated bool) {
		if stated && x > 0 && y > 0 {
			largest = max(largest, float64(x)/float64(y), float64(y)/float64(x))
		}
	})
	return largest
}

// pairs calls each(x, y, stated) with all corresponding rates x and y of two prices. It includes the tiers if both prices have the same
// number of tiers. stated is true when both prices state the rate explicitly instead of using a default.
func pairs(a, b *catalog.Price, each func(x, y money.Rate, stated bool)) {
	compare := func(x, y catalog.Tier) {
		optional := func(x, y *money.Rate, elseX, elseY money.Rate) {
			each(rateOr(x, elseX), rateOr(y, elseY), x != nil && y != nil)
		}
		each(x.Input, y.Input, true)
		each(x.Output, y.Output, true)
		optional(x.CacheRead, y.CacheRead, x.Input, y.Input)
		optional(x.CacheWrite, y.CacheWrite, x.Input, y.Input)
		optional(x.CacheWriteLong, y.CacheWriteLong, rateOr(x.CacheWrite, x.Input), rateOr(y.CacheWrite, y.Input))
		optional(x.AudioInput, y.AudioInput, x.Input, y.Input)
		optional(x.AudioOutput, y.AudioOutput, x.Output, y.Output)
	}
	compare(a.Base(), b.Base())
	if len(a.Tiers) == len(b.Tiers) {
		for i := range a.Tiers {
			compare(a.Tiers[i], b.Tiers[i])
		}
	}
}

func rateOr(rate *money.Rate, otherwise money.Rate) money.Rate {
	if rate == nil {
		return otherwise
	}
	return *rate
}

// nearlyEqual compares rates with a tolerance for rounding in lists that give prices per token.
func nearlyEqual(a, b money.Rate) bool { return max(a, b)-min(a, b) <= max(a, b)/1000 }
