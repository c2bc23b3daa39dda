package importer

import (
	"slices"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/money"
)

// merged is the card that the list makes of the known one. Lists know less than we do: where input and output stay, what
// the list does not mention stays too; service tiers and hours are factors and stay in any case.
func merged(old, listed *catalog.Price, at time.Time) *catalog.Price {
	p := *listed
	p.Tiers = slices.Clone(p.Tiers)
	p.AsOf = at.UTC().Format(time.DateOnly)
	if old == nil {
		return &p
	}
	if len(p.Services) == 0 {
		p.Services = old.Services
	}
	p.Hours = old.Hours
	for _, h := range old.Hours { // a list that tells the price of other hours tells no other price
		if near(p.Input, old.Input.Times(h.Factor)) && near(p.Output, old.Output.Times(h.Factor)) {
			return old
		}
	}
	if !near(p.Input, old.Input) || !near(p.Output, old.Output) {
		return &p
	}
	base := filled(p.Base(), old.Base())
	p.CacheRead, p.CacheWrite, p.CacheWriteLong = base.CacheRead, base.CacheWrite, base.CacheWriteLong
	p.AudioInput, p.AudioOutput = base.AudioInput, base.AudioOutput
	for i, tier := range p.Tiers {
		if i < len(old.Tiers) && old.Tiers[i].Above == tier.Above && near(tier.Input, old.Tiers[i].Input) && near(tier.Output, old.Tiers[i].Output) {
			p.Tiers[i] = filled(tier, old.Tiers[i])
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

// filled takes from the old card what the new one does not state.
func filled(t, old catalog.Tier) catalog.Tier {
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

// same reports whether two cards ask the same. What only one of them has, and costs there what it costs without, is no
// difference.
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
	pairs(a, b, func(x, y money.Rate, _ bool) { alike = alike && near(x, y) })
	return alike
}

// furthest is how many times higher or lower the rate is that differs most, of those that both cards state.
func furthest(a, b *catalog.Price) float64 {
	most := 1.0
	pairs(a, b, func(x, y money.Rate, stated bool) {
		if stated && x > 0 && y > 0 {
			most = max(most, float64(x)/float64(y), float64(y)/float64(x))
		}
	})
	return most
}

// pairs compares the cards rate by rate, in tiers where both have as many. Stated is whether both cards have the rate
// themselves, and not only what is paid where there is none.
func pairs(a, b *catalog.Price, each func(x, y money.Rate, stated bool)) {
	compare := func(x, y catalog.Tier) {
		optional := func(x, y *money.Rate, elseX, elseY money.Rate) {
			each(or(x, elseX), or(y, elseY), x != nil && y != nil)
		}
		each(x.Input, y.Input, true)
		each(x.Output, y.Output, true)
		optional(x.CacheRead, y.CacheRead, x.Input, y.Input)
		optional(x.CacheWrite, y.CacheWrite, x.Input, y.Input)
		optional(x.CacheWriteLong, y.CacheWriteLong, or(x.CacheWrite, x.Input), or(y.CacheWrite, y.Input))
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

func or(rate *money.Rate, otherwise money.Rate) money.Rate {
	if rate == nil {
		return otherwise
	}
	return *rate
}

// near allows for what a list loses when it writes prices for one token.
func near(a, b money.Rate) bool { return max(a, b)-min(a, b) <= max(a, b)/1000 }
