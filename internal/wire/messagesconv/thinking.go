package messagesconv

import (
	"slices"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// planThinking decides whether and how the model is asked to think. What the caller must have goes before what it would
// like: a forced call or a turn whose thinking is lost switches thinking off.
func (r *renderer) planThinking(turns []llm.Message) {
	e, t, p := r.conv.Effort, r.o.Traits, &r.plan
	wanted := e.Adaptive || e.Budget > 0 || e.Level != "" && e.Level != "none"
	forced := p.choice.Mode == llm.ChoiceMust
	always := t.ThinksByDefault && t.Off == ""
	const off = "thinking was switched off: the provider does not force a call on a model that thinks"
	switch {
	case e.Level == "none" && always:
		r.warn("thinking was not switched off: the model always thinks")
		p.effort = first(t.Efforts)
	case t.ThinksByDefault && !always && (forced || e.Level == "none"):
		p.thinking = thinkingMode(t.Off)
		if wanted {
			r.warn(off)
		}
	case !wanted:
	case t.Thinking == NoThinking:
		r.warn("the model does not think: what was asked about reasoning was left out")
	case forced && !always:
		r.warn(off)
	case t.Thinking == AdaptiveThinking:
		p.thinking = adaptive
		p.effort = r.level(e)
	default:
		r.planBudget(e, turns)
	}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// levels are the words for effort, the least first.
var levels = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// level finds the model's word for the caller's: the same, else the next below, else the least.
func (r *renderer) level(e llm.Effort) string {
	if e.Budget > 0 {
		r.warn("the budget of thinking was left out: the model decides how much it thinks")
	}
	if e.Level == "" || len(r.o.Traits.Efforts) == 0 {
		return ""
	}
	for at := slices.Index(levels, e.Level); at >= 0; at-- {
		if slices.Contains(r.o.Traits.Efforts, levels[at]) {
			if levels[at] != e.Level {
				r.warn("effort %s was sent as %s: the model does not know it", show.Quote(e.Level), levels[at])
			}
			return levels[at]
		}
	}
	least := r.o.Traits.Efforts[0]
	r.warn("effort %s was sent as %s: the model does not know it", show.Quote(e.Level), least)
	return least
}

// budgets are the tokens that stand for levels of effort.
var budgets = map[string]int64{"minimal": minBudget, "low": 4 << 10, "medium": 12 << 10, "high": 24 << 10, "xhigh": 32 << 10, "max": 48 << 10}

// planBudget asks for thinking by its budget, which is a part of max_tokens.
func (r *renderer) planBudget(e llm.Effort, turns []llm.Message) {
	last := len(turns) - 1
	switch {
	case r.plan.maxTokens <= minBudget:
		r.warn("thinking was switched off: it needs more than %d tokens of output", minBudget)
		return
	case last >= 0 && turns[last].Role == llm.Assistant:
		r.warn("thinking was switched off: the conversation ends with the assistant, and the provider lets it go on only without")
		return
	case r.lostThinking(turns):
		r.warn("thinking was switched off: the thinking before the last tool call is not there, or was signed by another provider")
		return
	}
	budget := e.Budget
	if budget == 0 {
		budget = budgets[e.Level]
	}
	if budget == 0 {
		budget = budgets["medium"]
	}
	room := max(r.plan.maxTokens*4/5, minBudget) // the text needs some of the output
	if e.Budget > 0 {
		room = r.plan.maxTokens - 1
	}
	r.plan.thinking, r.plan.budget = enabled, min(max(budget, minBudget), room)
	if e.Budget > 0 && r.plan.budget != e.Budget {
		r.warn("the budget of thinking was set to %d: it must be at least %d and less than max_tokens", r.plan.budget, minBudget)
	}
}

// lostThinking reports whether the conversation stands between a tool's results and the next answer without the thinking
// that led to the call. The provider refuses such a turn while it is to think.
func (r *renderer) lostThinking(turns []llm.Message) bool {
	last := len(turns) - 1
	if last < 1 || !slices.ContainsFunc(turns[last].Parts, func(p llm.Part) bool { return p.Kind == llm.ResultPart }) {
		return false
	}
	return !slices.ContainsFunc(turns[last-1].Parts, r.goodThinking)
}

// goodThinking reports thinking that the provider signed itself.
func (r *renderer) goodThinking(p llm.Part) bool {
	return p.Kind == llm.ThinkingPart && p.Thinking.Provider == r.o.Signer && (p.Thinking.Signature != "" || p.Thinking.Redacted != "")
}

func (r *renderer) thinking() {
	p := r.plan
	if p.thinking == unspecified {
		return
	}
	r.w.Key("thinking")
	r.w.Open()
	r.w.Str("type", string(p.thinking))
	if p.thinking == enabled {
		r.w.Int("budget_tokens", p.budget)
	}
	if p.thinking == adaptive {
		display := "summarized"
		if r.conv.Effort.Hide {
			display = "omitted"
		}
		r.w.Str("display", display) // newer models show nothing unless asked
	}
	r.w.Close()
}

func (r *renderer) outputConfig() {
	p := r.plan
	if p.effort == "" && p.schema == nil {
		return
	}
	r.w.Key("output_config")
	r.w.Open()
	if p.effort != "" {
		r.w.Str("effort", p.effort)
	}
	if p.schema != nil {
		r.w.Key("format")
		r.w.Open()
		r.w.Str("type", "json_schema")
		r.w.Raw("schema", p.schema)
		r.w.Close()
	}
	r.w.Close()
}
