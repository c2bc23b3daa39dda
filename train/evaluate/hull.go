package main

import (
	"cmp"
	"slices"
)

// costPoint holds a mean cost and the mean quality at that cost.
type costPoint struct{ cost, quality float64 }

func byCost(a, b costPoint) int { return cmp.Compare(a.cost, b.cost) }

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
