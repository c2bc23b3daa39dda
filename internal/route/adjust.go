package route

import (
	"fmt"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
)

// AdjustmentCode is the kind of an Adjustment.
type AdjustmentCode string

// The kinds of adjustments.
const (
	Housekeeping AdjustmentCode = "housekeeping"   // the request is an agent's housekeeping call, so the cheapest target is chosen
	Escalated    AdjustmentCode = "escalated"      // the task is stuck, so it counts as harder and the dial moves towards quality
	Recovered    AdjustmentCode = "recovered"      // the task was stuck and is making progress again
	Downgraded   AdjustmentCode = "downgraded"     // a budget of the session or the end user is nearly spent, so the request is routed by auto:cost
	Inherited    AdjustmentCode = "task_inherited" // the request is a short reply and is routed like the preceding task
)

// Adjustment is an effect of the conversation on the decision, with its reason.
type Adjustment struct {
	Code   AdjustmentCode `json:"code"`
	Reason string         `json:"reason"` // reason for the adjustment, such as "3 identical tool errors"
}

// MaxEscalation is the number of escalation steps.
const MaxEscalation = 3

// escalations holds the effects of each escalation step. In recorded tool loops, the odds of success fall to about 0.3, 0.13 and 0.08 of
// their value with one, two and three failing results in a row.
var escalations = [MaxEscalation + 1]struct {
	harder float64 // increase of the difficulty, because the task is harder than its text suggests
	shift  float64 // fraction of the distance to the best end of the dial by which the objective moves
}{{}, {0.75, 0.5}, {1.25, 0.75}, {1.5, 0.9}}

// escalation returns the escalation step for a conversation.
func escalation(t *predict.Trouble) int {
	switch {
	case t.Level < predict.Troubled:
		return 0
	case t.Level == predict.Troubled:
		return 1
	case t.Level < predict.MaxTrouble:
		return 2
	}
	return MaxEscalation
}

// adjusted returns the objective of a request after escalation, and the escalation step. Housekeeping requests get the cheapest
// trade-off unless the caller asks for the best model or a policy sets the objective. Requests for the cheapest or the fastest
// model are not escalated.
func (r *rules) adjusted(in *Input) (o Objective, step int) {
	o = in.Objective
	if r.Objective.IsSet() {
		named, ok := NamedObjective(r.Objective.Value.Name)
		if o = named; !ok {
			o = Objective{Name: "number", Tradeoff: r.Objective.Value.Tradeoff}
		}
	}
	if in.Op != llm.Chat || !in.Routed() {
		return o, 0
	}
	c := &in.Conversation
	if t := in.Route; t != nil && t.Tradeoff != nil && o.Name == "auto" && !r.Objective.IsSet() {
		o.Tradeoff = *t.Tradeoff
	}
	if c.Purpose != "" && o.Tradeoff < 1 && !r.Objective.IsSet() {
		o.Tradeoff = 0
		return o, 0
	}
	if o.Name == "speed" || o.Tradeoff == 0 {
		return o, 0
	}
	step = escalation(&c.Trouble)
	if r.MaxEscalation.IsSet() {
		step = min(step, int(r.MaxEscalation.Value))
	}
	o.Tradeoff += (1 - o.Tradeoff) * escalations[step].shift
	return o, step
}

// stay keeps the model of the conversation, unless another is worth the change. In a healthy tool loop it always stays: a switch would lose
// the cached prompt and the reasoning, and the prediction knows less about the loop than its model. At a new turn, the
// other model must be better by stayPoints, or at most half as dear. A stuck task looks for a better model.
func (r *ranking) stay() *Stay {
	in, first := r.in, r.ready[0]
	if in.Last == "" || in.Op != llm.Chat || !in.Routed() || in.Conversation.Purpose != "" || r.step > 0 {
		return nil
	}
	at := slices.IndexFunc(r.ready, func(cand *candidate) bool { return cand.Target == in.Last })
	if at < 0 {
		return nil
	}
	last := r.ready[at]
	if last.fallbackOrder != first.fallbackOrder || last.providerOrder != first.providerOrder || last.preference != first.preference {
		return nil // the caller or a policy orders the targets
	}
	if at == 0 {
		return r.cacheStay(first)
	}
	reason := StayGain
	switch {
	case in.Conversation.Loop:
		reason = StayLoop
	case first.Quality >= last.Quality+stayPoints, 2*first.option.total <= last.option.total:
		return nil
	}
	r.moveToFront(last.Model)
	if i := slices.Index(r.ready, last); i > 0 { // another provider of the model
		copy(r.ready[1:i+1], r.ready[:i])
		r.ready[0] = last
	}
	return &Stay{Target: last.Target, Alternative: first.Target, Switch: first.option.total.Sub(last.option.total), Reason: reason}
}

// cacheStay returns a Stay if another target would have been chosen without cached prompts.
func (r *ranking) cacheStay(first *candidate) *Stay {
	if first.Cache.Read == 0 {
		return nil
	}
	other := first
	for _, cand := range r.ready[1:] {
		same := cand.fallbackOrder == first.fallbackOrder && cand.providerOrder == first.providerOrder && cand.preference == first.preference
		if same && cand.option.standing == fair && cand.option.valueIdle > other.option.valueIdle {
			other = cand
		}
	}
	if other == first || other.option.total <= first.option.total {
		return nil
	}
	return &Stay{Target: first.Target, Alternative: other.Target, Switch: other.option.total.Sub(first.option.total), Reason: StayCache}
}

// adjustments returns the effects of the conversation on the decision.
func (r *ranking) adjustments() []Adjustment {
	in := r.in
	if in.Op != llm.Chat || !in.Routed() {
		return nil
	}
	c, list := &in.Conversation, []Adjustment(nil)
	if in.Downgrade != "" {
		list = append(list, Adjustment{Downgraded, in.Downgrade})
	}
	if c.Inherited > 0 {
		reason := "the last user message is a short reply"
		if c.Inherited > 1 {
			reason = fmt.Sprintf("the last %d user messages are short replies", c.Inherited)
		}
		list = append(list, Adjustment{Inherited, reason})
	}
	switch {
	case c.Purpose != "" && r.objective.Tradeoff == 0:
		list = append(list, Adjustment{Housekeeping, "a call that the client makes for itself"})
	case r.step > 0:
		list = append(list, Adjustment{Escalated, c.Trouble.Cause()})
	case c.Trouble.Recovered:
		list = append(list, Adjustment{Recovered, "tool calls succeed again"})
	}
	return list
}
