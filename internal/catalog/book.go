package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead/internal/llm"
)

// PriceHistory is the prices that were imported or set by hand, which hold over those of the tables. It is kept as one file.
type PriceHistory struct {
	Version  int       `json:"version"`
	Checked  time.Time `json:"checked,omitzero"` // when a price list was last read by itself
	Listings []Listing `json:"listings"`         // by provider, then model
}

// Listing is the price of a model at a provider, and what else a price list said of a model that was new.
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

	Price  *Price   `json:"price,omitempty"`  // with its history; nil once taken back
	Former []Period `json:"former,omitempty"` // the history of a price that was taken back
}

const bookVersion = 1

var (
	errBookVersion = errors.New("the book is of a version that this program does not know")
	errListing     = errors.New("a listing is not well-formed")
)

// ReadPriceHistory parses what Encode writes. Empty text is an empty book.
func ReadPriceHistory(text []byte) (*PriceHistory, error) {
	b := &PriceHistory{Version: bookVersion}
	if len(text) == 0 {
		return b, nil
	}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("read the price book: %w", err)
	}
	if b.Version != bookVersion {
		return nil, fmt.Errorf("read the price book: %w: %d", errBookVersion, b.Version)
	}
	for i := range b.Listings {
		if err := b.Listings[i].check(); err != nil {
			return nil, fmt.Errorf("read the price book, listing %d: %w", i+1, err)
		}
	}
	b.sort()
	return b, nil
}

// check refuses what nobody would have written.
func (l *Listing) check() error {
	if l.Provider == "" || l.Model == "" {
		return fmt.Errorf("%w: it names no provider or no model", errListing)
	}
	if l.Price != nil && !l.Price.wellFormed() {
		return fmt.Errorf("%w: %s at %s has a rate below zero or a factor that is none", errListing, l.Model, l.Provider)
	}
	if slices.ContainsFunc(l.Former, func(p Period) bool { return !p.Price.wellFormed() }) {
		return fmt.Errorf("%w: %s at %s had a rate below zero or a factor that is none", errListing, l.Model, l.Provider)
	}
	return nil
}

// wellFormed reports whether the price, its tiers and its periods can be billed with.
func (p *Price) wellFormed() bool {
	good := p.Base().wellFormed() && p.PerRequest >= 0
	for _, t := range p.Tiers {
		good = good && t.wellFormed()
	}
	for _, s := range p.Services {
		good = good && s.Factor > 0
	}
	for _, h := range p.Hours {
		good = good && h.Factor > 0
	}
	for i := range p.Periods {
		good = good && p.Periods[i].Price.wellFormed()
	}
	return good
}

func (t Tier) wellFormed() bool {
	return t.Input >= 0 && t.Output >= 0 && or(t.CacheRead, 0) >= 0 && or(t.CacheWrite, 0) >= 0 &&
		or(t.CacheWriteLong, 0) >= 0 && or(t.AudioInput, 0) >= 0 && or(t.AudioOutput, 0) >= 0
}

// Encode writes the book as JSON that people can compare line by line.
func (b *PriceHistory) Encode() ([]byte, error) {
	b.sort()
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the price book: %w", err)
	}
	return append(text, '\n'), nil
}

func (b *PriceHistory) sort() {
	slices.SortFunc(b.Listings, func(x, y Listing) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Model, y.Model))
	})
}

// Find returns the listing of a model at a provider, nil when there is none.
func (b *PriceHistory) Find(provider, model string) *Listing {
	i := slices.IndexFunc(b.Listings, func(l Listing) bool { return l.Provider == provider && l.Model == model })
	if i < 0 {
		return nil
	}
	return &b.Listings[i]
}

// Set puts a price into the book from a moment on, which may be past or yet to come. What the catalog, with the book
// applied, asks until then becomes its history.
func (b *PriceHistory) Set(c *Catalog, l Listing, at time.Time) {
	if o, ok := c.Offer(l.Provider, l.Model); ok && o.Price != nil {
		l.Price = o.Price.Followed(l.Price, at)
	} else if known := b.Find(l.Provider, l.Model); known != nil {
		gone := Price{Periods: known.Former}
		next := gone.Followed(l.Price, at)
		next.Periods = slices.DeleteFunc(next.Periods, func(p Period) bool { return p.Price.Source == "" }) // there was none
		l.Price = next
	}
	if known := b.Find(l.Provider, l.Model); known != nil {
		*known = l.over(*known)
		return
	}
	b.Listings = append(b.Listings, l)
	b.sort()
}

// ByHand reports whether somebody set the price, rather than a list that was imported.
func (l *Listing) ByHand() bool { return l.Price != nil && l.Price.Source == OverrideSource }

// over keeps what the new listing does not say again.
func (l Listing) over(known Listing) Listing {
	l.Upstream, l.Needs, l.Op = cmp.Or(l.Upstream, known.Upstream), cmp.Or(l.Needs, known.Needs), cmp.Or(l.Op, known.Op)
	l.Context, l.MaxOutput = cmp.Or(l.Context, known.Context), cmp.Or(l.MaxOutput, known.MaxOutput)
	l.Abilities = cmp.Or(l.Abilities, known.Abilities)
	if len(l.Dimensions) == 0 {
		l.Dimensions = known.Dimensions
	}
	l.Former = nil
	return l
}

// Remove takes a price back from a moment on: the catalog's own holds again, and the history stays. It reports whether
// there was one.
func (b *PriceHistory) Remove(provider, model string, at time.Time) bool {
	l := b.Find(provider, model)
	if l == nil || l.Price == nil {
		return false
	}
	l.Former = l.Price.Followed(&Price{}, at).Periods
	l.Price = nil
	return true
}

// Overrides are what the book changes of the tables. An imported price that is older than the table's own has been
// overtaken by a newer program and is left out; one that was set by hand is not.
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
			continue // nobody asks anything any more
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
