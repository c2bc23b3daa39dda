package anthropic

import (
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// planThinking decides whether and how thinking is requested. A forced tool call disables thinking, unless the model always thinks. Thinking
// with a budget is also disabled if earlier thinking of the turn is missing, because the provider would reject the request.
func (r *renderer) planThinking(turns []llm.Message) {
	e, t, p := r.conv.Effort, r.o.Traits, &r.plan
	wanted := e.Adaptive || e.Budget > 0 || e.Level != "" && e.Level != "none"
	forced := p.choice.Mode == llm.ChoiceMust
	always := t.ThinksByDefault && t.Off == ""
	const off = "thinking was disabled: the provider cannot force a call on a thinking model"
	switch {
	case e.Level == "none" && always:
		r.warn("thinking was not disabled: the model always thinks")
		if len(t.Efforts) > 0 {
			p.effort = t.Efforts[0]
		}
	case t.ThinksByDefault && !always && (forced || e.Level == "none"):
		p.thinking = thinkingMode(t.Off)
		if wanted {
			r.warn(off)
		}
	case !wanted:
	case t.Thinking == NoThinking:
		r.warn("reasoning settings were dropped: the model does not think")
	case forced && !always:
		r.warn(off)
	case t.Thinking == AdaptiveThinking:
		p.thinking = adaptive
		p.effort = r.level(e)
	default:
		r.planBudget(e, turns)
	}
}

// level returns the requested level. If the model does not support it, level returns the next lower level that the
// model supports, or the lowest level of the model.
func (r *renderer) level(e llm.Effort) string {
	if e.Budget > 0 {
		r.warn("the thinking budget was dropped: the model decides how much it thinks")
	}
	if e.Level == "" || len(r.o.Traits.Efforts) == 0 {
		return ""
	}
	levels := []string{"minimal", "low", "medium", "high", "xhigh", "max"}
	for at := slices.Index(levels, e.Level); at >= 0; at-- {
		if slices.Contains(r.o.Traits.Efforts, levels[at]) {
			if levels[at] != e.Level {
				r.warn("effort %s was sent as %s: the model does not support it", show.Quote(e.Level), levels[at])
			}
			return levels[at]
		}
	}
	least := r.o.Traits.Efforts[0]
	r.warn("effort %s was sent as %s: the model does not support it", show.Quote(e.Level), least)
	return least
}

// planBudget requests thinking with a budget, which is part of max_tokens.
func (r *renderer) planBudget(e llm.Effort, turns []llm.Message) {
	last := len(turns) - 1
	budget := e.ThinkingBudget(r.plan.maxTokens)
	switch {
	case budget == 0:
		r.warn("thinking was disabled: it needs more than %d output tokens", llm.MinThinkingBudget)
		return
	case last >= 0 && turns[last].Role == llm.Assistant:
		r.warn("thinking was disabled: the provider does not support it when the conversation ends with an assistant message")
		return
	case r.lacksThinking(turns):
		r.warn("thinking was disabled: the thinking before the last tool call is missing or was signed by another provider")
		return
	}
	r.plan.thinking, r.plan.budget = enabled, budget
	if e.Budget > 0 && r.plan.budget != e.Budget {
		r.warn("the thinking budget was set to %d: it must be at least %d and less than max_tokens", r.plan.budget, llm.MinThinkingBudget)
	}
}

// lacksThinking reports whether the last turn has tool results and the turn before has no thinking signed by the provider. The
// provider rejects such turns when thinking is enabled.
func (r *renderer) lacksThinking(turns []llm.Message) bool {
	last := len(turns) - 1
	if last < 1 || !slices.ContainsFunc(turns[last].Parts, func(p llm.Part) bool { return p.Kind == llm.ResultPart }) {
		return false
	}
	return !slices.ContainsFunc(turns[last-1].Parts, r.isSignedThinking)
}

// isSignedThinking reports whether a part is thinking that was signed by the provider.
func (r *renderer) isSignedThinking(p llm.Part) bool {
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
		r.w.Str("display", display) // newer models return thinking only on request
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
