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

	Input      *money.Rate
	Output     *money.Rate
	CacheRead  *money.Rate
	CacheWrite *money.Rate
	PerRequest *money.Amount
}

// With returns a catalog with the overrides applied. The receiver stays as it is.
func (c *Catalog) With(o Overrides) *Catalog {
	if len(o) == 0 {
		return c
	}
	models, offers := maps.Clone(c.models), slices.Clone(c.offers)
	for _, one := range o {
		models[one.Model] = c.described(models[one.Model], one)
		offers = offered(offers, models[one.Model], one)
	}
	return index(models, offers, c.versionWith(o))
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
		m.Abilities = *o.Abilities
	}
	if o.Quality != nil {
		m.Quality, m.QualitySource = *o.Quality, overrideSource
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
	m := &Model{Name: o.Model, Op: llm.Chat, Abilities: Common}
	if kin, ok := c.Model(o.Model); ok {
		*m = *kin
		m.Name, m.Aliases = o.Model, nil
	}
	if o.Op == llm.Embed && m.Op != llm.Embed {
		m.Abilities = 0
	}
	return m
}

// offered returns the offers with the override's price and upstream name.
func offered(offers []Offer, m *Model, o Override) []Offer {
	found := false
	for i := range offers {
		at := &offers[i]
		if at.Model != o.Model || (o.Provider != "" && at.Provider != o.Provider) {
			continue
		}
		found = true
		at.Price = o.price(m, at.Price)
		if o.Provider != "" {
			at.Upstream = cmp.Or(o.Upstream, at.Upstream)
			at.Needs = "" // whoever names an offer has what it takes
		}
		if o.Context > 0 {
			at.Context = 0
		}
	}
	if found || o.Provider == "" {
		return offers
	}
	return append(offers, Offer{
		Model: o.Model, Provider: o.Provider, Upstream: cmp.Or(o.Upstream, o.Model), Price: o.price(m, nil),
	})
}

const overrideSource = "override"

// price is the card that the override makes of the known one. A new input or output rate makes a new card: cache rates
// and tiers of the old one do not outlive it. A chat model needs both rates, from the override or from the old card;
// half a price is no price.
func (o Override) price(m *Model, known *Price) *Price {
	if o.Input == nil && o.Output == nil && o.CacheRead == nil && o.CacheWrite == nil && o.PerRequest == nil {
		return known
	}
	var p Price
	if known != nil {
		p = *known
	}
	if o.Input != nil || o.Output != nil {
		p.CacheRead, p.CacheWrite, p.Tiers = nil, nil, nil
	}
	haveInput := set(&p.Input, o.Input) || known != nil
	haveOutput := set(&p.Output, o.Output) || known != nil || m.Op == llm.Embed
	if !haveInput || !haveOutput {
		return nil
	}
	if o.CacheRead != nil {
		p.CacheRead = o.CacheRead
	}
	if o.CacheWrite != nil {
		p.CacheWrite = o.CacheWrite
	}
	if o.PerRequest != nil {
		p.PerRequest = *o.PerRequest
	}
	p.Source, p.AsOf = overrideSource, ""
	return &p
}

func set(to, from *money.Rate) bool {
	if from == nil {
		return false
	}
	*to = *from
	return true
}
