package route

import (
	"math"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// effortEntry is a reasoning effort of a target.
type effortEntry struct {
	level  string
	target *provider.Target // copy of the target with the effort set
}

// efforts returns the efforts to compare, lowest first: those of the target that the route allows and that leave enough of the caller's
// output limit for the answer, or only the effort set by the caller. It returns nil if the target does not have the caller's effort, or if
// the caller set no effort and the request is not for a chat model chosen by auto.
func (r *ranking) efforts(cand *candidate) []effortEntry {
	all := cand.entry.efforts
	if r.in.Effort != "" {
		for i := range all {
			if all[i].level == r.in.Effort {
				return all[i : i+1]
			}
		}
		return nil
	}
	if len(all) == 0 || r.in.Op != llm.Chat || !r.in.Routed() {
		return nil
	}
	from, to := 0, len(all)
	usual := r.snap.models[cand.model].usualEffort(all)
	if r.objective.Tradeoff <= 0.5 {
		to = usual + 1 // more than the usual effort only towards the best end of the dial: a larger model is the better use of the money
	}
	if r.in.Needs.Has(llm.Tools) && r.in.Conversation.Purpose == "" {
		from = usual // an agent's steps keep one effort, because a change discards the cached prompt at some vendors
	}
	for from < to-1 && !r.in.Route.effortAllowed(all[from].level) {
		from++
	}
	for to > from+1 && !r.in.Route.effortAllowed(all[to-1].level) {
		to--
	}
	if limit := r.in.MaxOutput; limit > 0 {
		for to > from+1 && reasoningTokens(r.in, all[to-1].level) >= limit/2 {
			to-- // the lowest effort is always possible
		}
	}
	return all[from:to]
}

// usualEffort returns the index of the effort that the model uses by default: the one without a gain.
func (m *modelEntry) usualEffort(efforts []effortEntry) int {
	usual := 0
	for i := range efforts {
		if math.Abs(m.ability.Efforts[efforts[i].level]) < math.Abs(m.ability.Efforts[efforts[usual].level]) {
			usual = i
		}
	}
	return usual
}
