package route

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/token"
)

// Router is the version of the routing rules, stored with each decision.
const Router = "value-1"

// Predictor estimates the abilities of models.
type Predictor interface {
	// Ability returns the ability of a model from its name, benchmark scores or configured quality.
	Ability(m *catalog.Model) predict.Ability
}

// Snapshot is an immutable view of targets, prices and abilities. A reload creates a new snapshot.
type Snapshot struct {
	Catalog   *catalog.Catalog
	Providers []*provider.Provider

	version  string
	targets  []*provider.Target // targets sorted by ID, so that the order in the configuration has no effect
	entries  []targetEntry      // targets with precomputed values
	models   []modelEntry
	pool     Pool
	inPool   []bool         // by model
	index    map[string]int // indexes in models by model name
	byModel  map[string][]*provider.Target
	byName   map[string]*provider.Provider
	rankings sync.Pool
	prices   atomic.Pointer[pricesAtTime]

	// nearlyBest and best are indexes in entries: the cheapest target of the pool whose model reaches 95 % and 99 % of the highest quality.
	// Both are -1 without a pool. The reference cost of a request is computed from their prices.
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
	for i, level := range t.Efforts {
		chosen := *t
		length := llm.EffortLength(level)
		chosen.Effort = level
		chosen.FirstToken = time.Duration(max(length, 1) * float64(t.FirstToken)) // the model reasons before the first token
		efforts[i] = effortEntry{level: level, target: &chosen}
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
	model   *catalog.Model
	ability predict.Ability
	quality float64 // mean predicted quality over the families for a task of medium difficulty
}

// middling is the difficulty at which models are compared regardless of a request.
const middling = 2

func meanQuality(a *predict.Ability) float64 {
	sum := 0.0
	for _, family := range predict.Families() {
		sum += predict.Success(&predict.Features{Task: family, Difficulty: middling}, a, "").Probability
	}
	return sum / predict.FamilyCount
}

// NewSnapshot returns a snapshot of the providers' targets. A nil predictor uses the ability table.
func NewSnapshot(cat *catalog.Catalog, providers []*provider.Provider, p Predictor) *Snapshot {
	if p == nil {
		p = predict.NewTable(cat)
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
			ability := p.Ability(t.Model)
			s.models = append(s.models, modelEntry{model: t.Model, ability: ability, quality: meanQuality(&ability)})
		}
		s.byModel[name] = append(s.byModel[name], t)
		s.entries = append(s.entries, s.newTargetEntry(t))
	}
	s.pool = NewPool(s.poolModels())
	s.inPool = make([]bool, len(s.models))
	for _, name := range s.pool.Models {
		s.inPool[s.index[name]] = true
	}
	s.nearlyBest, s.best = s.cheapest(0.95), s.cheapest(0.99)
	if data, err := s.Archive(); err == nil {
		sum := sha256.Sum256(data)
		s.version = hex.EncodeToString(sum[:6]) // six bytes are enough to distinguish the snapshots of one installation
	}
	return s
}

// cheapest returns the index of the cheapest target of the pool whose model reaches the given share of the highest quality.
func (s *Snapshot) cheapest(share float64) int {
	best := 0.0
	for i := range s.models {
		if s.inPool[i] {
			best = max(best, s.models[i].quality)
		}
	}
	at, least := -1, money.Amount(0)
	for i := range s.entries {
		e := &s.entries[i]
		if !s.inPool[e.model] || e.target.Price == nil || s.models[e.model].quality < share*best {
			continue
		}
		if cost := e.target.Price.Cost(typicalUsage); at < 0 || cost < least {
			at, least = i, cost
		}
	}
	return at
}

// Pool returns the default pool of auto.
func (s *Snapshot) Pool() Pool { return s.pool }

// UsualModels returns three models of the pool that a caller may be using today: the best, one of the middle and the cheapest.
func (s *Snapshot) UsualModels() []string {
	names := s.pool.Models // cheapest first
	if len(names) <= 3 {
		usual := slices.Clone(names)
		slices.Reverse(usual)
		return usual
	}
	best := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(s.models[s.index[a]].quality, s.models[s.index[b]].quality) })
	rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == best })
	return []string{best, rest[len(rest)/2], rest[0]}
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
