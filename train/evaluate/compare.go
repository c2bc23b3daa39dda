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
	rows   []*outcome
	models []string
	cost   [][]float64 // cost in dollars by task and model: recorded, or expected by the router
	picks  [][]int     // index of the chosen model by task and objective
}

// spend holds a mean cost and the mean quality at that cost.
type spend struct{ cost, quality float64 }

// gain is a difference of quality with the interval that contains 90 % of its bootstrap samples.
type gain struct{ value, low, high float64 }

func (g gain) String() string { return fmt.Sprintf("%+.4f [%+.4f, %+.4f]", g.value, g.low, g.high) }

// placeResult is the result at one place on the dial.
type placeResult struct {
	spend
	overMix   gain    // quality minus that of the best mix of two models at the same cost
	overOne   float64 // quality minus that of the best model that costs at most as much
	costShare float64 // cost as a share of the best model's
	picks     map[string]int
}

type result struct {
	dial                     []placeResult // by objective
	mean                     gain          // mean of overMix over the places on the dial
	overOne                  float64
	cheapRatio, cheapQuality float64 // cost of auto:cost as a multiple of the cheapest model that solves 80 % of the best; its quality as a share of the best
}

func (r *result) at(place float64) gain { return r.dial[slices.Index(dialPlaces, place)].overMix }

const samples = 200

func (c *comparison) evaluate() *result {
	groups := c.groupTotals()
	all := make([]int, len(groups))
	for i := range all {
		all[i] = i
	}
	singles, autos := c.total(groups, all)
	hull := upperHull(singles)
	best := slices.MaxFunc(singles, func(a, b spend) int { return cmp.Compare(a.quality, b.quality) })
	r := &result{}
	for j, a := range autos {
		p := placeResult{spend: a, costShare: a.cost / best.cost, overOne: a.quality - bestBelow(singles, a.cost), picks: map[string]int{}}
		p.overMix.value = a.quality - heightAt(hull, a.cost)
		for i := range c.picks {
			p.picks[c.models[c.picks[i][j]]]++
		}
		if j < len(dialPlaces) {
			r.mean.value += p.overMix.value / float64(len(dialPlaces))
			r.overOne += p.overOne / float64(len(dialPlaces))
		}
		r.dial = append(r.dial, p)
	}
	cheap := math.Inf(1)
	for _, s := range singles {
		if s.quality >= 0.8*best.quality {
			cheap = min(cheap, s.cost)
		}
	}
	auto := autos[len(dialPlaces)]
	r.cheapRatio, r.cheapQuality = auto.cost/cheap, auto.quality/best.quality
	c.bootstrap(r, groups)
	return r
}

// bootstrap computes the intervals. It draws groups, because the tasks of a group resemble each other.
func (c *comparison) bootstrap(r *result, groups []groupTotal) {
	random := rand.New(rand.NewPCG(20261119, uint64(len(groups))))
	draws := make([][]float64, len(r.dial)+1)
	sample := make([]int, len(groups))
	for range samples {
		for i := range sample {
			sample[i] = random.IntN(len(groups))
		}
		singles, autos := c.total(groups, sample)
		hull, sum := upperHull(singles), 0.0
		for j, a := range autos {
			g := a.quality - heightAt(hull, a.cost)
			draws[j] = append(draws[j], g)
			if j < len(dialPlaces) {
				sum += g / float64(len(dialPlaces))
			}
		}
		draws[len(autos)] = append(draws[len(autos)], sum)
	}
	for j, values := range draws {
		slices.Sort(values)
		low, high := values[samples/20], values[samples-1-samples/20]
		if j < len(r.dial) {
			r.dial[j].overMix.low, r.dial[j].overMix.high = low, high
		} else {
			r.mean.low, r.mean.high = low, high
		}
	}
}

// groupTotal holds sums over the tasks of a group, for each model and for each objective.
type groupTotal struct {
	tasks          float64
	singles, autos []spend
}

func (c *comparison) groupTotals() []groupTotal {
	index, totals := map[string]int{}, []groupTotal(nil)
	for i, r := range c.rows {
		at, known := index[r.group]
		if !known {
			at = len(totals)
			index[r.group] = at
			totals = append(totals, groupTotal{singles: make([]spend, len(c.models)), autos: make([]spend, len(c.picks[i]))})
		}
		t := &totals[at]
		t.tasks++
		for k, m := range c.models {
			t.singles[k].add(spend{c.cost[i][k], r.scores[m]}, 1)
		}
		for j, k := range c.picks[i] {
			t.autos[j].add(spend{c.cost[i][k], r.scores[c.models[k]]}, 1)
		}
	}
	return totals
}

func (s *spend) add(other spend, share float64) {
	s.cost += other.cost * share
	s.quality += other.quality * share
}

// total returns the means over the chosen groups, for each model and for each objective.
func (c *comparison) total(groups []groupTotal, chosen []int) (singles, autos []spend) {
	tasks := 0.0
	for _, i := range chosen {
		tasks += groups[i].tasks
	}
	singles, autos = make([]spend, len(groups[0].singles)), make([]spend, len(groups[0].autos))
	for _, i := range chosen {
		for k, s := range groups[i].singles {
			singles[k].add(s, 1/tasks)
		}
		for j, s := range groups[i].autos {
			autos[j].add(s, 1/tasks)
		}
	}
	return singles, autos
}

// bestBelow returns the quality of the best model that costs at most the given amount, or of the cheapest model.
func bestBelow(singles []spend, cost float64) float64 {
	cheapest := slices.MinFunc(singles, func(a, b spend) int { return cmp.Compare(a.cost, b.cost) })
	quality := cheapest.quality
	for _, s := range singles {
		if s.cost <= cost*(1+1e-9) {
			quality = max(quality, s.quality)
		}
	}
	return quality
}

// upperHull returns the rising part of the upper convex hull of the points. A mix of two models can reach each point of the hull.
func upperHull(points []spend) []spend {
	sorted := slices.SortedFunc(slices.Values(points), func(a, b spend) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.quality, b.quality)) })
	var hull []spend
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
	switch i {
	case 0:
		return hull[0].quality
	case len(hull):
		return hull[len(hull)-1].quality
	}
	a, b := hull[i-1], hull[i]
	return a.quality + (cost-a.cost)/(b.cost-a.cost)*(b.quality-a.quality)
}
