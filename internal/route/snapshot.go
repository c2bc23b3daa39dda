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

// Router is the version of the routing rules, stored with each decision.
const Router = "utility-2"

// Predictor estimates the abilities of models.
type Predictor interface {
	// Ability returns the ability of a model from its name, benchmark scores or configured quality.
	Ability(m *catalog.Model) predict.Ability
}

// Snapshot is an immutable view of targets, prices and abilities. A reload makes a new one.
type Snapshot struct {
	Catalog   *catalog.Catalog
	Providers []*provider.Provider

	version  string
	targets  []*provider.Target // sorted by ID, so that the order of the configuration has no effect
	entries  []targetEntry      // targets with precomputed values
	models   []modelEntry
	index    map[string]int // index in models by name
	byModel  map[string][]*provider.Target
	byName   map[string]*provider.Provider
	rankings sync.Pool
	prices   atomic.Pointer[pricesAtTime]
}

type targetEntry struct {
	target     *provider.Target
	id         string
	model      int // index in Snapshot.models
	vocabulary token.Vocabulary
}

func (s *Snapshot) newTargetEntry(t *provider.Target) targetEntry {
	vocabulary := token.Model{Vendor: t.Model.Vendor, Name: t.Model.Name}.Vocabulary()
	return targetEntry{target: t, id: t.ID(), model: s.index[t.Model.Name], vocabulary: vocabulary}
}

// modelEntry is a model with at least one target.
type modelEntry struct {
	model   *catalog.Model
	ability predict.Ability
}

// NewSnapshot returns a snapshot of the providers' targets. A nil predictor uses the configured quality of each model.
func NewSnapshot(cat *catalog.Catalog, providers []*provider.Provider, p Predictor) *Snapshot {
	if p == nil {
		p = catalogQuality{}
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
			s.models = append(s.models, modelEntry{model: t.Model, ability: p.Ability(t.Model)})
		}
		s.byModel[name] = append(s.byModel[name], t)
		s.entries = append(s.entries, s.newTargetEntry(t))
	}
	s.version = s.hash()
	return s
}

// catalogQuality predicts from the quality in the catalog alone.
type catalogQuality struct{}

// Ability returns the same success probability for every prompt.
func (catalogQuality) Ability(m *catalog.Model) predict.Ability {
	quality := cmp.Or(m.Quality, 0.4)
	quality = min(max(quality, 0.01), 0.99)
	return predict.Ability{Vector: []float64{math.Log(quality / (1 - quality))}, Source: "quality"}
}

// Ability returns the ability of a model of the snapshot.
func (s *Snapshot) Ability(model string) (predict.Ability, bool) {
	i, ok := s.index[model]
	if !ok {
		return predict.Ability{}, false
	}
	return s.models[i].ability, true
}

// Provider returns a provider by name.
func (s *Snapshot) Provider(name string) (*provider.Provider, bool) {
	p, ok := s.byName[name]
	return p, ok
}

// Targets lists every target in a fixed order.
func (s *Snapshot) Targets() []*provider.Target { return s.targets }

// Price returns the price of a baseline model: the cheapest configured price, else the list price, else nil.
func (s *Snapshot) Price(model string) *catalog.Price {
	var best *catalog.Price
	for _, t := range s.byModel[model] {
		if t.Price != nil && (best == nil || t.Price.Cost(typicalUsage) < best.Cost(typicalUsage)) {
			best = t.Price
		}
	}
	if best == nil {
		return s.Catalog.ListPrice(model)
	}
	return best
}

// typicalUsage is used to compare prices.
var typicalUsage = llm.Usage{Input: 1000, Output: 250}

// Named returns the targets that match a name: all targets of a model, or one for provider/model.
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
		return withSnapshotName(s.byModel[m.Name], name)
	}
	return nil
}

// withSnapshotName returns targets that request the dated snapshot that the caller named, such as gpt-4.1-2025-04-14, at
// the price of the model.
func withSnapshotName(targets []*provider.Target, name string) []*provider.Target {
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
			return withSnapshotName([]*provider.Target{t}, name)
		}
	}
	return nil
}

// Canonical returns the canonical name of a model, or the name itself if the model is unknown.
func (s *Snapshot) Canonical(name string) string {
	if targets := s.Named(name); len(targets) > 0 {
		return targets[0].Model.Name
	}
	if m, ok := s.Catalog.Model(name); ok {
		return m.Name
	}
	return name
}

// Suggest returns the configured model names most similar to name.
func (s *Snapshot) Suggest(name string) []string {
	return catalog.Nearest(name, slices.Sorted(maps.Keys(s.byModel)), 5)
}
