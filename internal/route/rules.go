package route

import (
	"encoding/json"

	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/provider"
)

// rules are what policies make of one request. The zero value rules nothing.
type rules struct {
	policy.Outcome
	dear string // what is said of all targets that cost too much
}

// noRules are what the router follows alone.
var noRules rules

// govern evaluates the policies and notes them on the decision. A denial is an error.
func (r *race) govern(d *Decision, set *policy.Set) error {
	if set.Len() == 0 {
		r.follow(&noRules)
		return nil
	}
	facts := factsOf(&d.Input)
	r.own.Outcome = set.EvaluateInto(facts, r.hits[:0])
	r.hits = r.own.Hits
	d.Policies = make([]PolicyHit, len(r.hits))
	for i := range r.hits {
		hit := &r.hits[i]
		d.Policies[i] = PolicyHit{Name: hit.Name, Source: hit.Source, Matched: hit.Matched, verdict: hit.Verdict, facts: facts}
	}
	d.MaxOutput, d.HideText = r.own.MaxOutput.Value, r.own.LogBodies.IsSet()
	if deny := r.own.Deny; deny != nil {
		d.Policy = deny.Policy
		return llm.Errorf(llm.PolicyRejected, "%s", deny.Message).With("policy", deny.Policy)
	}
	r.follow(&r.own)
	return nil
}

// follow lets rules say what the race is about.
func (r *race) follow(rules *rules) {
	r.rules, r.objective = rules, rules.objective(r.in.Objective)
	r.weights = weigh(r.in, r.objective)
	r.most = rules.bound(r.in.MaxOutput)
}

// factsOf is what conditions can see of a request.
func factsOf(in *Input) *policy.Facts {
	f := &policy.Facts{
		Request: policy.Request{
			Model: in.Model, Auto: IsAuto(in.Model), Op: in.Op, Format: in.Format, Source: "key",
			Task: in.Features.Task, Language: in.Features.Language, Tokens: in.InputTokens, MaxOutput: in.MaxOutput,
			Messages: in.Messages, Images: in.Images, Choices: in.Choices, Needs: in.Needs, Stream: in.Stream,
			Objective: in.Objective.Name, EndUser: in.EndUser, Session: in.Controls.SessionID, Metadata: in.Metadata, Tags: in.Tags,
		},
		Key: in.Key, Workspace: in.Workspace, Time: policy.Time{At: in.At},
	}
	if in.Key.ID == "" {
		f.Request.Source = "playground"
	}
	return f
}

// shapes reports whether the rules can change the choice.
func (r *rules) shapes() bool {
	return r.Pin.IsSet() || r.Objective.IsSet() || r.MaxCost.IsSet() || r.MaxOutput.IsSet() || len(r.Prefer) > 0 || r.Narrows()
}

// bound is the lower of the bounds that caller and policies set to the answer; 0 where neither does.
func (r *rules) bound(asked int64) int64 {
	if !r.MaxOutput.IsSet() || asked > 0 && asked < r.MaxOutput.Value {
		return asked
	}
	return r.MaxOutput.Value
}

func (r *rules) pin() string { return r.Pin.Value }

// objective is the policies' where they name one: theirs is the operator's word.
func (r *rules) objective(asked Objective) Objective {
	if !r.Objective.IsSet() {
		return asked
	}
	if named, ok := NamedObjective(r.Objective.Value.Name); ok {
		return named
	}
	return Objective{Name: "number", Tradeoff: r.Objective.Value.Tradeoff}
}

// forbid reports whether policies keep a target away, and writes why.
func (r *rules) forbid(one *runner, why *Exclusion) bool {
	if !r.Narrows() {
		return false
	}
	x := r.Excludes(one.Provider, one.Model, one.target.Tags)
	return x != nil && why.is(Exclusion{Code: ExcludedByPolicy, words: "policy %s: %s", who: x.Policy, why: x.Reason})
}

// tooDear holds a target to the highest cost that policies allow, and writes why it does not keep to it.
func (r *rules) tooDear(one *runner, why *Exclusion) bool {
	if !r.above(one) {
		return false
	}
	if r.dear == "" {
		r.dear = "the expected cost is above max_cost_usd " + r.MaxCost.Value.String()
	}
	return why.is(Exclusion{Code: ExcludedByPolicy, words: "policy %s: %s", who: r.MaxCost.Policy, why: r.dear})
}

// above reports whether a target costs more than policies allow.
func (r *rules) above(one *runner) bool {
	return r.MaxCost.IsSet() && one.priced() && one.cost > r.MaxCost.Value
}

// liking is the place of a target among the preferences.
func (r *rules) liking(t *provider.Target) int {
	if len(r.Prefer) == 0 {
		return 0
	}
	return r.Rank(t.Provider, t.Model.Name)
}

// baseline puts the policies' between the caller's and the others.
func (r *rules) baseline(hint Baseline) Baseline {
	if r.Baseline.IsSet() && hint.Source != "header" {
		return Baseline{Model: r.Baseline.Value, Source: "policy"}
	}
	return hint
}

// reason names the policy by which another target was chosen than this one.
func (r *rules) reason(alone *runner) string {
	if r.Pin.IsSet() {
		return r.Pin.Policy
	}
	if r.Narrows() {
		if x := r.Excludes(alone.Provider, alone.Model, alone.target.Tags); x != nil {
			return x.Policy
		}
	}
	switch {
	case r.above(alone):
		return r.MaxCost.Policy
	case len(r.Prefer) > 0:
		return r.Prefer[0].Policy
	case r.Objective.IsSet():
		return r.Objective.Policy
	}
	return r.MaxOutput.Policy // a short answer has another price
}

// PolicyHit is one policy's part in a decision. Its words are put together when somebody reads them.
type PolicyHit struct {
	Name    string
	Source  string // instance or workspace
	Matched bool

	verdict policy.Verdict
	facts   *policy.Facts // that it was about
	said    *said         // as read from a log
}

// said is a hit in words.
type said struct{ effect, reason string }

// Effect says what a matching policy does.
func (h *PolicyHit) Effect() string {
	switch {
	case !h.verdict.IsZero():
		return h.verdict.Effect()
	case h.said != nil:
		return h.said.effect
	}
	return ""
}

// Reason says which condition of a skipped policy failed.
func (h *PolicyHit) Reason() string {
	switch {
	case !h.verdict.IsZero():
		return h.verdict.Reason(h.facts)
	case h.said != nil:
		return h.said.reason
	}
	return ""
}

// NewPolicyHit is a hit in given words.
func NewPolicyHit(name, source string, matched bool, effect, reason string) PolicyHit {
	return PolicyHit{Name: name, Source: source, Matched: matched, said: &said{effect, reason}}
}

// policyHitJSON is a hit as it is stored and shown.
type policyHitJSON struct {
	Name    string `json:"name"`
	Source  string `json:"source,omitempty"`
	Matched bool   `json:"matched"`
	Effect  string `json:"effect,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// MarshalJSON writes the hit in words.
func (h PolicyHit) MarshalJSON() ([]byte, error) {
	return json.Marshal(policyHitJSON{h.Name, h.Source, h.Matched, h.Effect(), h.Reason()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *PolicyHit) UnmarshalJSON(data []byte) error {
	var stored policyHitJSON
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*h = NewPolicyHit(stored.Name, stored.Source, stored.Matched, stored.Effect, stored.Reason)
	return nil
}

// Equal reports whether both say the same.
func (h PolicyHit) Equal(other PolicyHit) bool {
	return h.Name == other.Name && h.Source == other.Source && h.Matched == other.Matched &&
		h.Effect() == other.Effect() && h.Reason() == other.Reason()
}
