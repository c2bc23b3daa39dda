package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// State is the result of comparing a price-list row with the catalog.
type State string

// States of a change. Only new and changed prices are applied.
const (
	New      State = "new"      // the catalog has no price
	Changed  State = "changed"  // the catalog has a different price
	Rejected State = "rejected" // the price is implausible; Reason describes the problem
	Kept     State = "kept"     // the price was set manually and is not changed
)

// maxFactor is the factor at or above which a rate change is rejected.
const maxFactor = 5

// Options control which changes are accepted.
type Options struct {
	At      time.Time            // time at which the list was read
	Offered func(id string) bool // whether a connected account offers a model that is not in the catalog; nil for none
}

// Change describes a difference between a price list and the catalog.
type Change struct {
	State    State
	Provider string
	Model    string
	Old      *catalog.Price // current price; nil if there is none
	New      *catalog.Price // resulting price; nil if the list has none
	Factor   float64        // largest factor by which a rate changes from the old price or else the model's list price; 0 if there is neither
	Reason   string         // reason why a price was rejected or kept; otherwise empty
	Pending  bool           // whether the price was rejected only because it changes by maxFactor or more

	row      Row
	upstream string // model name that the provider uses for a new offer
	newModel bool
}

// Diff holds the changes that a price list would make to the catalog.
type Diff struct {
	Changes   []Change // changes sorted by provider, then model
	Unchanged int
	Unknown   int // number of skipped rows, such as aliases and models that are not in the catalog
}

// Count returns the number of changes in the given state.
func (d Diff) Count(s State) int {
	n := 0
	for _, c := range d.Changes {
		if c.State == s {
			n++
		}
	}
	return n
}

// Compare returns the changes that the rows of a list would make to the catalog.
func Compare(rows []Row, c *catalog.Catalog, o Options) Diff {
	m := comparison{catalog: c, options: o, offers: map[string]catalog.Offer{}, taken: map[string]bool{}}
	for _, offer := range c.AllOffers() {
		m.offers[key(offer.Provider, offer.Upstream)] = offer
		m.taken[key(offer.Provider, offer.Model)] = true
	}
	for i, row := range rows {
		if i > 0 && key(rows[i-1].Provider, rows[i-1].ID) == key(row.Provider, row.ID) {
			continue // duplicate row: keep the first
		}
		m.add(row)
	}
	slices.SortStableFunc(m.diff.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return m.diff
}

type comparison struct {
	catalog *catalog.Catalog
	options Options
	offers  map[string]catalog.Offer // offers by provider and upstream name
	taken   map[string]bool          // provider and model of every offer
	diff    Diff
}

func key(provider, name string) string { return provider + "\x00" + strings.ToLower(name) }

// add matches the row with an offer by its upstream name, or with a model of exactly the same name that the provider
// does not offer yet. Names that match in other ways, such as aliases and dated IDs, may have another price and are
// skipped.
func (m *comparison) add(row Row) {
	if offer, ok := m.offers[key(row.Provider, row.ID)]; ok {
		m.compare(row, offer.Model, "", offer.Price)
		return
	}
	name := strings.ToLower(row.ID[strings.LastIndexByte(row.ID, '/')+1:])
	model, known := m.catalog.Model(name)
	switch {
	case known && model.Name != name:
		m.diff.Unknown++ // an alias or a snapshot
	case known && m.taken[key(row.Provider, name)]:
		m.diff.Unknown++ // a different name for the same model, such as a regional one
	case known && model.Op == row.Op:
		m.taken[key(row.Provider, name)] = true
		m.compare(row, model.Name, row.ID, nil)
	case known, m.options.Offered == nil || !m.options.Offered(row.ID), row.Deprecated, name == "", row.Op == llm.Embed && len(row.Dimensions) == 0:
		m.diff.Unknown++
	case m.taken[key(row.Provider, name)]:
		m.diff.Unknown++
	default:
		m.taken[key(row.Provider, name)] = true
		change := Change{Provider: row.Provider, Model: name, row: row, newModel: true}
		if row.Price != nil {
			change.New = merge(nil, row.Price, m.options.At)
		}
		m.classify(&change, nil)
		if change.State == Rejected {
			m.diff.Unknown++ // the list contains no usable price
			return
		}
		m.diff.Changes = append(m.diff.Changes, change)
	}
}

// compare compares a listed price with the catalog price of a known model.
func (m *comparison) compare(row Row, model, upstream string, known *catalog.Price) {
	if entry, ok := m.catalog.Model(model); ok {
		row.Op = entry.Op // lists often give the wrong operation for embedding models
	}
	change := Change{Provider: row.Provider, Model: model, upstream: upstream, row: row}
	if known != nil {
		change.Old = known.During(m.options.At)
	}
	if row.Price != nil {
		change.New = merge(change.Old, row.Price, m.options.At)
	}
	if row.Op == llm.Embed && change.New != nil {
		change.New.Output = 0
	}
	if change.Old == nil && change.New == nil || change.Old != nil && change.New != nil && same(change.Old, change.New) {
		m.diff.Unchanged++
		return
	}
	reference := change.Old
	if list := m.catalog.ListPrice(model); reference == nil && list != nil {
		reference = list.During(m.options.At)
	}
	m.classify(&change, reference)
	m.diff.Changes = append(m.diff.Changes, change)
}

func (m *comparison) classify(c *Change, reference *catalog.Price) {
	c.State = New
	if c.Old != nil {
		c.State = Changed
	}
	if c.New != nil && c.New.Input > 0 && reference != nil {
		c.Factor = largestFactor(reference, c.New)
	}
	switch why := implausible(c.row.Op, c.New); {
	case c.Old != nil && c.Old.Source == catalog.OverrideSource:
		c.State, c.Reason = Kept, "set manually"
	case why != "":
		c.State, c.Reason = Rejected, why
	case c.Factor >= maxFactor:
		c.State, c.Pending, c.Reason = Rejected, true, fmt.Sprintf("changes by a factor of %.3g", c.Factor)
	}
}

// implausible returns the reason why a price must be wrong, or "".
func implausible(op llm.Op, p *catalog.Price) string {
	switch {
	case p == nil:
		return "no price"
	case p.Input == 0 || (op == llm.Chat && p.Output == 0):
		return "price is zero"
	case p.CacheRead != nil && *p.CacheRead > p.Input:
		return "cached input costs more than input"
	case rateOr(p.CacheWrite, 0) > 4*p.Input, rateOr(p.CacheWriteLong, 0) > 4*p.Input:
		return "cache writes cost far more than input"
	case op == llm.Chat && p.Output < p.Input/4:
		return "output costs much less than input"
	}
	return ""
}

// Apply adds the accepted changes to the price history, and replaces its pending changes. c is the catalog with which the list was compared.
func (d Diff) Apply(b *catalog.PriceHistory, c *catalog.Catalog, at time.Time) {
	earlier := b.Pending
	b.Pending = nil
	for i := range d.Changes {
		change := &d.Changes[i]
		if !change.Pending {
			continue
		}
		p := catalog.PendingPrice{
			Listing: catalog.Listing{Provider: change.Provider, Model: change.Model, Upstream: change.upstream, Price: change.New}, Old: change.Old, Factor: change.Factor, Found: at,
		}
		for _, known := range earlier { // a declined price stays declined until the list changes it
			if known.Provider == p.Provider && known.Model == p.Model && same(known.Price, p.Price) {
				p.Found, p.Declined = known.Found, known.Declined
			}
		}
		b.Pending = append(b.Pending, p)
	}
	for _, change := range d.Changes {
		if change.State != New && change.State != Changed {
			continue
		}
		l := catalog.Listing{Provider: change.Provider, Model: change.Model, Upstream: change.upstream, Price: change.New}
		if change.newModel {
			row := change.row
			l.Upstream, l.Needs, l.Op, l.Context, l.MaxOutput, l.Dimensions = row.ID, row.Needs, row.Op, row.Context, row.MaxOutput, row.Dimensions
			if l.Context > 0 {
				l.MaxOutput = min(l.MaxOutput, l.Context)
			}
			l.Abilities = &row.Abilities
		}
		b.Set(c, l, at)
	}
}
