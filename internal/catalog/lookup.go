package catalog

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

const versionLength = 12

// Catalog is an immutable set of models and offers. The models and prices it returns are shared and must not be
// changed.
type Catalog struct {
	models   map[string]*Model // models by canonical name
	sorted   []*Model
	aliases  map[string]*Model // models by alias in its exact spelling
	folded   map[string]*Model // models by name and alias in lower case
	upstream map[string]*Model // models by lower-case upstream name, which is the name at a provider; nil if several models share it
	orgs     map[string]bool   // accepted prefixes before the slash, as "Vendor\x00prefix"
	offers   []Offer           // offers sorted by provider, then model
	version  string
}

// index builds a catalog from models and offers.
func index(models map[string]*Model, offers []Offer, version string) *Catalog {
	c := &Catalog{
		models: models, offers: offers, version: version,
		aliases: map[string]*Model{}, folded: map[string]*Model{}, upstream: map[string]*Model{}, orgs: map[string]bool{},
	}
	for _, m := range models {
		c.sorted = append(c.sorted, m)
	}
	slices.SortFunc(c.sorted, func(a, b *Model) int { return cmp.Compare(a.Name, b.Name) })
	for i := range offers {
		offers[i].Price = offers[i].Price.WithSearchFee(offers[i].Provider, offers[i].Model)
	}
	slices.SortStableFunc(c.offers, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	for _, m := range c.sorted {
		c.folded[strings.ToLower(m.Name)] = m
		c.orgs[org(m, m.Vendor)] = true
	}
	for _, m := range c.sorted {
		for _, alias := range m.Aliases {
			if c.models[alias] != nil {
				continue // a model's own name takes precedence over aliases
			}
			c.aliases[alias] = m
			if c.folded[strings.ToLower(alias)] == nil {
				c.folded[strings.ToLower(alias)] = m
			}
		}
	}
	claim := func(name string, m *Model) {
		if other, taken := c.upstream[name]; taken && other != m {
			m = nil // several models have this upstream name
		}
		c.upstream[name] = m
	}
	for _, o := range c.offers {
		m := c.models[o.Model]
		name := strings.ToLower(o.Upstream)
		claim(name, m)
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			claim(name[i+1:], m)
			c.orgs[org(m, name[:i])] = true
		}
		c.orgs[org(m, o.Provider)] = true
	}
	return c
}

func org(m *Model, prefix string) string { return m.Vendor + "\x00" + strings.ToLower(prefix) }

// Model finds a model by canonical name, alias, dated ID, upstream name or vendor/model. A match of the exact case
// takes precedence over a match in another case, and a model's own name over an alias.
func (c *Catalog) Model(name string) (*Model, bool) {
	if m := c.models[name]; m != nil {
		return m, true
	}
	if m := c.aliases[name]; m != nil {
		return m, true
	}
	name = strings.ToLower(name)
	if m := c.find(name); m != nil {
		return m, true
	}
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return nil, false
	}
	m := c.find(name[i+1:])
	if m == nil || !c.orgs[org(m, name[:i])] {
		return nil, false
	}
	return m, true
}

// find looks up a lower-case name, first unchanged and then without its date.
func (c *Catalog) find(name string) *Model {
	if m := cmp.Or(c.folded[name], c.upstream[name]); m != nil {
		return m
	}
	undated := dateSuffix.ReplaceAllString(name, "")
	if undated == name {
		return nil
	}
	return cmp.Or(c.folded[undated], c.upstream[undated])
}

// dateSuffix matches the date of a snapshot: -2025-04-14, -20250514, @20250805.
var dateSuffix = regexp.MustCompile(`[-@](20\d\d-\d\d-\d\d|20\d{6})$`)

// Models lists all models sorted by name.
func (c *Catalog) Models() []*Model { return slices.Clone(c.sorted) }

// Offers lists the offers of a provider that need only an API key, sorted by model. Offers with Needs "responses" are
// available only through the Responses API.
func (c *Catalog) Offers(provider string) []Offer {
	var offers []Offer
	for _, o := range c.offers {
		if o.Provider == provider && (o.Needs == "" || o.Needs == NeedsResponses) {
			offers = append(offers, o)
		}
	}
	return offers
}

// Offer returns the offer of a model at a provider, including restricted offers.
func (c *Catalog) Offer(provider, model string) (Offer, bool) {
	for _, o := range c.offers {
		if o.Provider == provider && o.Model == model {
			return o, true
		}
	}
	return Offer{}, false
}

// AllOffers lists all offers, including restricted ones, sorted by provider and model.
func (c *Catalog) AllOffers() []Offer { return slices.Clone(c.offers) }

// Providers lists the providers that have offers.
func (c *Catalog) Providers() []string {
	var names []string
	for _, o := range c.offers {
		if len(names) == 0 || names[len(names)-1] != o.Provider {
			names = append(names, o.Provider)
		}
	}
	return names
}

// At returns the offer's model with the provider's context window and without the abilities that the provider does not
// support.
func (c *Catalog) At(o Offer) *Model {
	m := c.models[o.Model]
	if m == nil || (o.Context == 0 && o.Unsupported == 0) {
		return m
	}
	narrowed := *m
	narrowed.Abilities &^= o.Unsupported
	if o.Context > 0 {
		narrowed.Context = o.Context
		narrowed.MaxOutput = min(m.MaxOutput, o.Context)
	}
	return &narrowed
}

// ListPrice returns the typical price of a model for comparisons: the vendor's price if known, otherwise the median of
// the known offers. It returns nil if no price is known.
func (c *Catalog) ListPrice(model string) *Price {
	m, ok := c.Model(model)
	if !ok {
		return nil
	}
	var known, local []*Price
	for _, o := range c.offers {
		switch {
		case o.Model != m.Name || o.Price == nil:
		case o.Provider == m.Home:
			return o.Price
		case o.Price.Source == localSource:
			local = append(local, o.Price)
		default:
			known = append(known, o.Price)
		}
	}
	if len(known) == 0 {
		known = local // a self-hosted model has only a local price
	}
	if len(known) == 0 {
		return nil
	}
	slices.SortStableFunc(known, func(a, b *Price) int { return cmp.Compare(typicalCost(a), typicalCost(b)) })
	return known[(len(known)-1)/2]
}

const localSource = "local"

// typicalCost returns the cost of a typical request, with three input tokens per output token.
func typicalCost(p *Price) int64 { return 3*int64(p.Input) + int64(p.Output) }

// Version identifies the content: catalogs with the same version are equal.
func (c *Catalog) Version() string { return c.version }
