package route

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/token"
)

// Router is the version of the routing rules, stored with each decision.
const Router = "utility-4"

// Predictor estimates the abilities of models.
type Predictor interface {
	// Ability returns the ability of a model from its name, benchmark scores or configured quality.
	Ability(m *catalog.Model) predict.Ability
}

// typicalPredictor is a Predictor that provides typical skills for an unknown prompt.
type typicalPredictor interface{ Typical() []float64 }

// Snapshot is an immutable view of targets, prices and abilities. A reload creates a new snapshot.
type Snapshot struct {
	Catalog   *catalog.Catalog
	Providers []*provider.Provider

	version  string
	targets  []*provider.Target // targets sorted by ID, so that the order in the configuration has no effect
	entries  []targetEntry      // targets with precomputed values
	models   []modelEntry
	typical  []float64      // typical skills of an unknown prompt; nil without a trained predictor
	index    map[string]int // indexes in models by model name
	byModel  map[string][]*provider.Target
	byName   map[string]*provider.Provider
	rankings sync.Pool
	prices   atomic.Pointer[pricesAtTime]

	// nearlyBest and best are indexes in entries. nearlyBest is the cheapest target whose model reaches 95 % of the
	// highest mean success probability, and best is the cheapest target whose model reaches 99 %. Both are -1 without
	// priced chat models. The reference cost of a request is computed from their prices.
	nearlyBest, best int
}

type targetEntry struct {
	target     *provider.Target
	id         string
	model      int // index in Snapshot.models
	vocabulary token.Vocabulary
	efforts    []effortEntry
}

func (s *Snapshot) newTargetEntry(t *provider.Target) targetEntry {
	vocabulary := token.Model{Vendor: t.Model.Vendor, Name: t.Model.Name}.Vocabulary()
	efforts := make([]effortEntry, len(t.Efforts))
	for i, e := range t.Efforts {
		chosen := *t
		length := llm.EffortLength(e.Level)
		chosen.Effort = e.Level
		chosen.FirstToken = time.Duration(max(length, 1) * float64(t.FirstToken)) // the model reasons before the first token
		efforts[i] = effortEntry{level: e.Level, logit: e.Logit, length: length, target: &chosen}
	}
	return targetEntry{target: t, id: t.ID(), model: s.index[t.Model.Name], vocabulary: vocabulary, efforts: efforts}
}

// entryOf returns the entry of a target. The target may be a copy with the name of a dated snapshot.
func (s *Snapshot) entryOf(t *provider.Target) *targetEntry {
	if i := slices.Index(s.targets, t); i >= 0 {
		return &s.entries[i]
	}
	return new(s.newTargetEntry(t))
}

// modelEntry is a model with at least one target.
type modelEntry struct {
	model     *catalog.Model
	ability   predict.Ability
	maxEffort float64 // logit change of the success probability at the highest effort that any target of the model supports
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
		if n := len(t.Efforts); n > 0 {
			m := &s.models[s.index[name]]
			m.maxEffort = max(m.maxEffort, t.Efforts[n-1].Logit)
		}
		s.byModel[name] = append(s.byModel[name], t)
		s.entries = append(s.entries, s.newTargetEntry(t))
	}
	if t, ok := p.(typicalPredictor); ok {
		s.typical = t.Typical()
	}
	s.nearlyBest, s.best = s.cheapest(0.95), s.cheapest(0.99)
	if data, err := s.Archive(); err == nil {
		sum := sha256.Sum256(data)
		s.version = hex.EncodeToString(sum[:6]) // six bytes are enough to distinguish the snapshots of one installation
	}
	return s
}

// cheapest returns the index of the cheapest target whose model reaches the given share of the highest mean success probability.
func (s *Snapshot) cheapest(share float64) int {
	bestQuality := 0.0
	for i := range s.models {
		if m := &s.models[i]; m.comparable() {
			bestQuality = max(bestQuality, m.ability.Mean)
		}
	}
	at, least := -1, money.Amount(0)
	for i := range s.entries {
		e := &s.entries[i]
		if m := &s.models[e.model]; !m.comparable() || e.target.Price == nil || m.ability.Mean < share*bestQuality {
			continue
		}
		if cost := e.target.Price.Cost(typicalUsage); at < 0 || cost < least {
			at, least = i, cost
		}
	}
	return at
}

// comparable reports whether auto can choose the model for a chat request.
func (m *modelEntry) comparable() bool { return m.model.Op == llm.Chat && !m.model.Deprecated }

// catalogQuality is a Predictor that uses only the quality in the catalog.
type catalogQuality struct{}

// Ability returns the same success probability for every prompt.
func (catalogQuality) Ability(m *catalog.Model) predict.Ability {
	quality := cmp.Or(m.Quality, 0.4)
	quality = min(max(quality, 0.01), 0.99)
	return predict.Ability{Vector: []float64{math.Log(quality / (1 - quality))}, Source: "quality", Mean: quality}
}

// Ability returns the ability of a model in the snapshot.
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

// Price returns the price of a baseline model: the cheapest configured price, or otherwise the list price. It returns nil if neither
// exists.
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

// Named returns the targets that match a name: all targets of a model, or a single target for provider/model.
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

// withSnapshotName returns targets that request the dated snapshot named by the caller, such as gpt-4.1-2025-04-14, at the price of the
// model.
func withSnapshotName(targets []*provider.Target, name string) []*provider.Target {
	requested := make([]*provider.Target, len(targets))
	for i, t := range targets {
		requested[i] = t
		if strings.HasPrefix(name, t.Upstream+"-") || strings.HasPrefix(name, t.Upstream+"@") {
			snapshot := *t
			snapshot.Upstream = name
			requested[i] = &snapshot
		}
	}
	return requested
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
