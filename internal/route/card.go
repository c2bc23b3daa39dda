package route

import (
	"math"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/provider"
)

// card is the price of a target that is in force at a moment. The rates for prompts of ordinary length are kept with it.
type card struct {
	price *catalog.Price // nil when unknown
	rates catalog.Rates
	upTo  int64 // the longest prompt that the rates are for
}

func newCard(t *provider.Target, at time.Time) card {
	if t.Price == nil {
		return card{}
	}
	price := t.Price.At(at)
	c := card{price: price, upTo: math.MaxInt64}
	for i := range price.Tiers {
		c.upTo = min(c.upTo, price.Tiers[i].Above)
	}
	c.rates = price.Rates(c.upTo, "")
	return c
}

// ratesFor are the rates for a prompt of this many tokens.
func (c *card) ratesFor(prompt int64) *catalog.Rates {
	if prompt <= c.upTo {
		return &c.rates
	}
	rates := c.price.Rates(prompt, "")
	return &rates
}

// cards are the prices in force at a moment, by place of the target. Those of the latest moment asked for are kept: most
// requests of a second need the same.
type cards struct {
	at   time.Time
	list []card
}

// cardsAt returns the prices in force at a moment. Nobody changes what it returns.
func (s *Snapshot) cardsAt(at time.Time) []card {
	if latest := s.cards.Load(); latest != nil && latest.at.Equal(at) {
		return latest.list
	}
	fresh := &cards{at: at, list: make([]card, len(s.seats))}
	for i := range s.seats {
		fresh.list[i] = newCard(s.seats[i].target, at)
	}
	s.cards.Store(fresh)
	return fresh.list
}
