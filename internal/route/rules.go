package route

import (
	"cmp"
	"encoding/json"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
)

// rules holds the combined effects of the policies on one request. The zero value has no effects.
type rules struct {
	policy.Outcome
	costReason string // reason shared by all targets above the maximum cost
}

// noRules is used if there are no policies.
var noRules rules

// applyPolicies evaluates the policies and records them in the decision. It returns PolicyRejected if a policy denies the request.
func (r *ranking) applyPolicies(d *Decision, set *policy.Set) error {
	if set.Len() == 0 {
		r.setRules(&noRules)
		return nil
	}
	facts := factsOf(&d.Input)
	r.policyRules.Outcome = set.EvaluateInto(facts, r.hits[:0])
	r.hits = r.policyRules.Hits
	d.Policies = make([]PolicyHit, len(r.hits))
	for i := range r.hits {
		hit := &r.hits[i]
		d.Policies[i] = PolicyHit{Name: hit.Name, Source: hit.Source, Matched: hit.Matched, verdict: hit.Verdict, facts: facts}
	}
	d.NoCacheMarks = r.policyRules.CacheMarks.IsSet()
	if budget := r.policyRules.SessionBudget; budget.IsSet() {
		d.SessionBudget = &budget.Value
	}
	if age := r.policyRules.ResponseCache; age.IsSet() {
		d.ResponseCache = &age.Value
	}
	d.MaxOutput, d.OmitBodies = r.policyRules.MaxOutput.Value, r.policyRules.LogBodies.IsSet()
	if deny := r.policyRules.Deny; deny != nil {
		d.Policy = deny.Policy
		return llm.Errorf(llm.PolicyRejected, "%s", deny.Message).With("policy", deny.Policy)
	}
	r.setRules(&r.policyRules)
	return nil
}

// setRules sets the rules and the values derived from them.
func (r *ranking) setRules(rules *rules) {
	r.rules = rules
	r.objective, r.step = rules.adjusted(r.in)
	r.criterion = criterionOf(r.in, r.objective)
	r.features = r.in.Features
	r.features.Difficulty += escalations[r.step].harder
	r.session = expectedSession(r.in)
	r.maxOutput = r.in.MaxOutput
	if limit := rules.MaxOutput; limit.IsSet() && (r.maxOutput <= 0 || limit.Value < r.maxOutput) {
		r.maxOutput = limit.Value
	}
}

// factsOf returns the values that policy conditions can read.
func factsOf(in *Input) *condition.Facts {
	f := &condition.Facts{
		Request: condition.Request{
			Model: in.Model, Auto: in.Routed(), Op: in.Op, Format: in.Format, Source: "key",
			Task: in.Features.Task, Language: in.Features.Language, Tokens: in.InputTokens, MaxOutput: in.MaxOutput,
			Client: in.Conversation.Client, Mode: in.Conversation.Mode, Purpose: in.Conversation.Purpose, Trouble: in.Conversation.Trouble.Level,
			Messages: in.Messages, Images: in.Images, Choices: in.Choices, Needs: in.Needs, Stream: in.Stream,
			Objective: in.Objective.Name, EndUser: in.EndUser, Session: in.Controls.SessionID, Metadata: in.Metadata, Tags: in.Tags,
		},
		Key: in.Key, Workspace: in.Workspace, Time: condition.Time{At: in.At},
	}
	if in.Key.ID == "" {
		f.Request.Source = "playground"
	}
	return f
}

// restrict reports whether the rules can change the choice.
func (r *rules) restrict() bool {
	return r.Pin.IsSet() || r.Objective.IsSet() || r.MaxEscalation.IsSet() || r.MaxCost.IsSet() || r.MaxOutput.IsSet() || len(r.Prefer) > 0 || r.Restricts()
}

// forbid reports whether policies exclude a target. If so, it stores the reason in why.
func (r *rules) forbid(cand *candidate, why *Exclusion) bool {
	if !r.Restricts() {
		return false
	}
	x := r.Excludes(cand.Provider, cand.Model, cand.target.Tags)
	return x != nil && why.set(Exclusion{Code: ExcludedByPolicy, format: "policy %s: %s", subject: x.Policy, cause: x.Reason})
}

// aboveLimit rules out the options that cost more than policies allow. If none remains, it stores the reason in why.
func (r *rules) aboveLimit(k *ranking, cand *candidate, why *Exclusion) bool {
	if !r.MaxCost.IsSet() {
		return false
	}
	left := false
	for i := range k.options {
		if o := &k.options[i]; o.cand == cand {
			o.out = cand.target.Price != nil && o.cost > r.MaxCost.Value
			left = left || !o.out
		}
	}
	if left {
		return false
	}
	if r.costReason == "" {
		r.costReason = "the expected cost is above max_cost_usd " + r.MaxCost.Value.String()
	}
	return why.set(Exclusion{Code: ExcludedByPolicy, format: "policy %s: %s", subject: r.MaxCost.Policy, cause: r.costReason})
}

// reason returns the name of the policy that changed the choice. alone is the candidate that the router chooses without policies.
func (r *rules) reason(alone *candidate) string {
	if r.Pin.IsSet() {
		return r.Pin.Policy
	}
	if r.Restricts() {
		if x := r.Excludes(alone.Provider, alone.Model, alone.target.Tags); x != nil {
			return x.Policy
		}
	}
	switch {
	case r.MaxCost.IsSet() && alone.priced() && alone.cost > r.MaxCost.Value:
		return r.MaxCost.Policy
	case len(r.Prefer) > 0:
		return r.Prefer[0].Policy
	case r.Objective.IsSet():
		return r.Objective.Policy
	case r.MaxEscalation.IsSet():
		return r.MaxEscalation.Policy
	}
	return r.MaxOutput.Policy // the only remaining cause: the output limit changed the expected cost
}

// policiesChangedRanking reports whether policies affected the ranking. If they match without affecting it, the ranking without policies
// is the same and need not be computed.
func (r *ranking) policiesChangedRanking() bool {
	if r.rules.Pin.Value != "" || len(r.rules.Prefer) > 0 || r.maxOutput != r.in.MaxOutput || r.rules.MaxCost.IsSet() {
		return true
	}
	if objective, step := noRules.adjusted(r.in); step != r.step || objective != r.objective {
		return true
	}
	return slices.ContainsFunc(r.reasons, func(x Exclusion) bool { return x.Code == ExcludedByPolicy })
}

// attributeToPolicy computes the ranking without policies and records the policy that changed the choice.
func (d *Decision) attributeToPolicy(r *ranking) {
	alone := r.snap.newRanking(r.in, r.c)
	defer r.snap.recycle(alone)
	alone.setRules(&noRules)
	copy(alone.prompt, r.prompt) // token counts do not depend on policies
	if alone.collect() == nil {
		alone.rank()
		d.Aside = r.unlistedSightings(alone)
	}
	if len(alone.ready) == 0 { // without policies no target is available, which is possible only with a pin or an output limit
		d.Policy = cmp.Or(r.rules.Pin.Policy, r.rules.MaxOutput.Policy)
	} else if first := alone.ready[0]; first.Target != r.ready[0].Target {
		d.Policy, d.Alone = r.rules.reason(first), first.Target
	}
	if d.Policy != "" && d.Kind != Fallback { // Fallback takes precedence
		d.Kind = Policy
	}
}

// Sighting is the observed state of a target that policies excluded. The router's choice without policies depends on this state, so the
// state is stored for recomputing the decision.
type Sighting struct {
	Target string   `json:"target"`
	Seen   State    `json:"seen,omitzero"`
	Cache  CacheHit `json:"cached_prefix,omitzero"`
}

// unlistedSightings returns the states of the targets in alone, except those that the decision's candidates already contain.
func (r *ranking) unlistedSightings(alone *ranking) []Sighting {
	var list []Sighting
	for i := range alone.candidates {
		cand := &alone.candidates[i]
		if (cand.Seen == State{} && cand.Cache == CacheHit{}) || slices.ContainsFunc(r.candidates, func(own candidate) bool { return own.target == cand.target }) {
			continue
		}
		list = append(list, Sighting{Target: cand.Target, Seen: cand.Seen, Cache: cand.Cache})
	}
	return list
}

// PolicyHit is the result of one evaluated policy. The sentences that Effect and Reason return are formatted on demand.
type PolicyHit struct {
	Name    string
	Source  string // owner of the policy: instance or workspace
	Matched bool

	verdict policy.Verdict
	facts   *condition.Facts // facts with which the policy was evaluated
	stored  *storedHit       // formatted effect and reason, set if the hit was read from the log
}

// storedHit holds the formatted effect and reason of a hit.
type storedHit struct{ effect, reason string }

// Effect describes the effect of a matching policy.
func (h *PolicyHit) Effect() string {
	switch {
	case !h.verdict.IsZero():
		return h.verdict.Effect()
	case h.stored != nil:
		return h.stored.effect
	}
	return ""
}

// Reason describes the condition that did not match.
func (h *PolicyHit) Reason() string {
	switch {
	case !h.verdict.IsZero():
		return h.verdict.Reason(h.facts)
	case h.stored != nil:
		return h.stored.reason
	}
	return ""
}

// NewPolicyHit returns a hit with the given effect and reason.
func NewPolicyHit(name, source string, matched bool, effect, reason string) PolicyHit {
	return PolicyHit{Name: name, Source: source, Matched: matched, stored: &storedHit{effect, reason}}
}

// policyHitJSON is the stored form of a PolicyHit.
type policyHitJSON struct {
	Name    string `json:"name"`
	Source  string `json:"source,omitempty"`
	Matched bool   `json:"matched"`
	Effect  string `json:"effect,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// MarshalJSON encodes the hit. The effect and the reason are encoded as formatted sentences.
func (h PolicyHit) MarshalJSON() ([]byte, error) {
	return json.Marshal(policyHitJSON{h.Name, h.Source, h.Matched, h.Effect(), h.Reason()})
}

// UnmarshalJSON reads the format written by MarshalJSON.
func (h *PolicyHit) UnmarshalJSON(data []byte) error {
	var stored policyHitJSON
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*h = NewPolicyHit(stored.Name, stored.Source, stored.Matched, stored.Effect, stored.Reason)
	return nil
}

// Equal reports whether both hits have the same stored form.
func (h PolicyHit) Equal(other PolicyHit) bool {
	return h.Name == other.Name && h.Source == other.Source && h.Matched == other.Matched &&
		h.Effect() == other.Effect() && h.Reason() == other.Reason()
}
