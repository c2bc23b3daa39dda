package route

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route/predict"
)

// PoolSize is the maximum number of models that a route chooses among.
const PoolSize = 8

// PoolModel is what the pool needs to know about a model that the connected accounts offer.
type PoolModel struct {
	Name      string
	Released  string
	Price     money.Amount // cost of a typical request at the cheapest target; 0 if unpriced
	Priced    bool
	Quality   float64 // mean predicted quality at the middle of the difficulty scale
	Ability   predict.Ability
	Abilities llm.Abilities
	Context   int64
	Retired   bool
	Preview   bool // a preview, or a model for a single purpose
}

// Left is a model that is not in the pool, with the reason.
type Left struct {
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

// Pool is the list of models that auto chooses among, cheapest first, and the reasons why others are not in it.
type Pool struct {
	Models []string `json:"models"`
	Left   []Left   `json:"left"`
}

// Unpriced is the reason for leaving out a model without a price.
const Unpriced = "unpriced: add a price"

// basicAbilities are the abilities that a model must share with one that replaces it. Other abilities bring a model in for the requests that
// need it.
const basicAbilities = llm.Tools | llm.JSONSchema | llm.JSONMode | llm.Vision

// usualContext is the context window above which more is an ability that few requests need.
const usualContext = 128_000

// NewPool computes the default pool: priced and current models of which none is dominated, thinned along price against quality until
// PoolSize remain. The result does not depend on the order of the models.
func NewPool(models []PoolModel) Pool {
	if !slices.ContainsFunc(models, func(m PoolModel) bool { return m.unusable() == "" }) {
		models = slices.Clone(models) // an account that offers only retired models is served by them
		for i := range models {
			models[i].Retired = false
		}
	}
	var p Pool
	usable := make([]PoolModel, 0, len(models))
	for _, m := range models {
		if reason := m.unusable(); reason != "" {
			p.Left = append(p.Left, Left{m.Name, reason})
			continue
		}
		usable = append(usable, m)
	}
	// A model can be dominated only by one that is not dearer, so one pass in the order of prices finds all.
	slices.SortFunc(usable, func(a, b PoolModel) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(b.Quality, a.Quality), cmp.Compare(b.Released, a.Released), cmp.Compare(a.Name, b.Name))
	})
	kept := make([]PoolModel, 0, len(usable))
	for i := range usable {
		m := &usable[i]
		by := slices.IndexFunc(kept, func(other PoolModel) bool { return other.dominates(m) })
		if by < 0 {
			kept = append(kept, *m)
			continue
		}
		p.Left = append(p.Left, Left{m.Name, kept[by].advantage(m)})
	}
	for len(kept) > PoolSize {
		drop, near := closest(kept)
		p.Left = append(p.Left, Left{kept[drop].Name, fmt.Sprintf("%s is close in price and quality, and %d models are enough", kept[near].Name, PoolSize)})
		kept = slices.Delete(kept, drop, drop+1)
	}
	for _, m := range kept {
		p.Models = append(p.Models, m.Name)
	}
	slices.SortFunc(p.Left, func(a, b Left) int { return cmp.Compare(a.Model, b.Model) })
	return p
}

// LeaveUnpriced records models of the connected accounts whose price is unknown, so that the pool names them. It must be called before the
// snapshot is used.
func (s *Snapshot) LeaveUnpriced(names []string) {
	for _, name := range names {
		m := PoolModel{Name: name, Preview: isPreview(name)}
		known := slices.ContainsFunc(s.pool.Left, func(l Left) bool { return l.Model == name })
		if _, served := s.index[name]; !served && !known && !m.Preview {
			s.pool.Left = append(s.pool.Left, Left{name, m.unusable()})
		}
	}
	slices.SortFunc(s.pool.Left, func(a, b Left) int { return cmp.Compare(a.Model, b.Model) })
}

// unusable returns why a model can never be in the default pool, or an empty string.
func (m *PoolModel) unusable() string {
	switch {
	case !m.Priced:
		return Unpriced
	case m.Retired:
		return "retired by its vendor"
	case m.Preview:
		return "a preview, or made for a single purpose"
	}
	return ""
}

// dominates reports whether there is no reason to choose other while m is available: m is not dearer, has the same basic abilities, and is
// at least as good in every family within the error of the abilities. A newer model that is better on the whole may be a little worse in
// one family.
func (m *PoolModel) dominates(other *PoolModel) bool {
	if m.Price > other.Price || m.Abilities&basicAbilities&other.Abilities != other.Abilities&basicAbilities {
		return false
	}
	if other.Context != 0 && m.Context != 0 && m.Context < min(other.Context, usualContext) {
		return false
	}
	const errorShare, newerShare = 0.25, 1.0 // share of the standard deviation of the difference that counts as equal
	share := errorShare
	if m.Released >= other.Released && m.Quality >= other.Quality {
		share = newerShare
	}
	for f := range m.Ability.Levels {
		if m.Ability.Levels[f] < other.Ability.Levels[f]-share*math.Hypot(m.Ability.Spreads[f], other.Ability.Spreads[f]) {
			return false
		}
	}
	return true
}

// advantage says in a few words why m makes other unnecessary.
func (m *PoolModel) advantage(other *PoolModel) string {
	var parts []string
	if m.Released > other.Released && other.Released != "" {
		parts = append(parts, "newer")
	}
	switch ratio := float64(other.Price) / float64(max(m.Price, 1)); {
	case ratio >= 1.95:
		parts = append(parts, fmt.Sprintf("%.0f times cheaper", ratio))
	case ratio > 1.02:
		parts = append(parts, "cheaper")
	}
	if m.Quality > other.Quality+0.01 {
		parts = append(parts, "better")
	} else {
		parts = append(parts, "not worse")
	}
	return fmt.Sprintf("%s is %s", m.Name, strings.Join(parts, ", "))
}

// closest returns the model that the pool misses least, and its neighbour: of the two models that are closest in price and quality, the one
// that is worse for its price. The cheapest and the best model stay.
func closest(kept []PoolModel) (drop, near int) {
	best := 0
	for i := range kept {
		if kept[i].Quality > kept[best].Quality {
			best = i
		}
	}
	least := math.Inf(1)
	for i := range kept {
		for j := range kept {
			if i == j || i == 0 || i == best {
				continue
			}
			a, b := &kept[i], &kept[j]
			const pointsPerDoubling = 0.05 // a doubling of the price is as far as this difference in quality
			distance := math.Abs(math.Log2(float64(max(a.Price, 1))/float64(max(b.Price, 1)))) + math.Abs(a.Quality-b.Quality)/pointsPerDoubling
			// Of two neighbours the one goes that is worth less.
			if worth := func(m *PoolModel) float64 {
				return m.Quality/pointsPerDoubling - math.Log2(float64(max(m.Price, 1)))
			}; worth(a) > worth(b) && j != 0 && j != best {
				continue
			}
			if distance < least {
				drop, near, least = i, j, distance
			}
		}
	}
	return drop, near
}

// PoolChange is a difference between two pools, as a sentence.
type PoolChange struct {
	Added, Removed string
	Reason         string
}

// ComparePools describes how the pool changed: "gpt-6-luna replaced gpt-5.6-luna: newer, 2 times cheaper, not worse".
func ComparePools(before, after Pool) []PoolChange {
	var changes []PoolChange
	replaced := map[string]bool{}
	for _, name := range before.Models {
		if slices.Contains(after.Models, name) {
			continue
		}
		c := PoolChange{Removed: name, Reason: name + " left the pool: no connected account offers it"}
		if i := slices.IndexFunc(after.Left, func(l Left) bool { return l.Model == name }); i >= 0 {
			reason := after.Left[i].Reason
			c.Reason = name + " left the pool: " + reason
			if by, advantage, found := strings.Cut(reason, " is "); found && slices.Contains(after.Models, by) && !slices.Contains(before.Models, by) {
				c.Added, c.Reason = by, fmt.Sprintf("%s replaced %s: %s", by, name, advantage)
				replaced[by] = true
			}
		}
		changes = append(changes, c)
	}
	for _, name := range after.Models {
		if !slices.Contains(before.Models, name) && !replaced[name] {
			changes = append(changes, PoolChange{Added: name, Reason: name + " joined the pool"})
		}
	}
	return changes
}

// poolModels describes the chat models of the snapshot for NewPool.
func (s *Snapshot) poolModels() []PoolModel {
	list := make([]PoolModel, 0, len(s.models))
	for i := range s.models {
		m := &s.models[i]
		if m.model.Op != llm.Chat {
			continue
		}
		one := PoolModel{
			Name: m.model.Name, Released: m.model.Released, Quality: m.quality, Ability: m.ability, Abilities: m.model.Abilities, Context: m.model.Context,
			Retired: m.model.Deprecated, Preview: isPreview(m.model.Name),
		}
		for _, t := range s.byModel[m.model.Name] {
			if t.Price == nil || t.NamedOnly() {
				continue
			}
			if cost := t.Price.At(time.Time{}).Cost(typicalUsage); !one.Priced || cost < one.Price {
				one.Price, one.Priced = cost, true
			}
		}
		list = append(list, one)
	}
	return list
}

// previewWords are parts of the names of previews and of models for a single purpose. Vendors mark both only in the name.
var previewWords = []string{
	"preview", "beta", "experimental", "-exp", "search", "deep-research", "audio", "realtime", "transcribe", "tts", "image", "computer-use",
	"instant-", "guard", "safeguard", "ocr", "embed", "live", "robotics", "translate", "vision-only", "cyber", "-bio", "fim", "codestral",
}

func isPreview(name string) bool {
	return slices.ContainsFunc(previewWords, func(word string) bool { return strings.Contains(name, word) })
}
