package route

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// sort sorts candidates by the caller's order of models and providers, then by policy preference, then by score. It keeps the targets of a
// model together, so that other providers of a model are tried before other models.
func (r *ranking) sort(list []*candidate) { slices.SortFunc(list, r.order(list)) }

// order returns the comparison function of sort. Names are compared last, because comparing them is slow.
func (r *ranking) order(list []*candidate) func(a, b *candidate) int {
	best := r.bestByModel
	for i := range best {
		best[i] = math.Inf(1)
	}
	for _, cand := range list {
		best[cand.model] = min(best[cand.model], cand.penalty)
	}
	return func(a, b *candidate) int {
		switch {
		case a.fallbackOrder != b.fallbackOrder:
			return a.fallbackOrder - b.fallbackOrder
		case a.providerOrder != b.providerOrder:
			return a.providerOrder - b.providerOrder
		case a.preference != b.preference:
			return a.preference - b.preference
		case best[a.model] != best[b.model]:
			return cmp.Compare(best[a.model], best[b.model])
		case a.model != b.model:
			return cmp.Compare(a.Model, b.Model)
		}
		return cmp.Or(cmp.Compare(a.penalty, b.penalty), cmp.Compare(a.Target, b.Target))
	}
}

// keptTarget returns a Stay if another target would have been chosen without cached prompts, or without the cost of discarding reasoning.
func (r *ranking) keptTarget() *Stay {
	chosen := r.ready[0]
	if chosen.Cache.Read > 0 {
		uncached := func(cand *candidate) float64 { return cand.penaltyWithoutCost + r.price(cand.totalUncached) }
		if stay := r.keptFor(uncached); stay != nil {
			return stay
		}
	}
	if r.discards == 0 || chosen.Target != r.in.Last {
		return nil
	}
	stay := r.keptFor(func(cand *candidate) float64 { return cand.penaltyWithoutCost + r.price(cand.total.Sub(cand.Discards)) })
	if stay != nil {
		stay.Reason = StayReasoning
	}
	return stay
}

// keptFor returns a Stay if, according to penaltyOf, another target with a higher total cost would have been chosen.
func (r *ranking) keptFor(penaltyOf func(*candidate) float64) *Stay {
	chosen := r.ready[0]
	other, least := chosen, penaltyOf(chosen)
	for _, cand := range r.ready[1:] {
		if cand.fallbackOrder != chosen.fallbackOrder || cand.providerOrder != chosen.providerOrder || cand.preference != chosen.preference {
			continue
		}
		if penalty := penaltyOf(cand); penalty < least {
			other, least = cand, penalty
		}
	}
	if other == chosen || other.total <= chosen.total {
		return nil
	}
	return &Stay{Target: chosen.Target, Alternative: other.Target, Switch: other.total.Sub(chosen.total)}
}

// baseline returns the model named by the caller, a policy, the key or the workspace, or otherwise the most expensive eligible candidate.
// It returns nil if no such model is named and no eligible candidate has a price.
func (r *ranking) baseline() *Baseline {
	in := r.in
	if !IsAuto(in.Model) {
		return &Baseline{Model: r.snap.Canonical(in.Model), Source: BaselineCaller}
	}
	hint := in.Baseline
	if policy := r.rules.Baseline; policy.IsSet() && hint.Source != "header" {
		hint = Baseline{Model: policy.Value, Source: BaselinePolicy}
	}
	if hint.Model != "" {
		m, known := r.snap.Catalog.Model(hint.Model)
		if !known || m.Op == in.Op {
			return &Baseline{Model: r.snap.Canonical(hint.Model), Source: hint.Source}
		}
	}
	eligible := r.ranked
	if in.Op == llm.Embed {
		eligible = r.ready // vectors from different models are not interchangeable, so unavailable models do not count
	}
	best := slices.MaxFunc(eligible, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(priceOf(a), priceOf(b)), -cmp.Compare(a.Target, b.Target))
	})
	if !best.priced() {
		return nil
	}
	return &Baseline{Model: best.Model, Source: BaselineMostExpensive}
}

func priceOf(r *candidate) money.Amount {
	if !r.priced() {
		return -1
	}
	return r.cost
}
