package route

import (
	"cmp"
	"math"
	"slices"

	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// sort orders runners by the caller's own order of models and providers first, then by what policies prefer, then by
// score, the targets of one model together so that another provider of the same model is tried before another model.
func (r *race) sort(runners []*runner) { slices.SortFunc(runners, r.order(runners)) }

// first is the one that sorting would put first.
func (r *race) first(runners []*runner) *runner { return slices.MinFunc(runners, r.order(runners)) }

// order compares runners one property after the other: most differ early, and names take long to compare.
func (r *race) order(runners []*runner) func(a, b *runner) int {
	best := r.bestOfModels(runners)
	return func(a, b *runner) int {
		switch {
		case a.place != b.place:
			return a.place - b.place
		case a.wish != b.wish:
			return a.wish - b.wish
		case a.liked != b.liked:
			return a.liked - b.liked
		case best[a.model] != best[b.model]:
			return cmp.Compare(best[a.model], best[b.model])
		case a.model != b.model:
			return cmp.Compare(a.Model, b.Model)
		}
		return cmp.Or(cmp.Compare(a.penalty, b.penalty), cmp.Compare(a.Target, b.Target))
	}
}

// bestOfModels is the smallest penalty that a target of each model has.
func (r *race) bestOfModels(runners []*runner) []float64 {
	for i := range r.best {
		r.best[i] = math.Inf(1)
	}
	for _, one := range runners {
		r.best[one.model] = min(r.best[one.model], one.penalty)
	}
	return r.best
}

// stay tells whether the conversation goes on where it is because its prompt is warm there: if nothing were in anybody's
// cache, another target would have been the choice.
func (r *race) stay() *Stay {
	chosen := r.ready[0]
	if chosen.Cache.Read == 0 {
		return nil
	}
	other, least := chosen, r.cold(chosen)
	for _, one := range r.ready[1:] {
		if one.place != chosen.place || one.wish != chosen.wish || one.liked != chosen.liked {
			continue
		}
		if cold := r.cold(one); cold < least {
			other, least = one, cold
		}
	}
	if other == chosen || other.total <= chosen.total {
		return nil
	}
	return &Stay{Target: chosen.Target, Else: other.Target, Switch: other.total.Sub(chosen.total)}
}

// cold is the penalty if nothing of the prompt were in anybody's cache.
func (r *race) cold(one *runner) float64 {
	return one.rest + r.weights.price(one.totalIf)
}

// baseline is the first that applies: what caller, policy, key or workspace name, else the priciest eligible candidate.
func (r *race) baseline() *Baseline {
	in := r.in
	if !IsAuto(in.Model) {
		return &Baseline{Model: r.snap.Canonical(in.Model), Source: "caller"}
	}
	if hint := r.rules.baseline(in.Baseline); hint.Model != "" {
		m, known := r.snap.Catalog.Model(hint.Model)
		if !known || m.Op == in.Op {
			return &Baseline{Model: r.snap.Canonical(hint.Model), Source: hint.Source}
		}
	}
	eligible := r.ranked
	if in.Op == llm.Embed {
		eligible = r.ready // another model's vectors are no alternative
	}
	dearest := slices.MaxFunc(eligible, func(a, b *runner) int {
		return cmp.Or(cmp.Compare(priceOf(a), priceOf(b)), -cmp.Compare(a.Target, b.Target))
	})
	if !dearest.priced() {
		return nil
	}
	return &Baseline{Model: dearest.Model, Source: "priciest"}
}

func priceOf(r *runner) money.Amount {
	if !r.priced() {
		return -1
	}
	return r.cost
}
