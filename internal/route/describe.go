package route

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
)

// PoolEntry is a model of a pool with what a person needs to judge it.
type PoolEntry struct {
	Model    string        `json:"model"`
	Offered  bool          `json:"offered" doc:"Whether a connected account offers the model."`
	Input    *money.Amount `json:"input_per_mtok_usd" nullable:"true" doc:"Price at the cheapest provider. null if unknown."`
	Output   *money.Amount `json:"output_per_mtok_usd" nullable:"true"`
	Quality  *float64      `json:"quality" doc:"Predicted share of good answers for tasks of medium difficulty, from 0 to 1."`
	Released string        `json:"released" doc:"Release date. Empty if unknown."`
	Why      string        `json:"why" doc:"Why the model is in the pool."`

	cost  money.Amount // cost of a typical request, for sorting
	entry *modelEntry
}

// DescribePool describes the models of a pool, cheapest first. An empty list of names stands for the default pool.
func (s *Snapshot) DescribePool(names []string) []PoolEntry {
	if len(names) == 0 {
		names = s.pool.Models
	}
	list := make([]PoolEntry, 0, len(names))
	for _, name := range names {
		e := PoolEntry{Model: name, cost: money.Max}
		var best *catalog.Price
		for _, t := range s.Named(name) {
			if i, ok := s.index[t.Model.Name]; ok {
				e.Offered, e.entry, e.Released = true, &s.models[i], t.Model.Released
				e.Quality = &e.entry.quality
			}
			if p := t.Price.At(time.Time{}); p != nil && (best == nil || p.Cost(typicalUsage) < best.Cost(typicalUsage)) {
				best = p
			}
		}
		if best != nil {
			e.Input, e.Output, e.cost = new(money.Amount(best.Input)), new(money.Amount(best.Output)), best.Cost(typicalUsage)
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b PoolEntry) int { return cmp.Compare(a.cost, b.cost) })
	for i := range list {
		list[i].Why = why(list, i)
	}
	return list
}

// why says what the model at index i adds to the cheaper models of the pool.
func why(list []PoolEntry, i int) string {
	e := &list[i]
	switch {
	case !e.Offered:
		return "no connected account offers it"
	case e.Input == nil:
		return Unpriced
	}
	best := true
	var below *PoolEntry // the best cheaper model
	for j := range list {
		other := &list[j]
		if other.entry == nil || other.entry == e.entry {
			continue
		}
		best = best && other.entry.quality <= e.entry.quality
		if j < i && (below == nil || other.entry.quality > below.entry.quality) {
			below = other
		}
	}
	switch {
	case below == nil && best:
		return "the cheapest and the best"
	case below == nil:
		return "the cheapest"
	}
	price := "the same price"
	if ratio := float64(e.cost) / float64(max(below.cost, 1)); ratio > 1.05 {
		price = fmt.Sprintf("%.2g × the price", ratio)
	}
	if gain := math.Round(100 * (e.entry.quality - below.entry.quality)); gain >= 1 {
		prefix := ""
		if best {
			prefix = "the best: "
		}
		return fmt.Sprintf("%s%s better than %s for %s", prefix, points(gain/100), below.Model, price)
	}
	if best {
		return fmt.Sprintf("the best, by less than a point over %s, for %s", below.Model, price)
	}
	return fmt.Sprintf("better than %s at some tasks or with other abilities, for %s", below.Model, price)
}

// Missing returns the models of the default pool that a pinned pool does not have.
func (s *Snapshot) Missing(pool []string) []string {
	missing := []string{}
	for _, name := range s.pool.Models {
		if len(pool) > 0 && !slices.Contains(pool, name) {
			missing = append(missing, name)
		}
	}
	return missing
}
