package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
)

// PriceHistory holds the prices that were imported or set manually. They take precedence over the embedded tables. The
// history is stored as one file.
type PriceHistory struct {
	Version  int       `json:"version"`
	Checked  time.Time `json:"checked,omitzero"` // time of the last automatic import
	Listings []Listing `json:"listings"`         // prices sorted by provider, then model
	// Pending holds the listed prices that change so much that an owner must accept them.
	Pending []PendingPrice `json:"pending,omitempty"`
}

// PendingPrice is a listed price that waits for a decision or was declined.
type PendingPrice struct {
	Listing
	Old      *Price    `json:"old,omitempty"` // price at the time of the import; nil if there was none
	Factor   float64   `json:"factor"`        // largest factor by which a rate changes
	Found    time.Time `json:"found"`
	Declined bool      `json:"declined,omitempty"`
}

// Decide accepts or declines a pending price and reports whether it exists. c is the catalog with the overrides of b.
func (b *PriceHistory) Decide(c *Catalog, provider, model string, accept bool, at time.Time) bool {
	i := slices.IndexFunc(b.Pending, func(p PendingPrice) bool { return p.Provider == provider && p.Model == model })
	switch {
	case i < 0:
		return false
	case accept:
		b.Set(c, b.Pending[i].Listing, at)
		b.Pending = slices.Delete(b.Pending, i, i+1)
	default:
		b.Pending[i].Declined = true
	}
	return true
}

// Listing is the price of a model at a provider, with facts about the model if it was added by a price list.
type Listing struct {
	Provider   string         `json:"provider"`
	Model      string         `json:"model"`
	Upstream   string         `json:"upstream,omitempty"`
	Needs      string         `json:"needs,omitempty"`
	Op         llm.Op         `json:"op,omitempty"`
	Context    int64          `json:"context,omitempty"`
	MaxOutput  int64          `json:"max_output,omitempty"`
	Abilities  *llm.Abilities `json:"abilities,omitempty"`
	Dimensions []int64        `json:"dimensions,omitempty"`

	Price  *Price   `json:"price,omitempty"`  // current price with its history; nil after removal
	Former []Period `json:"former,omitempty"` // history of a removed price
}

const historyVersion = 1

// ReadPriceHistory parses the output of Encode. Empty input is an empty history.
func ReadPriceHistory(text []byte) (*PriceHistory, error) {
	b := &PriceHistory{Version: historyVersion}
	if len(text) == 0 {
		return b, nil
	}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("decode price history: %w", err)
	}
	if b.Version != historyVersion {
		return nil, fmt.Errorf("decode price history: unsupported version %d", b.Version)
	}
	for i := range b.Listings {
		if err := b.Listings[i].validate(); err != nil {
			return nil, fmt.Errorf("decode price history: listing %d: %w", i+1, err)
		}
	}
	for i := range b.Pending {
		if err := b.Pending[i].validate(); err != nil || b.Pending[i].Price == nil {
			return nil, fmt.Errorf("decode price history: pending price %d: %w", i+1, cmp.Or(err, errors.New("missing price")))
		}
	}
	b.sort()
	return b, nil
}

// validate rejects listings that cannot be used for billing.
func (l *Listing) validate() error {
	if l.Provider == "" || l.Model == "" {
		return errors.New("invalid listing: missing provider or model")
	}
	if l.Price != nil && !l.Price.wellFormed() {
		return fmt.Errorf("invalid listing: %s at %s has a negative rate or an invalid factor", l.Model, l.Provider)
	}
	if slices.ContainsFunc(l.Former, func(p Period) bool { return !p.Price.wellFormed() }) {
		return fmt.Errorf("invalid listing: %s at %s has a negative rate or an invalid factor in its history", l.Model, l.Provider)
	}
	return nil
}

// wellFormed reports whether the price, its tiers and its periods can be used for billing.
func (p *Price) wellFormed() bool {
	valid := p.Base().wellFormed() && p.PerRequest >= 0 && (!p.Search.known() || *p.Search.Rate >= 0)
	for _, t := range p.Tiers {
		valid = valid && t.wellFormed()
	}
	for _, s := range p.Services {
		valid = valid && s.Factor > 0
	}
	for _, h := range p.Hours {
		valid = valid && h.Factor > 0
	}
	for i := range p.Periods {
		valid = valid && p.Periods[i].Price.wellFormed()
	}
	return valid
}

func (t Tier) wellFormed() bool {
	return t.Input >= 0 && t.Output >= 0 && rateOr(t.CacheRead, 0) >= 0 && rateOr(t.CacheWrite, 0) >= 0 &&
		rateOr(t.CacheWriteLong, 0) >= 0 && rateOr(t.AudioInput, 0) >= 0 && rateOr(t.AudioOutput, 0) >= 0
}

// Encode returns the history as indented JSON, suitable for line-by-line comparison.
func (b *PriceHistory) Encode() ([]byte, error) {
	b.sort()
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode price history: %w", err)
	}
	return append(text, '\n'), nil
}

func (b *PriceHistory) sort() {
	slices.SortFunc(b.Listings, func(x, y Listing) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Model, y.Model))
	})
}

// Find returns the listing of a model at a provider, or nil.
func (b *PriceHistory) Find(provider, model string) *Listing {
	i := slices.IndexFunc(b.Listings, func(l Listing) bool { return l.Provider == provider && l.Model == model })
	if i < 0 {
		return nil
	}
	return &b.Listings[i]
}

// Set sets a price that applies from the given time, which may be in the past or future. The price that the listing has in c is kept as
// history. The overrides of b must already be applied to c.
func (b *PriceHistory) Set(c *Catalog, l Listing, at time.Time) {
	if o, ok := c.Offer(l.Provider, l.Model); ok && o.Price != nil {
		l.Price = o.Price.FollowedBy(l.Price, at)
	} else if known := b.Find(l.Provider, l.Model); known != nil {
		gone := Price{Periods: known.Former}
		next := gone.FollowedBy(l.Price, at)
		next.Periods = slices.DeleteFunc(next.Periods, func(p Period) bool { return p.Price.Source == "" }) // drop periods without a price
		l.Price = next
	}
	if known := b.Find(l.Provider, l.Model); known != nil {
		l.Upstream, l.Needs, l.Op = cmp.Or(l.Upstream, known.Upstream), cmp.Or(l.Needs, known.Needs), cmp.Or(l.Op, known.Op)
		l.Context, l.MaxOutput = cmp.Or(l.Context, known.Context), cmp.Or(l.MaxOutput, known.MaxOutput)
		l.Abilities = cmp.Or(l.Abilities, known.Abilities)
		if len(l.Dimensions) == 0 {
			l.Dimensions = known.Dimensions
		}
		l.Former = nil
		*known = l
		return
	}
	b.Listings = append(b.Listings, l)
	b.sort()
}

// Manual reports whether the price was set manually rather than imported.
func (l *Listing) Manual() bool { return l.Price != nil && l.Price.Source == OverrideSource }

// Remove removes a price from the given time on. The built-in price then applies again, and the history is kept. Remove reports whether a
// price was removed.
func (b *PriceHistory) Remove(provider, model string, at time.Time) bool {
	l := b.Find(provider, model)
	if l == nil || l.Price == nil {
		return false
	}
	l.Former = l.Price.FollowedBy(&Price{}, at).Periods
	l.Price = nil
	return true
}

// Overrides returns the overrides that apply the history to the tables. An imported price that is older than the
// table's price is omitted, because a newer release supersedes it. A manual price is always included.
func (b *PriceHistory) Overrides(tables *Catalog) Overrides {
	own := map[string]*Price{}
	for _, o := range tables.offers {
		own[o.Provider+"/"+o.Model] = o.Price
	}
	var list Overrides
	for i := range b.Listings {
		l := &b.Listings[i]
		known := own[l.Provider+"/"+l.Model]
		price := l.Price
		switch {
		case price == nil && known == nil:
			continue // the price was removed
		case price == nil:
			back := *known
			back.Periods = slices.Concat(l.Former, known.Periods)
			price = &back
		case price.Source != OverrideSource && known != nil && known.AsOf > price.AsOf:
			continue
		}
		list = append(list, Override{
			Model: l.Model, Provider: l.Provider, Upstream: l.Upstream, Needs: l.Needs, Op: l.Op, Context: l.Context,
			MaxOutput: l.MaxOutput, Abilities: l.Abilities, Dimensions: l.Dimensions, Price: price,
		})
	}
	return list
}
