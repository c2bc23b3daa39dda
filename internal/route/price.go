package route

import (
	"math"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/provider"
)

// currentPrice is the price of a target at a point in time, with the rates of its first price tier.
type currentPrice struct {
	price     *catalog.Price // price of the target; nil if unknown
	rates     catalog.Rates
	maxPrompt int64 // maximum prompt length in tokens for which the rates apply
}

func newCurrentPrice(t *provider.Target, at time.Time) currentPrice {
	if t.Price == nil {
		return currentPrice{}
	}
	price := t.Price.At(at)
	c := currentPrice{price: price, maxPrompt: math.MaxInt64}
	for i := range price.Tiers {
		c.maxPrompt = min(c.maxPrompt, price.Tiers[i].Above)
	}
	c.rates = price.Rates(c.maxPrompt, "")
	return c
}

// ratesFor returns the rates for a prompt with the given number of tokens.
func (c *currentPrice) ratesFor(prompt int64) *catalog.Rates {
	if prompt <= c.maxPrompt {
		return &c.rates
	}
	rates := c.price.Rates(prompt, "")
	return &rates
}

// pricesAtTime caches the prices of all targets for the latest time. Most requests within a second share the same time.
type pricesAtTime struct {
	at   time.Time
	list []currentPrice
}

// pricesAt returns the prices at the given time, by target index. The caller must not modify them.
func (s *Snapshot) pricesAt(at time.Time) []currentPrice {
	if latest := s.prices.Load(); latest != nil && latest.at.Equal(at) {
		return latest.list
	}
	fresh := &pricesAtTime{at: at, list: make([]currentPrice, len(s.entries))}
	for i := range s.entries {
		fresh.list[i] = newCurrentPrice(s.entries[i].target, at)
	}
	s.prices.Store(fresh)
	return fresh.list
}
