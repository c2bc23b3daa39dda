package route

import (
	"cmp"
	"slices"
)

// Sighting is the observed state of a target that policies excluded. The router's choice without policies depends on this state, so the
// state is stored for recomputing the decision.
type Sighting struct {
	Target string   `json:"target"`
	Seen   State    `json:"seen,omitzero"`
	Cache  CacheHit `json:"cached_prefix,omitzero"`
}

// policiesChangedRanking reports whether policies affected the ranking. If policies match without affecting the ranking, the ranking
// without policies is the same and need not be computed.
func (r *ranking) policiesChangedRanking() bool {
	if r.rules.Pin.Value != "" || len(r.rules.Prefer) > 0 || r.maxOutput != r.in.MaxOutput {
		return true
	}
	if objective, step := noRules.adjusted(r.in); step != r.step || r.weights != weigh(r.in, objective) {
		return true
	}
	return slices.ContainsFunc(r.reasons, func(x Exclusion) bool { return x.Code == ExcludedByPolicy })
}

// attributeToPolicy computes the ranking without policies and records the policy that changed the choice.
func (d *Decision) attributeToPolicy(r *ranking) {
	alone := r.snap.newRanking(r.in, r.c)
	defer r.snap.recycle(alone)
	alone.setRules(&noRules)
	if alone.step == r.step {
		copy(alone.success, r.success)
	}
	copy(alone.prompt, r.prompt) // token counts do not depend on policies
	if alone.rankWithoutPolicies(r) {
		d.Aside = r.unlistedSightings(alone)
	}
	if len(alone.ready) == 0 { // without policies no target is available, which is possible only with a pin or an output limit
		d.Policy = cmp.Or(r.rules.Pin.Policy, r.rules.MaxOutput.Policy)
	} else if first := slices.MinFunc(alone.ready, alone.order(alone.ready)); first.Target != r.ready[0].Target {
		d.Policy, d.Alone = r.rules.reason(first), first.Target
	}
	if d.Policy != "" && d.Kind != Fallback { // Fallback takes precedence
		d.Kind = Policy
	}
}

// rankWithoutPolicies evaluates the candidates without policies. It returns false if the candidates cannot be collected.
func (r *ranking) rankWithoutPolicies(governed *ranking) bool {
	if governed.rules.Pin.Value != "" || governed.maxOutput != r.maxOutput { // a pin changed the candidates, or a policy limits the output
		if r.collect() != nil {
			return false
		}
		r.evaluate()
		return true
	}
	r.target, r.reference = r.qualityTarget(), r.referenceCost()
	same := r.weights == governed.weights && r.target == governed.target && r.reference == governed.reference
	r.candidates = append(r.candidates, governed.candidates...)
	var x Exclusion
	for i := range r.candidates {
		cand := &r.candidates[i]
		if !cand.eligible {
			continue
		}
		cand.preference = 0
		switch {
		case !cand.scored, r.step != governed.step:
			r.score(cand)
		case !same:
			r.rate(cand)
		}
		if !temporarilyExcluded(cand, &x) {
			r.ready = append(r.ready, cand)
		}
	}
	return true
}

// unlistedSightings returns the states of the targets in alone, except those that the decision's candidates already contain.
func (r *ranking) unlistedSightings(alone *ranking) []Sighting {
	var list []Sighting
	for i := range alone.candidates {
		cand := &alone.candidates[i]
		if (cand.Seen == State{} && cand.Cache == CacheHit{}) {
			continue
		}
		at := i // a target usually has the same index in both rankings
		if at >= len(r.candidates) || r.candidates[at].target != cand.target {
			at = slices.IndexFunc(r.candidates, func(own candidate) bool { return own.target == cand.target })
		}
		if at >= 0 && r.candidates[at].Seen == cand.Seen && r.candidates[at].Cache == cand.Cache {
			continue
		}
		list = append(list, Sighting{Target: cand.Target, Seen: cand.Seen, Cache: cand.Cache})
	}
	return list
}
