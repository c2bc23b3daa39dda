package route

import "slices"

// maxExploreCost limits the cost of an explored model to a multiple of the best choice's cost.
const maxExploreCost = 4

// explore replaces the choice by a randomly drawn model for a share of requests, so that all models receive ratings. It
// records the propensity of every model that could have been drawn.
func (r *ranking) explore() bool {
	if r.in.Explore <= 0 || !IsAuto(r.in.Model) {
		return false
	}
	first := r.ready[0]
	var drawn []int // indexes of the first target of each eligible model
	for i, cand := range r.ready {
		if i > 0 && cand.Model == r.ready[i-1].Model {
			continue
		}
		if cand.fallbackOrder == first.fallbackOrder && cand.providerOrder == first.providerOrder && cand.preference == first.preference && cand.total <= maxExploreCost*first.total {
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
	model := r.ready[chosen].Model
	front := make([]*candidate, 0, len(r.ready))
	rest := make([]*candidate, 0, len(r.ready))
	for _, cand := range r.ready {
		if cand.Model == model {
			front = append(front, cand)
		} else {
			rest = append(rest, cand)
		}
	}
	r.ready = slices.Concat(front, rest)
	return true
}
