package route

import (
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/predict"
)

// Cascade is the plan for a request whose response is checked before it is served. If the response of the first model fails the checks, the
// second model serves the request.
type Cascade struct {
	Policy string        `json:"policy"`
	Checks []string      `json:"checks"` // checks that can apply to the request
	Steps  []CascadeStep `json:"steps"`  // first and second model
	// Cost is the expected cost of both steps: the cost of the first step, plus the cost of the second step multiplied by the failure
	// probability of the first step.
	Cost money.Amount `json:"expected_cost_usd"`
	// Without is the expected cost of the second step alone.
	Without money.Amount `json:"second_alone_usd"`
	// Skipped is a cheaper model that a policy prefers and that would not reduce the expected cost.
	Skipped *CascadeStep `json:"skipped,omitempty"`

	Verify *policy.ResponseChecks `json:"-"`
}

// CascadeStep is a model in a cascade.
type CascadeStep struct {
	Target  string       `json:"target"` // first target of the model
	Model   string       `json:"model"`
	Price   money.Amount `json:"expected_cost_usd"`
	Failure float64      `json:"failure_probability"` // probability that the response fails the checks
}

// checkPrior is the weight of the predicted success probability, as an equivalent number of checked responses. The weight is low, so that
// observations soon outweigh the prediction, because most checks fail less often than predicted.
const checkPrior = 4

// failure returns the probability that a response of the candidate fails the checks.
func (r *candidate) failure() float64 {
	return round((checkPrior*(1-r.Quality) + r.Seen.CheckFailed) / (checkPrior + r.Seen.Checked))
}

func (r *candidate) step() CascadeStep {
	return CascadeStep{Target: r.Target, Model: r.Model, Price: r.cost, Failure: r.failure()}
}

// cascadeCost returns the expected cost of trying first, and then second if the response of first fails the checks.
func cascadeCost(first, second *candidate) money.Amount {
	return first.cost.Add(money.Amount(first.failure() * float64(second.cost)))
}

// applicableChecks returns the checks that can apply to responses to the request.
func applicableChecks(in *Input, v *policy.ResponseChecks) []string {
	var checks []string
	for _, name := range v.Checks {
		applies := false
		switch name {
		case policy.CheckSchema:
			applies = in.Needs&(llm.JSONMode|llm.JSONSchema) != 0
		case policy.CheckTools:
			applies = in.Needs.Has(llm.Tools)
		case policy.CheckCode:
			applies = in.Features.Task == predict.Code
		case policy.CheckHook:
			applies = true
		}
		if applies {
			checks = append(checks, name)
		}
	}
	return checks
}

// cascade plans the response checks of a request and moves the models of the cascade to the front. It returns nil if no policy requires
// checks of this request, if no check can apply, or if only one model can be tried.
func (r *ranking) cascade() *Cascade {
	v := r.rules.Verify
	if !v.IsSet() || r.in.Op != llm.Chat || r.in.Choices > 1 || r.in.Stream && v.Value.Streams != nil && !*v.Value.Streams {
		return nil
	}
	checks := applicableChecks(r.in, v.Value)
	if len(checks) == 0 {
		return nil
	}
	c := &Cascade{Policy: v.Policy, Checks: checks, Verify: v.Value}
	choice := r.ready[0]
	first, second := r.cheaperFirst(choice), choice
	if first == nil {
		first, second = choice, r.stronger(choice)
		prefers := second != nil && first.preference != second.preference && first.fallbackOrder == second.fallbackOrder && first.providerOrder == second.providerOrder
		// Skip a first model that a policy prefers if the second model alone is expected to cost no more than the cascade.
		if prefers && first.cost < second.cost && cascadeCost(first, second) >= second.cost {
			skipped := first.step()
			first, c.Skipped = second, &skipped
			second = r.stronger(first)
		}
	}
	if second == nil {
		if c.Skipped == nil {
			return nil
		}
		// The response of the only remaining model is served in any case, so it is not checked.
		c.Steps, c.Cost, c.Without = []CascadeStep{first.step()}, first.cost, first.cost
		r.moveToFront(first)
		return c
	}
	c.Steps = []CascadeStep{first.step(), second.step()}
	c.Cost, c.Without = cascadeCost(first, second), second.cost
	r.moveToFront(first, second)
	return c
}

// cheaperFirst returns the cheaper model that reduces the expected cost the most if it is tried before the choice. It returns nil if the
// caller wants the lowest latency, if another model could not read the reasoning of the tool loop, or if no model reduces the expected
// cost.
func (r *ranking) cheaperFirst(choice *candidate) *candidate {
	if !choice.priced() || r.objective.Name == "speed" || r.discards > 0 {
		return nil
	}
	var best *candidate
	least := choice.cost
	for i, cand := range r.ready {
		if i == 0 || cand.Model == r.ready[i-1].Model || !cand.priced() || !sameClass(cand, choice) {
			continue // consider only the first target of each model, in the same class as the choice
		}
		if cost := cascadeCost(cand, choice); cost < least {
			best, least = cand, cost
		}
	}
	return best
}

// sameClass reports whether the router determines the order of two candidates. Otherwise, the caller or a policy determines it.
func sameClass(a, b *candidate) bool {
	return a.fallbackOrder == b.fallbackOrder && a.providerOrder == b.providerOrder && a.preference == b.preference
}

// stronger returns the next model to try: the next model in the order set by the caller or a policy, or the next model with a higher
// predicted quality.
func (r *ranking) stronger(choice *candidate) *candidate {
	after := false
	for _, cand := range r.ready {
		if cand == choice {
			after = true
			continue
		}
		if after && cand.Model != choice.Model && cand.priced() && choice.priced() && (!sameClass(cand, choice) || cand.Quality > choice.Quality) {
			return cand
		}
	}
	return nil
}

// moveToFront moves the models of the given candidates to the front of the plan, in the given order. It does not move targets of these
// models that the caller or a policy ranks differently from the candidates.
func (r *ranking) moveToFront(leaders ...*candidate) {
	ordered := make([]*candidate, 0, len(r.ready))
	for _, leader := range leaders {
		for _, cand := range r.ready {
			if cand.Model == leader.Model && sameClass(cand, leader) {
				ordered = append(ordered, cand)
			}
		}
	}
	for _, cand := range r.ready {
		if !slices.Contains(ordered, cand) {
			ordered = append(ordered, cand)
		}
	}
	r.ready = ordered
}
