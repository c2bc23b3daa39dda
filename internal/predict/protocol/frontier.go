package protocol

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// FrontierResult holds mean qualities over all budgets between the costs of the cheapest and the most expensive model. Router is the result
// of the evaluated router, Zero that of the best mixtures of single models, and Oracle that of a router with access to the outcomes.
type FrontierResult struct {
	Name    string   `json:"name"`
	Prompts int      `json:"prompts"`
	Models  []string `json:"models"`
	Router  float64  `json:"router"`
	Zero    float64  `json:"zero"`
	Oracle  float64  `json:"oracle"`
}

// costPoint holds a mean cost and the mean quality at that cost.
type costPoint struct{ cost, quality float64 }

const (
	budgets   = 2001
	tradeOffs = 300 // number of positive dollar values of a good response that are tried, from 0.000001 to 10,000; 0 is tried in addition
)

func evaluateFrontier(name string, rows []*Row, predictions Predictions) (FrontierResult, bool) {
	rows, models := completeRows(rows, predictions)
	if len(models) < 2 {
		return FrontierResult{}, false
	}
	quality := column(rows, models, func(r *Row) map[string]float64 { return r.Scores })
	cost := column(rows, models, func(r *Row) map[string]float64 { return r.Costs })
	guess := column(rows, models, func(r *Row) map[string]float64 { return predictions[r.ID] })
	f := outcomeTable{quality: quality, cost: cost}
	single := make([]costPoint, len(models))
	for k := range models {
		single[k] = f.mean(func(int) int { return k })
	}
	low := slices.MinFunc(single, byCost).cost
	high := slices.MaxFunc(single, byCost).cost
	usual := make([]float64, len(models)) // mean cost of each model, because a router does not know the cost of a single prompt
	for k, o := range single {
		usual[k] = o.cost
	}
	return FrontierResult{
		Name: name, Prompts: len(rows), Models: models,
		Router: meanQuality(f.sweep(guess, func(int) []float64 { return usual }), low, high),
		Zero:   meanQuality(single, low, high),
		Oracle: meanQuality(f.sweep(quality, func(i int) []float64 { return cost[i] }), low, high),
	}, true
}

func byCost(a, b costPoint) int { return cmp.Compare(a.cost, b.cost) }

// completeRows returns the rows with the largest number of usable models, and the models that these rows have in common.
func completeRows(rows []*Row, predictions Predictions) (kept []*Row, models []string) {
	known := func(r *Row) []string {
		var names []string
		for m := range r.Scores {
			_, priced := r.Costs[m]
			_, predicted := predictions[r.ID][m]
			if priced && predicted {
				names = append(names, m)
			}
		}
		return names
	}
	maxModels := 0
	for _, r := range rows {
		maxModels = max(maxModels, len(known(r)))
	}
	if maxModels == 0 {
		return nil, nil
	}
	counts := map[string]int{}
	for _, r := range rows {
		names := known(r)
		if len(names) != maxModels {
			continue
		}
		kept = append(kept, r)
		for _, m := range names {
			counts[m]++
		}
	}
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n < len(kept) })
	return kept, slices.Sorted(maps.Keys(counts))
}

func column(rows []*Row, models []string, valuesOf func(*Row) map[string]float64) [][]float64 {
	table := make([][]float64, len(rows))
	for i, r := range rows {
		values := valuesOf(r)
		for _, m := range models {
			table[i] = append(table[i], values[m])
		}
	}
	return table
}

// outcomeTable holds outcomes and costs, indexed by prompt and model.
type outcomeTable struct{ quality, cost [][]float64 }

// mean returns the mean cost and quality of choosing a model for each prompt.
func (f outcomeTable) mean(choose func(i int) int) costPoint {
	var sum costPoint
	for i := range f.quality {
		k := choose(i)
		sum.cost += f.cost[i][k]
		sum.quality += f.quality[i][k]
	}
	n := float64(len(f.quality))
	return costPoint{sum.cost / n, sum.quality / n}
}

// sweep returns the mean cost and quality for every trade-off. For each prompt, it chooses the model with the highest value minus price.
func (f outcomeTable) sweep(value [][]float64, price func(i int) []float64) []costPoint {
	offers := make([]costPoint, 0, tradeOffs+1)
	for step := -1; step < tradeOffs; step++ {
		worth := 0.0
		if step >= 0 {
			worth = math.Pow(10, -6+10*float64(step)/(tradeOffs-1))
		}
		offers = append(offers, f.mean(func(i int) int {
			best, bestValue := 0, math.Inf(-1)
			prices := price(i)
			for k, v := range value[i] {
				if u := worth*v - prices[k]; u > bestValue {
					best, bestValue = k, u
				}
			}
			return best
		}))
	}
	return offers
}

// meanQuality returns the mean quality of the upper hull of the points between two costs.
func meanQuality(offers []costPoint, low, high float64) float64 {
	hull := upperHull(offers)
	sum := 0.0
	for i := range budgets {
		sum += heightAt(hull, low+(high-low)*float64(i)/(budgets-1))
	}
	return sum / budgets
}

// upperHull returns the rising part of the upper convex hull of the points. Mixtures of points can reach the hull.
func upperHull(offers []costPoint) []costPoint {
	sorted := slices.Clone(offers)
	slices.SortFunc(sorted, func(a, b costPoint) int { return cmp.Or(byCost(a, b), cmp.Compare(a.quality, b.quality)) })
	var hull []costPoint
	for _, p := range sorted {
		if n := len(hull); n > 0 && p.quality <= hull[n-1].quality {
			continue
		}
		for n := len(hull); n >= 2 && below(hull[n-2], hull[n-1], p); n = len(hull) {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}

// below reports whether b is on or under the line from a to c.
func below(a, b, c costPoint) bool {
	return (b.quality-a.quality)*(c.cost-a.cost) <= (c.quality-a.quality)*(b.cost-a.cost)
}

func heightAt(hull []costPoint, cost float64) float64 {
	i, _ := slices.BinarySearchFunc(hull, cost, func(o costPoint, c float64) int { return cmp.Compare(o.cost, c) })
	switch i {
	case 0:
		return hull[0].quality
	case len(hull):
		return hull[len(hull)-1].quality
	}
	a, b := hull[i-1], hull[i]
	return a.quality + (cost-a.cost)/(b.cost-a.cost)*(b.quality-a.quality)
}
