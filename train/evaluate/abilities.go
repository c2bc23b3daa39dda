package main

import (
	"math"
	"slices"

	"fairlead.dev/internal/route/predict"
)

// foldCount is the number of parts into which the groups are divided.
const foldCount = 5

// fold is what can be learned from the outcomes outside of a part of the groups.
type fold struct {
	outcomes   []*outcome
	difficulty map[string]float64         // of the sources
	abilities  map[string]predict.Ability // by model
}

func newFold(all []*outcome, n int) *fold {
	f := &fold{outcomes: slices.DeleteFunc(slices.Clone(all), func(o *outcome) bool { return o.fold == n }), difficulty: map[string]float64{}}
	mean := 0.0 // of the difficulties that the router reads; the difficulties of the sources keep it
	for _, o := range f.outcomes {
		mean += o.input.Features.Difficulty / float64(len(f.outcomes))
	}
	for _, o := range f.outcomes {
		f.difficulty[o.source] = mean
	}
	for range 6 {
		f.abilities = fitAbilities(f.outcomes, f.features)
		f.moveDifficulties(mean)
	}
	f.abilities = fitAbilities(f.outcomes, f.features)
	return f
}

// features returns the features of a task with the family and the difficulty of its source.
func (f *fold) features(o *outcome) predict.Features {
	features := o.input.Features
	features.Task, features.Difficulty = o.family, f.difficulty[o.source]
	return features
}

// moveDifficulties takes a step towards the difficulties with which the sources have as many good answers as expected.
func (f *fold) moveDifficulties(mean float64) {
	missing, slope, sum := map[string]float64{}, map[string]float64{}, 0.0
	for _, o := range f.outcomes {
		features := f.features(o)
		for m, score := range o.scores {
			a := f.abilities[m]
			p := predict.Success(&features, &a, "").Probability
			missing[o.source] += p - score
			slope[o.source] += p * (1 - p)
		}
	}
	const logits = 1.65 // of a step of difficulty
	for source := range f.difficulty {
		f.difficulty[source] += missing[source] / max(slope[source], 1) / logits
	}
	for _, o := range f.outcomes {
		sum += f.difficulty[o.source] / float64(len(f.outcomes))
	}
	for source := range f.difficulty {
		f.difficulty[source] += mean - sum
	}
}

// Variances of the levels of models, and of a model's levels in the families. With familyVariance, 20 outcomes have the same weight as the
// model's overall level.
const (
	overallVariance = 2.25
	familyVariance  = 0.25
	smallestSpread  = 0.1
)

// tally counts outcomes and adds up their scores by the logit of a good answer at level 0, in steps of offsetStep.
type tally map[int][2]float64

const offsetStep = 0.1

// level returns the most probable level for the outcomes, and its variance, if levels have the given mean and variance.
func (t tally) level(mean, variance float64) (value, rest float64) {
	value = mean
	for range 12 {
		slope, curvature := (mean-value)/variance, 1/variance
		for offset, cell := range t {
			p := 1 / (1 + math.Exp(-offsetStep*float64(offset)-value))
			slope += cell[1] - cell[0]*p
			curvature += cell[0] * p * (1 - p)
		}
		rest = 1 / curvature
		value += min(max(slope/curvature, -1), 1)
	}
	return value, rest
}

// fitAbilities fits a level for each model and family. Families are shrunk to the level of the model.
func fitAbilities(outcomes []*outcome, features func(*outcome) predict.Features) map[string]predict.Ability {
	observed := map[string]*[predict.FamilyCount + 1]tally{} // the last one holds all outcomes of the model
	for _, o := range outcomes {
		f := features(o)
		p := predict.Success(&f, &predict.Ability{}, "").Probability
		offset := int(math.Round(math.Log(p/(1-p)) / offsetStep))
		for m, score := range o.scores {
			t := observed[m]
			if t == nil {
				t = new([predict.FamilyCount + 1]tally)
				for i := range t {
					t[i] = tally{}
				}
				observed[m] = t
			}
			for _, i := range [...]int{f.Task.Index(), predict.FamilyCount} {
				cell := t[i][offset]
				t[i][offset] = [2]float64{cell[0] + 1, cell[1] + score}
			}
		}
	}
	abilities := map[string]predict.Ability{}
	for m, t := range observed {
		overall, _ := t[predict.FamilyCount].level(0, overallVariance)
		a := predict.Ability{Source: predict.FromTable}
		for i := range a.Levels {
			level, variance := t[i].level(overall, familyVariance)
			a.Levels[i], a.Spreads[i] = level, max(math.Sqrt(variance), smallestSpread)
		}
		abilities[m] = a
	}
	return abilities
}
