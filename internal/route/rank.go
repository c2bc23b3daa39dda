package route

import (
	"cmp"
	"slices"
)

// sort sorts candidates by the caller's order of models and providers, then by policy preference, then by value. It keeps the targets of a
// model together, so that other providers of a model are tried before other models.
func (r *ranking) sort(list []*candidate) { slices.SortFunc(list, r.order(list)) }

// order returns the comparison function of sort. Names are compared last, because comparing them is slow.
func (r *ranking) order(list []*candidate) func(a, b *candidate) int {
	best := r.bestOf
	clear(best)
	for _, cand := range list {
		if best[cand.model] == nil || cand.option.compare(best[cand.model]) < 0 {
			best[cand.model] = cand.option
		}
	}
	return func(a, b *candidate) int {
		switch {
		case a.fallbackOrder != b.fallbackOrder:
			return a.fallbackOrder - b.fallbackOrder
		case a.providerOrder != b.providerOrder:
			return a.providerOrder - b.providerOrder
		case a.preference != b.preference:
			return a.preference - b.preference
		case a.model != b.model:
			return cmp.Or(best[a.model].compare(best[b.model]), cmp.Compare(a.Model, b.Model))
		}
		return cmp.Or(a.option.compare(b.option), cmp.Compare(a.Target, b.Target))
	}
}

// baseline returns the model named by the caller, a policy, the key or the workspace. It returns nil if none is named: then there is nothing
// to compare the cost with.
func (r *ranking) baseline() *Baseline {
	in := r.in
	if !in.Routed() {
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
	return nil
}
