package route

import (
	"fmt"

	"fairlead.dev/internal/conversation"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
)

// AdjustmentCode is the kind of an Adjustment.
type AdjustmentCode string

// The kinds of adjustments.
const (
	Housekeeping AdjustmentCode = "housekeeping"   // the request is an agent's housekeeping call, so the cheapest target is chosen
	Escalated    AdjustmentCode = "escalated"      // the task is stuck, so predictions are lower and the quality target is higher
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

// escalations holds the effects of each escalation step.
var escalations = [MaxEscalation + 1]struct {
	logitDrop float64 // decrease of the logit of every prediction, because the task is harder than its text suggests
	doubt     float64 // weight of a typical prompt's skills, relative to the skills predicted from the text
	shift     float64 // fraction of the distance to 1 by which the trade-off is increased
}{{}, {0.4, 0.3, 0.25}, {1, 0.6, 0.85}, {1.5, 0.9, 0.95}}

// escalation returns the escalation step for a conversation.
func escalation(t *conversation.Trouble) int {
	switch {
	case t.Level < conversation.Troubled:
		return 0
	case t.Level == conversation.Troubled:
		return 1
	case t.Level < conversation.MaxTrouble:
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
	if in.Op != llm.Chat || !IsAuto(in.Model) {
		return o, 0
	}
	c := &in.Conversation
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

// escalateFeatures returns features that lower the predictions according to the escalation step.
func escalateFeatures(f predict.Features, step int, typical []float64) predict.Features {
	if step == 0 {
		return f
	}
	e := &escalations[step]
	f.Ease -= e.logitDrop
	if len(typical) == len(f.Skills) {
		skills := make([]float64, len(f.Skills))
		for i, z := range f.Skills {
			skills[i] = (1-e.doubt)*z + e.doubt*typical[i]
		}
		f.Skills = skills
	}
	return f
}

// adjustments returns the effects of the conversation on the decision.
func (r *ranking) adjustments() []Adjustment {
	in := r.in
	if in.Op != llm.Chat || !IsAuto(in.Model) {
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
		list = append(list, Adjustment{Housekeeping, string(c.Purpose)})
	case r.step > 0:
		list = append(list, Adjustment{Escalated, c.Trouble.Cause()})
	case c.Trouble.Recovered:
		list = append(list, Adjustment{Recovered, "tool calls succeed again"})
	}
	return list
}
