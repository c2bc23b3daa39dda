package policy

import (
	"slices"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy/condition"
)

// Evaluate applies the policies to a request. The outcome depends only on the facts. Policies are evaluated in order,
// and all that match apply:
//
//   - A denial ends the evaluation.
//   - The first pin, objective and baseline apply.
//   - Restrictions add up: a target must pass every allow and every exclude, and the lowest limit applies.
//   - Preferences are concatenated in the order of the policies.
//
// A condition that cannot be evaluated is false. If the conditions together exceed the cost limit, the remaining policies
// that have a condition apply with their restrictions only, so that an expensive condition cannot disable a denial.
func (s *Set) Evaluate(f *condition.Facts) Outcome { return s.EvaluateInto(f, nil) }

// EvaluateInto is like Evaluate but appends the results to hits. The caller may reuse the slice after copying the hits it needs.
func (s *Set) EvaluateInto(f *condition.Facts, hits []Hit) Outcome {
	if s == nil || len(s.rules) == 0 {
		return Outcome{}
	}
	run := s.evaluator.Start(f)
	defer run.End()
	o := Outcome{Hits: slices.Grow(hits, len(s.rules))}
	for _, r := range s.rules {
		verdict, has := Verdict{rule: r, result: run.Evaluate(r.when)}, effects(0)
		switch verdict.result.Status {
		case condition.True:
			has, verdict.matched = r.has, true
		case condition.CostExceeded:
			has = r.has & restricting
			verdict.matched = has != 0
		case condition.False, condition.Failed:
		}
		if verdict.matched {
			verdict.overruled = s.apply(&o, r, has)
		}
		o.Hits = append(o.Hits, Hit{r.name, r.source, verdict.matched, verdict})
		if o.Deny != nil {
			break
		}
	}
	return o
}

// apply adds the effects of a matching rule to the outcome. It returns the effects that an earlier policy overrules.
func (s *Set) apply(o *Outcome, r *rule, has effects) (overruled effects) {
	if has&denies != 0 {
		o.Deny = &Denial{r.name, r.deny}
		return 0
	}
	if has&pins != 0 && !first(&o.Pin, r.pin, r.name) {
		overruled |= pins
	}
	if has&aims != 0 && !first(&o.Objective, r.objective, r.name) {
		overruled |= aims
	}
	if has&compares != 0 && !first(&o.Baseline, r.baseline, r.name) {
		overruled |= compares
	}
	if has&limitsCost != 0 && !lowest(&o.MaxCost, r.maxCost, r.name) {
		overruled |= limitsCost
	}
	if has&limitsOutput != 0 && !lowest(&o.MaxOutput, r.maxOutput, r.name) {
		overruled |= limitsOutput
	}
	if has&limitsEscalation != 0 && !lowest(&o.MaxEscalation, r.maxEscalation, r.name) {
		overruled |= limitsEscalation
	}
	if has&limitsSession != 0 {
		if o.SessionBudget.IsSet() && o.SessionBudget.Value.Amount <= r.sessionBudget.Amount {
			overruled |= limitsSession
		} else {
			o.SessionBudget = Setting[SessionLimit]{r.sessionBudget, r.name}
		}
	}
	if has&(caches|disablesCache) != 0 && !lowest(&o.ResponseCache, r.cacheAge, r.name) {
		overruled |= caches | disablesCache
	}
	if has&disablesMarks != 0 && !o.CacheMarks.IsSet() {
		o.CacheMarks = Setting[bool]{false, r.name}
	}
	if has&disablesBodies != 0 && !o.LogBodies.IsSet() {
		o.LogBodies = Setting[bool]{false, r.name}
	}
	if has&allows != 0 {
		o.allow = appendBounded(o.allow, s.allows, r)
	}
	if has&excludes != 0 {
		o.exclude = appendBounded(o.exclude, s.excludes, r)
	}
	if has&prefers == 0 {
		return overruled
	}
	for _, p := range r.prefer {
		o.Prefer = appendBounded(o.Prefer, s.preferences, Preference{r.name, p})
	}
	return overruled
}

func first[T any](s *Setting[T], value T, policy string) bool {
	if s.IsSet() {
		return false
	}
	*s = Setting[T]{value, policy}
	return true
}

func lowest[T money.Amount | int64 | CacheAge](s *Setting[T], value T, policy string) bool {
	if s.IsSet() && s.Value <= value {
		return false
	}
	*s = Setting[T]{value, policy}
	return true
}

// appendBounded appends an element to a list. If the list is nil, it allocates one for limit elements. The list must not grow beyond limit.
func appendBounded[T any](list []T, limit int, one T) []T {
	if list == nil {
		list = make([]T, 0, limit)
	}
	return append(list, one)
}
