package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// comparison holds the choices of auto for the tasks of a pool.
type comparison struct {
	tasks  []*outcome
	models []string
	costs  [][]float64 // by task and model: recorded, or expected by the router
	picks  [][]int     // index of the chosen model by task and goal
}

// spend holds a cost and the quality at that cost.
type spend struct{ cost, quality float64 }

func (s *spend) add(cost, quality float64) { s.cost, s.quality = s.cost+cost, s.quality+quality }

// gain is a difference of quality with the interval that contains 90 % of its bootstrap samples.
type gain struct{ value, low, high float64 }

func (g gain) String() string { return fmt.Sprintf("%+.4f [%+.4f, %+.4f]", g.value, g.low, g.high) }

// goalResult is the result for a place on the dial or a named objective.
type goalResult struct {
	spend
	overMix gain    // quality minus that of the best mix of two models at the same cost
	overOne float64 // quality minus that of the best model that costs at most as much, or of the cheapest model
	choices map[string]int
}

type result struct {
	goals          []goalResult
	mean           gain    // mean of overMix over the places on the dial
	overOne        float64 // mean over the places on the dial
	best, cheapest float64 // quality of the best model, and cost of the cheapest with 80 % of that quality
}

const samples = 200

// evaluate computes the result. The bootstrap draws groups, because the tasks of a group resemble each other.
func (c *comparison) evaluate() *result {
	groups := c.totals()
	sample := make([]int, len(groups))
	for i := range sample {
		sample[i] = i
	}
	singles, autos := groups.mean(sample)
	r := &result{goals: make([]goalResult, len(autos)), cheapest: math.Inf(1)}
	for _, s := range singles {
		r.best = max(r.best, s.quality)
	}
	for _, s := range singles {
		if s.quality >= 0.8*r.best {
			r.cheapest = min(r.cheapest, s.cost)
		}
	}
	gains, mean := overMix(singles, autos)
	r.mean.value = mean
	for j := range r.goals {
		g := &r.goals[j]
		g.spend, g.overMix.value, g.overOne, g.choices = autos[j], gains[j], autos[j].quality-bestBelow(singles, autos[j].cost), map[string]int{}
		for i := range c.picks {
			g.choices[c.models[c.picks[i][j]]]++
		}
		if j < len(dial) {
			r.overOne += g.overOne / float64(len(dial))
		}
	}
	random := rand.New(rand.NewPCG(20261119, uint64(len(groups))))
	draws := make([][]float64, len(autos)+1)
	for range samples {
		for i := range sample {
			sample[i] = random.IntN(len(groups))
		}
		gains, mean := overMix(groups.mean(sample))
		for j, g := range append(gains, mean) {
			draws[j] = append(draws[j], g)
		}
	}
	for j, values := range draws {
		g := &r.mean
		if j < len(autos) {
			g = &r.goals[j].overMix
		}
		slices.Sort(values)
		g.low, g.high = values[samples/20], values[samples-1-samples/20]
	}
	return r
}

// totals holds sums over the tasks of each group, for each model and for each goal.
type totals []struct {
	tasks          float64
	singles, autos []spend
}

func (c *comparison) totals() (groups totals) {
	index := map[string]int{}
	for i, o := range c.tasks {
		at, known := index[o.group]
		if !known {
			at = len(groups)
			index[o.group] = at
			groups = append(groups, make(totals, 1)...)
			groups[at].singles, groups[at].autos = make([]spend, len(c.models)), make([]spend, len(c.picks[i]))
		}
		g := &groups[at]
		g.tasks++
		for k, m := range c.models {
			g.singles[k].add(c.costs[i][k], o.scores[m])
		}
		for j, k := range c.picks[i] {
			g.autos[j].add(c.costs[i][k], o.scores[c.models[k]])
		}
	}
	return groups
}

// mean returns the means over the chosen groups, for each model and for each goal.
func (t totals) mean(chosen []int) (singles, autos []spend) {
	tasks := 0.0
	for _, i := range chosen {
		tasks += t[i].tasks
	}
	singles, autos = make([]spend, len(t[0].singles)), make([]spend, len(t[0].autos))
	for _, i := range chosen {
		for k, s := range t[i].singles {
			singles[k].add(s.cost/tasks, s.quality/tasks)
		}
		for j, s := range t[i].autos {
			autos[j].add(s.cost/tasks, s.quality/tasks)
		}
	}
	return singles, autos
}

// overMix returns the quality over the best mix of two models at the same cost, for each goal, and its mean over the places on the dial.
func overMix(singles, autos []spend) (gains []float64, mean float64) {
	hull := upperHull(singles)
	for j, a := range autos {
		gains = append(gains, a.quality-heightAt(hull, a.cost))
		if j < len(dial) {
			mean += gains[j] / float64(len(dial))
		}
	}
	return gains, mean
}

func bestBelow(singles []spend, cost float64) float64 {
	quality := slices.MinFunc(singles, func(a, b spend) int { return cmp.Compare(a.cost, b.cost) }).quality
	for _, s := range singles {
		if s.cost <= cost*(1+1e-9) {
			quality = max(quality, s.quality)
		}
	}
	return quality
}

// upperHull returns the rising part of the upper convex hull of the points. A mix of two models can reach each point of the hull.
func upperHull(points []spend) (hull []spend) {
	sorted := slices.SortedFunc(slices.Values(points), func(a, b spend) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.quality, b.quality)) })
	for _, p := range sorted {
		if n := len(hull); n > 0 && p.quality <= hull[n-1].quality {
			continue
		}
		for n := len(hull); n >= 2; n = len(hull) {
			a, b := hull[n-2], hull[n-1]
			if (b.quality-a.quality)*(p.cost-a.cost) > (p.quality-a.quality)*(b.cost-a.cost) {
				break
			}
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}

// heightAt returns the quality of the hull at a cost.
func heightAt(hull []spend, cost float64) float64 {
	i, _ := slices.BinarySearchFunc(hull, cost, func(s spend, c float64) int { return cmp.Compare(s.cost, c) })
	if i == 0 || i == len(hull) {
		return hull[min(i, len(hull)-1)].quality
	}
	a, b := hull[i-1], hull[i]
	return a.quality + (cost-a.cost)/(b.cost-a.cost)*(b.quality-a.quality)
}
