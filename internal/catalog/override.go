package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Common is the set of abilities assumed for an unknown model.
const Common = llm.Tools | llm.ParallelTools | llm.Vision | llm.JSONMode | llm.JSONSchema | llm.Logprobs | llm.ManyChoices

// Overrides are applied in order: later overrides win.
type Overrides []Override

// Override sets facts about a model. Zero and nil fields keep the catalog's values. With a Provider, the price and
// upstream name apply to that provider's offer, which is added if missing. Without one, the price applies to every
// offer. The other fields always describe the model at all providers.
type Override struct {
	Model    string // canonical name; an unknown name adds a model
	Provider string
	Vendor   string // provider in the catalog whose offer of the same model is the default of a new offer
	Upstream string // model name at the provider; defaults to Model

	Op         llm.Op
	Aliases    []string // aliases to add to the existing ones
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
	Search         *money.Rate // fee for web searches, per million

	// Price is a complete price with its source, as in a PriceHistory. It replaces the known price, and the rates
	// above apply to it. It does not make a restricted offer callable.
	Price *Price
	Needs string // requirement of a new offer; see Offer
}

// With returns a catalog with the overrides applied. The receiver is unchanged.
func (c *Catalog) With(o Overrides) *Catalog {
	if len(o) == 0 {
		return c
	}
	models := maps.Clone(c.models)
	list := &offerList{base: c, offers: slices.Clone(c.offers), byModel: map[string][]int{}, everywhere: map[string]Overrides{}}
	for i := range list.offers {
		list.byModel[list.offers[i].Model] = append(list.byModel[list.offers[i].Model], i)
	}
	for _, one := range o {
		models[one.Model] = c.describe(models[one.Model], one)
		list.apply(models[one.Model], one)
	}
	text, _ := json.Marshal(o) // overrides contain only numbers and strings, so encoding cannot fail
	sum := sha256.Sum256(append([]byte(c.version), text...))
	return index(models, list.offers, hex.EncodeToString(sum[:])[:versionLength])
}

// describe returns the model with the override applied.
func (c *Catalog) describe(known *Model, o Override) *Model {
	m := &Model{Name: o.Model, Op: llm.Chat, Abilities: Common, Assumed: true}
	if known != nil {
		*m = *known
	} else {
		if kin, _ := c.kin(o); kin != nil {
			*m = *kin
			m.Name, m.Aliases = o.Model, nil
		}
		if (o.Op == llm.Embed || o.Op == llm.Moderate || o.Op.Media()) && m.Op != o.Op {
			m.Abilities = 0
		}
	}
	if o.Op != "" {
		m.Op = o.Op
	}
	if o.Context > 0 {
		m.Context = o.Context
		m.MaxInput = 0 // the old prompt limit applied to the replaced context window
	}
	if o.MaxOutput > 0 {
		m.MaxOutput = o.MaxOutput
	}
	if o.Abilities != nil {
		m.Abilities, m.Assumed = *o.Abilities, false
	}
	if o.Quality != nil {
		m.Quality, m.QualitySource = *o.Quality, OverrideSource
		m.Rating = nil // a quality set manually takes precedence over scores
	}
	if len(o.Dimensions) > 0 {
		m.Dimensions = o.Dimensions
	}
	m.Aliases = slices.Concat(m.Aliases, o.Aliases)
	return m
}

// regionPrefix matches the prefix of an inference profile of Amazon Bedrock.
var regionPrefix = regexp.MustCompile(`^(us|us-gov|eu|apac|jp|au|ca|global)\.`)

// kin returns the catalog model that describes a new model, and its price at the vendor. It is the model with the same name without a date,
// or the vendor's model that is called. Other servers may use the name of a model for something else.
func (c *Catalog) kin(o Override) (*Model, *Price) {
	m, ok := c.Model(o.Model)
	if !ok && o.Vendor != "" {
		if m, ok = c.Model(regionPrefix.ReplaceAllString(o.Upstream, "")); ok {
			_, ok = c.Offer(o.Vendor, m.Name)
		}
	}
	if !ok {
		return nil, nil
	}
	offer, _ := c.Offer(o.Vendor, m.Name)
	return m, offer.Price
}

// offerList holds the offers to which overrides are applied.
type offerList struct {
	base       *Catalog
	offers     []Offer
	byModel    map[string][]int
	everywhere map[string]Overrides // overrides without a provider, by model; they also apply to offers added later
}

// apply applies the override's price and upstream name to the offers of the model and adds a missing offer.
func (l *offerList) apply(m *Model, o Override) {
	found := false
	for _, i := range l.byModel[o.Model] {
		at := &l.offers[i]
		if o.Provider != "" && at.Provider != o.Provider {
			continue
		}
		found = true
		if at.Price = o.price(m, at.Price); at.Price != nil {
			at.Unpriced = ""
		}
		if o.Provider != "" {
			at.Upstream = cmp.Or(o.Upstream, at.Upstream)
			if o.Price == nil && at.Needs != NeedsResponses {
				at.Needs = "" // an explicit override means that the requirement is met
			}
		}
		if o.Context > 0 {
			at.Context = 0
		}
	}
	if o.Provider == "" {
		l.everywhere[o.Model] = append(l.everywhere[o.Model], o)
		return
	}
	if found {
		return
	}
	_, known := l.base.kin(o)
	for _, general := range l.everywhere[o.Model] {
		known = general.price(m, known)
	}
	l.byModel[o.Model] = append(l.byModel[o.Model], len(l.offers))
	l.offers = append(l.offers, Offer{
		Model: o.Model, Provider: o.Provider, Upstream: cmp.Or(o.Upstream, o.Model), Price: o.price(m, known), Needs: o.Needs,
	})
}

// OverrideSource is the source of a price that was set manually.
const OverrideSource = "override"

// price returns the known price with the override applied. A new input or output rate replaces the whole price: the
// cache and audio rates, tiers, hours and history of the old price are dropped. A chat model needs both rates, from the
// override or from the known price; otherwise it has no price.
func (o Override) price(m *Model, known *Price) *Price {
	if o.Price != nil {
		known = o.Price
	}
	if o.Input == nil && o.Output == nil && o.PerRequest == nil && o.Search == nil &&
		o.CacheRead == nil && o.CacheWrite == nil && o.CacheWriteLong == nil && o.AudioInput == nil && o.AudioOutput == nil {
		return known
	}
	var p Price
	if known != nil {
		p = *known
	}
	if o.Input != nil || o.Output != nil {
		p = Price{Input: p.Input, Output: p.Output, PerRequest: p.PerRequest, Search: p.Search}
	}
	haveInput := copyRate(&p.Input, o.Input) || known != nil || m.Op.Media() && o.PerRequest != nil
	haveOutput := copyRate(&p.Output, o.Output) || known != nil || m.Op == llm.Embed || m.Op == llm.Moderate || m.Op.Media()
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
	if o.Search != nil {
		p.Search = &SearchFee{Rate: o.Search}
	}
	p.Source, p.AsOf = OverrideSource, ""
	o.Price = nil // the calls of price below then apply only the rates, each to the price of a period
	p.Periods = slices.Clone(p.Periods)
	for i := range p.Periods {
		p.Periods[i].Price = *o.price(m, &p.Periods[i].Price)
	}
	return &p
}

func copyRate(to, from *money.Rate) bool {
	if from == nil {
		return false
	}
	*to = *from
	return true
}
