package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
)

// State says what becomes of a row of a price list.
type State string

// The states of a change. New and changed prices are accepted.
const (
	New     State = "new"     // the catalog had no price
	Changed State = "changed" // it had another one
	Refused State = "refused" // it is not to be trusted; the reason says why
	Kept    State = "kept"    // somebody set the price by hand, and that stays
)

// jump is how many times dearer or cheaper a price may become without being asked about.
const jump = 5

// Options say what is accepted.
type Options struct {
	At        time.Time // when the list was read
	Jumps     bool      // also prices that become five times as high or low
	NewModels bool      // also models that the catalog does not know
}

// Change is one price that the list has and the catalog has not.
type Change struct {
	State    State
	Provider string
	Model    string
	Old      *catalog.Price // the card in force; nil when there was none
	New      *catalog.Price // the card it would become; nil when the list has none
	Factor   float64        // how many times higher or lower the rate is that changes most; 0 without an old one
	Reason   string         // for those refused and kept

	row      Row
	upstream string // of an offer that is new
	newModel bool
}

// Diff is what a list would change.
type Diff struct {
	Source    string
	Changes   []Change // by provider, then model
	Unchanged int
	Unknown   int // models that the catalog does not know, left out
}

// Count is how many changes have the state.
func (d Diff) Count(s State) int {
	n := 0
	for _, c := range d.Changes {
		if c.State == s {
			n++
		}
	}
	return n
}

// Compare says what the rows of a list would change in the catalog.
func Compare(source string, rows []Row, c *catalog.Catalog, o Options) Diff {
	m := comparison{catalog: c, options: o, offers: map[string]catalog.Offer{}, taken: map[string]bool{}}
	m.diff.Source = source
	for _, offer := range c.AllOffers() {
		m.offers[key(offer.Provider, offer.Upstream)] = offer
		m.taken[key(offer.Provider, offer.Model)] = true
	}
	for i, row := range rows {
		if i > 0 && key(rows[i-1].Provider, rows[i-1].ID) == key(row.Provider, row.ID) {
			continue // listed twice: the first is as good as the second
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
	offers  map[string]catalog.Offer // by provider and the provider's own name of the model
	taken   map[string]bool          // provider and model of every offer
	diff    Diff
}

func key(provider, name string) string { return provider + "\x00" + strings.ToLower(name) }

// add finds what the row is about: an offer under the provider's own name, else a model of exactly this name that the
// provider did not offer yet. Names that lead to a model in another way, as aliases and dated ids do, may be priced
// otherwise, so they never price it.
func (m *comparison) add(row Row) {
	if offer, ok := m.offers[key(row.Provider, row.ID)]; ok {
		m.compare(row, offer.Model, "", offer.Price)
		return
	}
	name := strings.ToLower(row.ID[strings.LastIndexByte(row.ID, '/')+1:])
	model, known := m.catalog.Model(name)
	switch {
	case known && model.Name != name:
		m.diff.Unknown++ // an alias, or a snapshot of its own
	case known && m.taken[key(row.Provider, name)]:
		m.diff.Unknown++ // the same model in another way, such as through a region
	case known && model.Op == row.Op:
		m.taken[key(row.Provider, name)] = true
		m.compare(row, model.Name, row.ID, nil)
	case known, !m.options.NewModels, row.Deprecated, name == "", row.Op == llm.Embed && len(row.Dimensions) == 0:
		m.diff.Unknown++
	case m.taken[key(row.Provider, name)]:
		m.diff.Unknown++
	default:
		m.taken[key(row.Provider, name)] = true
		m.introduce(row, name)
	}
}

// compare judges the price of a model that is known.
func (m *comparison) compare(row Row, model, upstream string, known *catalog.Price) {
	if of, ok := m.catalog.Model(model); ok {
		row.Op = of.Op // lists guess what embeds
	}
	change := Change{Provider: row.Provider, Model: model, upstream: upstream, row: row}
	if known != nil {
		change.Old = known.During(m.options.At)
	}
	if row.Price != nil {
		change.New = merged(change.Old, row.Price, m.options.At)
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
	m.judge(&change, reference)
	m.diff.Changes = append(m.diff.Changes, change)
}

// introduce judges the price of a model that is new.
func (m *comparison) introduce(row Row, name string) {
	change := Change{Provider: row.Provider, Model: name, row: row, newModel: true}
	if row.Price != nil {
		change.New = merged(nil, row.Price, m.options.At)
	}
	m.judge(&change, nil)
	if change.State == Refused {
		m.diff.Unknown++ // nothing was lost
		return
	}
	m.diff.Changes = append(m.diff.Changes, change)
}

func (m *comparison) judge(c *Change, reference *catalog.Price) {
	c.State = New
	if c.Old != nil {
		c.State = Changed
	}
	if c.New != nil && c.New.Input > 0 && reference != nil {
		c.Factor = furthest(reference, c.New)
	}
	switch why := implausible(c.row.Op, c.New); {
	case c.Old != nil && c.Old.Source == catalog.OverrideSource:
		c.State, c.Reason = Kept, "set by hand"
	case why != "":
		c.State, c.Reason = Refused, why
	case c.Factor >= jump && !m.options.Jumps:
		c.State, c.Reason = Refused, fmt.Sprintf("differs %.3g times", c.Factor)
	}
}

// implausible says what is wrong with a price, or nothing.
func implausible(op llm.Op, p *catalog.Price) string {
	switch {
	case p == nil:
		return "no price"
	case p.Input == 0 || (op == llm.Chat && p.Output == 0):
		return "a price of zero"
	case p.CacheRead != nil && *p.CacheRead > p.Input:
		return "reading the cache dearer than reading anew"
	case or(p.CacheWrite, 0) > 4*p.Input, or(p.CacheWriteLong, 0) > 4*p.Input:
		return "writing a cache far dearer than reading"
	case op == llm.Chat && p.Output < p.Input/4:
		return "output much cheaper than input"
	}
	return ""
}

// Apply puts the accepted changes into the book. The catalog is the one they were compared with.
func (d Diff) Apply(b *catalog.PriceHistory, c *catalog.Catalog, at time.Time) {
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
