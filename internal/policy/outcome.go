package policy

import "fairlead/internal/money"

// Outcome is what the policies say about one request. The zero value says nothing.
type Outcome struct {
	Deny      *Denial // not nil when the request is refused; of the rest only LogBodies still matters then
	Pin       Setting[string]
	Objective Setting[Objective]
	MaxCost   Setting[money.Amount] // the lowest of all
	MaxOutput Setting[int64]        // the lowest of all
	Baseline  Setting[string]
	LogBodies Setting[bool] // false where it is set: bodies are not to be stored
	Prefer    []Preference  // best first
	Hits      []Hit         // what was evaluated, in order

	allow, exclude []*rule
}

// Denial is a refusal.
type Denial struct {
	Policy  string
	Message string
}

// Setting is a value and the policy that set it.
type Setting[T any] struct {
	Value  T
	Policy string
}

// IsSet reports whether any policy set it.
func (s Setting[T]) IsSet() bool { return s.Policy != "" }

// Objective is what a policy wants the router to aim for.
type Objective struct {
	Name     string  // cost, quality, speed, or number
	Tradeoff float64 // for a number: 0 cheapest, 1 best
}

// Preference is a pattern of targets to be tried before those that come later in the list, or are not in it.
type Preference struct {
	Policy  string
	Pattern Pattern
}

// Denies reports whether the request is refused.
func (o *Outcome) Denies() bool { return o.Deny != nil }

// Narrows reports whether the outcome keeps any target away from any request.
func (o *Outcome) Narrows() bool { return len(o.allow) > 0 || len(o.exclude) > 0 }

// Exclusion says which policy keeps a target away, and why.
type Exclusion struct {
	Policy string
	Reason string
}

// Excludes returns why a target is kept away by allow and exclude, or nil. The tags are the target's and its provider's.
// Nobody changes what it returns.
func (o *Outcome) Excludes(provider, model string, tags []string) *Exclusion {
	for _, r := range o.exclude {
		if x := r.exclude.excluded(provider, model, tags); x != nil {
			return x
		}
	}
	for _, r := range o.allow {
		if x := r.allow.unlisted(provider, model, tags); x != nil {
			return x
		}
	}
	return nil
}

// Rank is the place of a target in the order of preference: 0 for the best, len(Prefer) for those that are in no list.
func (o *Outcome) Rank(provider, model string) int {
	for i, p := range o.Prefer {
		if p.Pattern.MatchTarget(provider, model) {
			return i
		}
	}
	return len(o.Prefer)
}

// Hit is one policy's part in an outcome.
type Hit struct {
	Name    string
	Source  string // name of the set it belongs to
	Matched bool
	Verdict
}

// Verdict is why a policy matched or not. It can say so in words, for those who read them. The zero Verdict is nobody's.
type Verdict struct {
	rule      *rule
	failed    int32   // the conjunct that did not hold
	overruled effects // of the effects: those that an earlier policy had decided
	matched   bool
	broken    bool // the conjunct cannot be computed
	overrun   bool // the evaluation exceeded the bound of its cost; restrictions apply
}

// IsZero reports whether it is nobody's.
func (v Verdict) IsZero() bool { return v.rule == nil }

// Effect says in words what a matching policy does. It is empty for one that was skipped.
func (v Verdict) Effect() string {
	if !v.matched {
		return ""
	}
	if v.overrun {
		return v.rule.effect(v.overruled) + " (restrictions only: the policies exceeded the bound of their cost)"
	}
	return v.rule.effect(v.overruled)
}

// Reason says which condition failed and what was seen, such as
//
//	request.task == "code" is false (request.task is "chat")
//
// for the facts of the evaluation. It is empty for a policy that matched.
func (v Verdict) Reason(f *Facts) string {
	if v.matched {
		return ""
	}
	return v.rule.reason(v, f)
}
