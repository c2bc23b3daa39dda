package main

import (
	"math"

	"fairlead.dev/internal/route/predict"
)

const (
	overallVariance = 2.25 // variance of the levels of models
	// familyVariance is the variance of a model's levels in the families. 20 outcomes have the same weight as the model's overall level.
	familyVariance = 0.25
	smallestSpread = 0.1
)

// tally holds the outcomes of requests by their logit of a good answer at level 0, in steps of offsetStep.
type tally map[int]struct{ count, score float64 }

const offsetStep = 0.1

func (t tally) add(f *predict.Features, score float64) {
	p := predict.Success(f, &predict.Ability{}, "").Probability
	at := int(math.Round(math.Log(p/(1-p)) / offsetStep))
	cell := t[at]
	cell.count++
	cell.score += score
	t[at] = cell
}

// level returns the most probable level for the outcomes, and its variance, if levels have the given mean and variance.
func (t tally) level(mean, variance float64) (value, rest float64) {
	value = mean
	for range 12 {
		slope, curvature := (mean-value)/variance, 1/variance
		for at, cell := range t {
			p := 1 / (1 + math.Exp(-offsetStep*float64(at)-value))
			slope += cell.score - cell.count*p
			curvature += cell.count * p * (1 - p)
		}
		rest = 1 / curvature
		value += min(max(slope/curvature, -1), 1)
	}
	return value, rest
}

// fitAbilities fits a level for each model and family to the outcomes, given the features that the router sees. Families are shrunk to the
// level of the model.
func fitAbilities(rows []*outcome, features func(*outcome) predict.Features) map[string]predict.Ability {
	type tallies struct {
		all      tally
		families [predict.FamilyCount]tally
	}
	observed := map[string]*tallies{}
	for _, r := range rows {
		f := features(r)
		for m, score := range r.scores {
			t := observed[m]
			if t == nil {
				t = &tallies{all: tally{}}
				for i := range t.families {
					t.families[i] = tally{}
				}
				observed[m] = t
			}
			t.all.add(&f, score)
			t.families[f.Task.Index()].add(&f, score)
		}
	}
	abilities := map[string]predict.Ability{}
	for m, t := range observed {
		overall, _ := t.all.level(0, overallVariance)
		a := predict.Ability{Source: predict.FromTable}
		for i, family := range t.families {
			value, variance := family.level(overall, familyVariance)
			a.Levels[i], a.Spreads[i] = value, max(math.Sqrt(variance), smallestSpread)
		}
		abilities[m] = a
	}
	return abilities
}

// benchmarkDifficulties returns the difficulty of each source that explains the outcomes best if a model has one level in all families. The
// mean over the rows is that of the difficulties that the router reads.
func benchmarkDifficulties(rows []*outcome) map[string]float64 {
	mean := 0.0
	for _, r := range rows {
		mean += r.input.Features.Difficulty / float64(len(rows))
	}
	difficulty := map[string]float64{}
	for _, r := range rows {
		difficulty[r.source] = mean
	}
	for range 6 {
		features := func(r *outcome) predict.Features { return predict.Features{Difficulty: difficulty[r.source]} }
		abilities := fitAbilities(rows, features)
		expected, actual, certain, sum := map[string]float64{}, map[string]float64{}, map[string]float64{}, 0.0
		for _, r := range rows {
			f := features(r)
			for m, score := range r.scores {
				a := abilities[m]
				p := predict.Success(&f, &a, "").Probability
				expected[r.source] += p
				actual[r.source] += score
				certain[r.source] += p * (1 - p)
			}
		}
		const logits = 1.65 // of a step of difficulty
		for source := range difficulty {
			difficulty[source] += (expected[source] - actual[source]) / max(certain[source], 1) / logits
		}
		for _, r := range rows {
			sum += difficulty[r.source] / float64(len(rows))
		}
		for source := range difficulty {
			difficulty[source] += mean - sum
		}
	}
	return difficulty
}
