package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// Common is what a model is assumed to do when nothing is known about it.
const Common = llm.Tools | llm.ParallelTools | llm.Vision | llm.JSONMode | llm.JSONSchema | llm.Logprobs | llm.ManyChoices

// Overrides are applied in order: a later one wins.
type Overrides []Override

// Override sets what is known about a model. Zero and nil fields leave what the catalog says.
// With a Provider, price and upstream name hold for the offer of that provider, which is added when it is new; without
// one, the price holds for every offer. The other fields always describe the model, wherever it runs.
type Override struct {
	Model    string // canonical name; a name the catalog does not know makes a new model
	Provider string
	Upstream string // the name the provider knows; the model's own when empty

	Op         llm.Op
	Aliases    []string // added to those it has
	Context    int64
	MaxOutput  int64
	Abilities  *llm.Abilities
	Quality    *float64
	Dimensions []int64

	Input          *money.Rate
	Output         *money.Rate
	CacheRead      *money.Rate
	CacheWrite     *money.Rate
	CacheWriteLong *money.Rate
	AudioInput     *money.Rate
	AudioOutput    *money.Rate
	PerRequest     *money.Amount

	// Price is a whole card with its own source, as a book has it: it replaces the known one, and single rates above
	// apply to it. It does not make an offer callable that needs more than a key.
	Price *Price
	Needs string // of an offer that is new
}

// With returns a catalog with the overrides applied. The receiver stays as it is.
func (c *Catalog) With(o Overrides) *Catalog {
	if len(o) == 0 {
		return c
	}
	models, list := maps.Clone(c.models), newOfferList(c.offers)
	for _, one := range o {
		models[one.Model] = c.described(models[one.Model], one)
		list.apply(models[one.Model], one)
	}
	return index(models, list.offers, c.versionWith(o))
}

func (c *Catalog) versionWith(o Overrides) string {
	// Overrides hold numbers and texts only, which always marshal.
	text, _ := json.Marshal(o)
	sum := sha256.Sum256(append([]byte(c.version), text...))
	return hex.EncodeToString(sum[:])[:versionLength]
}

// described returns the model with the override's facts.
func (c *Catalog) described(known *Model, o Override) *Model {
	m := c.blank(o)
	if known != nil {
		*m = *known
	}
	if o.Op != "" {
		m.Op = o.Op
	}
	if o.Context > 0 {
		m.Context = o.Context
		m.MaxInput = 0 // it belonged to the window that no longer holds
	}
	if o.MaxOutput > 0 {
		m.MaxOutput = o.MaxOutput
	}
	if o.Abilities != nil {
		m.Abilities, m.Assumed = *o.Abilities, false
	}
	if o.Quality != nil {
		m.Quality, m.QualitySource = *o.Quality, OverrideSource
		m.Benchmarks = nil // whoever sets the quality knows better than the boards
	}
	if len(o.Dimensions) > 0 {
		m.Dimensions = o.Dimensions
	}
	m.Aliases = slices.Concat(m.Aliases, o.Aliases)
	return m
}

// blank is a model of which only the name is known. A name that means a catalog model, such as a dated id, brings the
// facts of that one.
func (c *Catalog) blank(o Override) *Model {
	m := &Model{Name: o.Model, Op: llm.Chat, Abilities: Common, Assumed: true}
	if kin, ok := c.Model(o.Model); ok {
		*m = *kin
		m.Name, m.Aliases = o.Model, nil
	}
	if (o.Op == llm.Embed || o.Op == llm.Moderate) && m.Op != o.Op {
		m.Abilities = 0
	}
	return m
}

// offerList is offers that overrides are applied to.
type offerList struct {
	offers     []Offer
	byModel    map[string][]int
	everywhere map[string]Overrides // by model: those without a provider, which hold for offers that come later too
}

func newOfferList(offers []Offer) *offerList {
	l := &offerList{offers: slices.Clone(offers), byModel: map[string][]int{}, everywhere: map[string]Overrides{}}
	for i := range l.offers {
		l.byModel[l.offers[i].Model] = append(l.byModel[l.offers[i].Model], i)
	}
	return l
}

// apply gives the offers of the model the override's price and upstream name, and adds the offer when it is new.
func (l *offerList) apply(m *Model, o Override) {
	found := false
	for _, i := range l.byModel[o.Model] {
		if at := &l.offers[i]; o.Provider == "" || at.Provider == o.Provider {
			found = true
			o.change(m, at)
		}
	}
	if o.Provider == "" {
		l.everywhere[o.Model] = append(l.everywhere[o.Model], o)
		return
	}
	if found {
		return
	}
	var known *Price
	for _, general := range l.everywhere[o.Model] {
		known = general.price(m, known)
	}
	l.byModel[o.Model] = append(l.byModel[o.Model], len(l.offers))
	l.offers = append(l.offers, Offer{
		Model: o.Model, Provider: o.Provider, Upstream: cmp.Or(o.Upstream, o.Model), Price: o.price(m, known), Needs: o.Needs,
	})
}

// change makes the known offer what the override says.
func (o Override) change(m *Model, at *Offer) {
	if at.Price = o.price(m, at.Price); at.Price != nil {
		at.Unpriced = ""
	}
	if o.Provider != "" {
		at.Upstream = cmp.Or(o.Upstream, at.Upstream)
		if o.Price == nil {
			at.Needs = "" // whoever names an offer has what it takes
		}
	}
	if o.Context > 0 {
		at.Context = 0
	}
}

// OverrideSource is the source of a price that somebody set by hand.
const OverrideSource = "override"

// price is the card that the override makes of the known one. A new input or output rate makes a new card: cache and
// audio rates, tiers, hours and history of the old one do not outlive it. A chat model needs both rates, from the override
// or from the old card; half a price is no price.
func (o Override) price(m *Model, known *Price) *Price {
	if o.Price != nil {
		known = o.Price
	}
	if o.Input == nil && o.Output == nil && o.PerRequest == nil && !o.partial() {
		return known
	}
	var p Price
	if known != nil {
		p = *known
	}
	if o.Input != nil || o.Output != nil {
		p = Price{Input: p.Input, Output: p.Output, PerRequest: p.PerRequest}
	}
	haveInput := set(&p.Input, o.Input) || known != nil
	haveOutput := set(&p.Output, o.Output) || known != nil || m.Op == llm.Embed || m.Op == llm.Moderate
	if !haveInput || !haveOutput {
		return nil
	}
	for _, one := range []struct{ to, from **money.Rate }{
		{&p.CacheRead, &o.CacheRead},
		{&p.CacheWrite, &o.CacheWrite},
		{&p.CacheWriteLong, &o.CacheWriteLong},
		{&p.AudioInput, &o.AudioInput},
		{&p.AudioOutput, &o.AudioOutput},
	} {
		if *one.from != nil {
			*one.to = *one.from
		}
	}
	if o.PerRequest != nil {
		p.PerRequest = *o.PerRequest
	}
	p.Source, p.AsOf = OverrideSource, ""
	p.Periods = o.during(m, p.Periods)
	return &p
}

// during lets the single rates hold in every period of the price too.
func (o Override) during(m *Model, periods []Period) []Period {
	o.Price = nil
	changed := slices.Clone(periods)
	for i := range changed {
		changed[i].Price = *o.price(m, &changed[i].Price)
	}
	return changed
}

// partial reports whether a rate of a part of the tokens is set.
func (o Override) partial() bool {
	return o.CacheRead != nil || o.CacheWrite != nil || o.CacheWriteLong != nil || o.AudioInput != nil || o.AudioOutput != nil
}

func set(to, from *money.Rate) bool {
	if from == nil {
		return false
	}
	*to = *from
	return true
}
