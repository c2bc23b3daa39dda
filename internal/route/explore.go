package route

import (
	"math"
	"slices"
)

// maxExploreCost is the maximum cost of an explored model as a multiple of the best choice's cost.
const maxExploreCost = 4

// explore replaces the choice with a randomly drawn model for a share of requests, so that all models receive ratings. It records the
// propensity of every model that could have been drawn.
func (r *ranking) explore() bool {
	if r.in.Explore <= 0 || !IsAuto(r.in.Model) {
		return false
	}
	if r.in.Trial != nil {
		return r.try(r.in.Trial)
	}
	first := r.ready[0]
	var drawn []int // indexes of the first target of each eligible model
	for i, cand := range r.ready {
		if i > 0 && cand.Model == r.ready[i-1].Model {
			continue
		}
		if sameClass(cand, first) && cand.total <= maxExploreCost*first.total {
			drawn = append(drawn, i)
		}
	}
	share := min(r.in.Explore, 1)
	for _, i := range drawn {
		r.ready[i].Propensity = share / float64(len(drawn))
	}
	first.Propensity += 1 - share
	if r.in.Draw >= share {
		return false
	}
	chosen := drawn[min(int(r.in.Draw/share*float64(len(drawn))), len(drawn)-1)]
	if chosen == 0 {
		return false
	}
	r.moveToFront(r.ready[chosen])
	return true
}

// Trial limits exploration by cost and predicted quality instead of by the number of requests.
type Trial struct {
	Floor float64 `json:"floor,omitempty"` // minimum predicted quality of a model on trial
}

const (
	// maxQualityLoss is the maximum difference between the predicted qualities of the best choice and a model on trial.
	maxQualityLoss = 0.05
	// trialHope is a number of standard deviations. A model is tried only if its predicted quality plus this margin reaches that of the
	// best choice.
	trialHope = 1.645
)

// try replaces the choice with another model that may be better. The probability of each model is inversely proportional to its cost, so
// that the expected cost of trials is at most the share Explore of the best choice's cost. A model is not tried if its predicted quality is
// below the floor, or lower than the quality of the best choice by more than maxQualityLoss.
func (r *ranking) try(t *Trial) bool {
	first := r.ready[0]
	if !first.priced() || first.total <= 0 || r.discards > 0 {
		return false // the cost is unknown, or another model could not read the reasoning of the tool loop
	}
	var tried []int // indexes of the first target of each model that may be tried
	for i, cand := range r.ready {
		if i == 0 || cand.Model == r.ready[i-1].Model || cand.Model == first.Model || !cand.priced() || cand.total <= 0 {
			continue
		}
		good := cand.Quality >= max(t.Floor, first.Quality-maxQualityLoss) && cand.Quality+trialHope*cand.Spread >= first.Quality
		if sameClass(cand, first) && good && cand.total <= maxExploreCost*first.total {
			tried = append(tried, i)
		}
	}
	share := min(r.in.Explore, 1)
	chosen, rest, draw := -1, 1.0, r.in.Draw
	for _, i := range tried {
		cand := r.ready[i]
		cost := first.total.Dollars() / math.Max(cand.total.Dollars(), first.total.Dollars())
		cand.Propensity = round(share / float64(len(tried)) * cost)
		rest -= cand.Propensity
		if draw >= 0 && draw < cand.Propensity {
			chosen = i
		}
		draw -= cand.Propensity
	}
	first.Propensity = round(rest)
	if chosen < 0 {
		return false
	}
	r.moveToFront(r.ready[chosen])
	return true
}

// sameClass reports whether the router determines the order of two candidates. Otherwise, the caller or a policy determines it.
func sameClass(a, b *candidate) bool {
	return a.fallbackOrder == b.fallbackOrder && a.providerOrder == b.providerOrder && a.preference == b.preference
}

// moveToFront moves the model of the given candidate to the front of the plan. It does not move targets of the model that the caller or a
// policy ranks differently from the candidate.
func (r *ranking) moveToFront(leader *candidate) {
	slices.SortStableFunc(r.ready, func(a, b *candidate) int {
		first := func(cand *candidate) int {
			if cand.Model == leader.Model && sameClass(cand, leader) {
				return 0
			}
			return 1
		}
		return first(a) - first(b)
	})
}
