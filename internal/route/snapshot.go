package route

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/predict"
	"fairlead/internal/provider"
	"fairlead/internal/token"
)

// Router names the version of the deciding rules; a decision carries it.
const Router = "utility-2"

// Predictor says what models can do.
type Predictor interface {
	// Ability is a model's, from what is known by its name, its benchmark scores or a figure for its quality.
	Ability(m *catalog.Model) predict.Ability
}

// Snapshot is one view of targets, prices and abilities. It never changes: a reload makes a new one.
type Snapshot struct {
	Catalog   *catalog.Catalog
	Providers []*provider.Provider

	version string
	targets []*provider.Target // sorted by ID, so that the order of configuration decides nothing
	seats   []seat             // the same, with what deciding needs to know at once
	models  []contender
	index   map[string]int // of models, by name
	byModel map[string][]*provider.Target
	byName  map[string]*provider.Provider
	races   sync.Pool
	cards   atomic.Pointer[cards]
}

type seat struct {
	target     *provider.Target
	id         string
	model      int // its place in the snapshot
	vocabulary token.Vocabulary
}

func (s *Snapshot) newSeat(t *provider.Target) seat {
	vocabulary := token.Model{Vendor: t.Model.Vendor, Name: t.Model.Name}.Vocabulary()
	return seat{target: t, id: t.ID(), model: s.index[t.Model.Name], vocabulary: vocabulary}
}

// contender is a model that some provider offers.
type contender struct {
	model   *catalog.Model
	ability predict.Ability
}

// NewSnapshot collects the targets of the providers. Without a predictor a model is as good as its quality says.
func NewSnapshot(cat *catalog.Catalog, providers []*provider.Provider, p Predictor) *Snapshot {
	if p == nil {
		p = byQuality{}
	}
	s := &Snapshot{
		Catalog:   cat,
		Providers: providers,
		index:     map[string]int{},
		byModel:   map[string][]*provider.Target{},
		byName:    map[string]*provider.Provider{},
	}
	for _, p := range providers {
		s.byName[p.Name] = p
		s.targets = append(s.targets, p.Targets...)
	}
	slices.SortFunc(s.targets, func(a, b *provider.Target) int { return cmp.Compare(a.ID(), b.ID()) })
	for _, t := range s.targets {
		name := t.Model.Name
		if _, known := s.index[name]; !known {
			s.index[name] = len(s.models)
			s.models = append(s.models, contender{model: t.Model, ability: p.Ability(t.Model)})
		}
		s.byModel[name] = append(s.byModel[name], t)
		s.seats = append(s.seats, s.newSeat(t))
	}
	s.version = s.hash()
	return s
}

// byQuality knows nothing but the catalog's figure.
type byQuality struct{}

// Ability has the same chance at every prompt.
func (byQuality) Ability(m *catalog.Model) predict.Ability {
	quality := cmp.Or(m.Quality, 0.4)
	quality = min(max(quality, 0.01), 0.99)
	return predict.Ability{Vector: []float64{math.Log(quality / (1 - quality))}, Source: "quality"}
}

// Ability is what the snapshot takes a model to be able to do.
func (s *Snapshot) Ability(model string) (predict.Ability, bool) {
	i, ok := s.index[model]
	if !ok {
		return predict.Ability{}, false
	}
	return s.models[i].ability, true
}

// Provider returns the provider of this name.
func (s *Snapshot) Provider(name string) (*provider.Provider, bool) {
	p, ok := s.byName[name]
	return p, ok
}

// Targets lists every target in a fixed order.
func (s *Snapshot) Targets() []*provider.Target { return s.targets }

// Price is the card that a baseline is priced with: the cheapest configured one of the model,
// else its list price, else nil.
func (s *Snapshot) Price(model string) *catalog.Price {
	var best *catalog.Price
	for _, t := range s.byModel[model] {
		if t.Price != nil && (best == nil || t.Price.Cost(typical) < best.Cost(typical)) {
			best = t.Price
		}
	}
	if best == nil {
		return s.Catalog.ListPrice(model)
	}
	return best
}

// typical compares price cards: a prompt with an answer a quarter as long.
var typical = llm.Usage{Input: 1000, Output: 250}

// Named returns the targets a caller means by a name: all of a model's, or one when it is written provider/model.
func (s *Snapshot) Named(name string) []*provider.Target {
	if before, after, found := strings.Cut(name, "/"); found {
		if p, ok := s.byName[before]; ok {
			return s.at(p, after)
		}
	}
	if targets := s.byModel[name]; targets != nil {
		return targets
	}
	if m, ok := s.Catalog.Model(name); ok {
		return dated(s.byModel[m.Name], name)
	}
	return nil
}

// dated returns targets that ask for the very snapshot the caller names, such as gpt-4.1-2025-04-14: it is priced as the
// model it is a snapshot of, but nobody else's name for it may be sent.
func dated(targets []*provider.Target, name string) []*provider.Target {
	asked := make([]*provider.Target, len(targets))
	for i, t := range targets {
		asked[i] = t
		if strings.HasPrefix(name, t.Upstream+"-") || strings.HasPrefix(name, t.Upstream+"@") {
			snapshot := *t
			snapshot.Upstream = name
			asked[i] = &snapshot
		}
	}
	return asked
}

func (s *Snapshot) at(p *provider.Provider, name string) []*provider.Target {
	if t, ok := p.Target(name); ok {
		return []*provider.Target{t}
	}
	for _, t := range p.Targets {
		if t.Upstream == name {
			return []*provider.Target{t}
		}
	}
	if m, ok := s.Catalog.Model(name); ok {
		if t, found := p.Target(m.Name); found {
			return dated([]*provider.Target{t}, name)
		}
	}
	return nil
}

// Canonical returns the canonical form of a model name, or the name itself when nothing is known of it.
func (s *Snapshot) Canonical(name string) string {
	if targets := s.Named(name); len(targets) > 0 {
		return targets[0].Model.Name
	}
	if m, ok := s.Catalog.Model(name); ok {
		return m.Name
	}
	return name
}

// Suggest lists names of models on offer that are near to name.
func (s *Snapshot) Suggest(name string) []string {
	return catalog.Nearest(name, slices.Sorted(maps.Keys(s.byModel)), 5)
}
