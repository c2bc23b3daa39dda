package policy

import (
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy/condition"
)

// Outcome is the result of applying the policies to a request. The zero value has no effects.
type Outcome struct {
	Deny          *Denial // rejection of the request, or nil; of the other effects, only LogBodies applies to a rejected request
	Pin           Setting[string]
	Objective     Setting[Objective]
	MaxCost       Setting[money.Amount] // lowest limit of all policies
	MaxOutput     Setting[int64]        // lowest limit of all policies
	MaxEscalation Setting[int64]        // lowest limit of all policies
	SessionBudget Setting[SessionLimit] // lowest amount of all policies
	Baseline      Setting[string]
	ResponseCache Setting[CacheAge] // lowest limit of all policies
	CacheMarks    Setting[bool]     // if set, always false: the gateway sets no prompt-cache marks
	LogBodies     Setting[bool]     // if set, always false: bodies must not be stored
	Prefer        []Preference      // preferred targets, best first
	Hits          []Hit             // results of the evaluated policies, in order
	filters
}

// filters holds the rules that allow or exclude targets.
type filters struct {
	allow, exclude []*rule
}

// Denial is a rejection by a policy.
type Denial struct {
	Policy  string
	Message string
}

// Setting is a value and the policy that set it.
type Setting[T any] struct {
	Value  T
	Policy string
}

// IsSet reports whether a policy set the value.
func (s Setting[T]) IsSet() bool { return s.Policy != "" }

// Objective is the routing objective set by a policy.
type Objective struct {
	Name     string  // cost, quality, speed, or number
	Tradeoff float64 // trade-off if Name is number: 0 (cheapest) to 1 (best)
}

// Preference is a pattern of preferred targets. These targets are tried before targets of later preferences and before all other targets.
type Preference struct {
	Policy  string
	Pattern Pattern
}

// Restricts reports whether the outcome can exclude targets.
func (o *Outcome) Restricts() bool { return len(o.allow) > 0 || len(o.exclude) > 0 }

// Exclusion names the policy that excludes a target, and the reason.
type Exclusion struct {
	Policy string
	Reason string
}

// Excludes returns the reason why an allow or exclude effect removes a target, or nil if the target is allowed. tags are the tags of the
// target and its provider. The result must not be modified.
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

// Rank returns the preference rank of a target: 0 is best, and len(Prefer) means that no preference matches.
func (o *Outcome) Rank(provider, model string) int {
	for i, p := range o.Prefer {
		if p.Pattern.MatchTarget(provider, model) {
			return i
		}
	}
	return len(o.Prefer)
}

// Hit is the result of evaluating one policy.
type Hit struct {
	Name    string
	Source  string // name of the set that contains the policy
	Matched bool
	Verdict
}

// Verdict describes why a policy matched or not. Its methods format the explanation on demand.
type Verdict struct {
	rule      *rule
	result    condition.Result // result of the condition; if it exceeded the cost limit, only restrictions apply
	overruled effects          // effects that are ignored because an earlier policy has set them
	matched   bool
}

// IsZero reports whether the verdict is unset.
func (v Verdict) IsZero() bool { return v.rule == nil }

// Effect describes the effects of a matching policy. It is empty for a skipped policy.
func (v Verdict) Effect() string {
	if !v.matched {
		return ""
	}
	if v.result.Status == condition.CostExceeded {
		return v.rule.effect(v.overruled) + " (restrictions only: the policies exceeded their cost limit)"
	}
	return v.rule.effect(v.overruled)
}

// Reason describes which condition failed and the values it read, such as
//
//	request.task == "code" is false (request.task is "chat")
//
// f must be the evaluated facts. The reason is empty for a policy that matched.
func (v Verdict) Reason(f *condition.Facts) string {
	if v.matched {
		return ""
	}
	return v.rule.when.Explain(v.result, f)
}
