package bedrock

import (
	"cmp"
	"encoding/json"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// encodeThinking encodes the request's thinking settings in the members that the model family uses.
func (r *renderer) encodeThinking() {
	e := r.conv.Effort
	asked := e.Budget > 0 || e.Adaptive || e.Level != "" && e.Level != "none"
	switch {
	case asked && r.impeded():
	case asked:
		r.think(e)
	case e.Level != "none":
	case r.d.AlwaysThinks:
		r.warnings.Add("reasoning_effort none was dropped: the model always thinks.")
	case r.d.Thinking == ThinkAdaptive:
		r.out.Additional.Thinking = &thinking{Type: "disabled"}
	case r.d.Thinking == ThinkEffort:
		r.out.Additional.ReasoningEffort = r.supportedLevel("none")
	}
}

// impeded reports whether another part of the request prevents the model from thinking. If so, it adds a warning.
func (r *renderer) impeded() bool {
	if r.d.AlwaysThinks || r.d.Thinking != ThinkBudget && r.d.Thinking != ThinkAdaptive {
		return false
	}
	forced := r.out.ToolConfig != nil && r.out.ToolConfig.Choice != nil && r.out.ToolConfig.Choice.Auto == nil
	switch {
	case forced:
		r.warnings.Add("reasoning was dropped: the model cannot think when a tool call is forced.")
	case r.prefilled():
		r.warnings.Add("reasoning was dropped: the model cannot think when it continues its own message.")
	case r.d.Thinking == ThinkBudget && r.lacksThought():
		r.warnings.Add("reasoning was dropped: earlier thinking of this turn is missing.")
	default:
		return false
	}
	return true
}

// lacksThought reports whether the last assistant turn called tools without thinking. A thinking model rejects such a
// turn.
func (r *renderer) lacksThought() bool {
	for _, m := range slices.Backward(r.out.Messages) {
		if m.Role == string(llm.Assistant) {
			return m.Content[0].Reasoning == nil && slices.ContainsFunc(m.Content, func(b block) bool { return b.ToolUse != nil })
		}
	}
	return false
}

func (r *renderer) think(e llm.Effort) {
	switch r.d.Thinking {
	case ThinkUnset:
		r.without("reasoning_effort")
	case ThinkBudget:
		budget := e.ThinkingBudget(cmp.Or(r.conv.MaxOutput, r.o.MaxOutput, r.o.ModelOutput))
		if budget == 0 {
			r.warnings.Add("reasoning was dropped: it needs more than %d output tokens.", llm.MinThinkingBudget)
			return
		}
		r.out.Additional.Thinking = &thinking{Type: "enabled", Budget: budget}
		if r.conv.MaxOutput == 0 && r.o.MaxOutput == 0 {
			r.out.InferenceConfig.MaxTokens = r.o.ModelOutput // the default limit may be smaller than the budget
		}
		r.dropSampling("while the model thinks")
	case ThinkAdaptive:
		r.out.Additional.Thinking = &thinking{Type: "adaptive"}
		if r.d.ShowThinking && !e.Hide {
			r.out.Additional.Thinking.Display = "summarized"
		}
		if e.Budget > 0 && e.Level == "" {
			r.warnings.Add("the thinking budget was dropped: the model decides how much it thinks.")
		}
		if e.Level != "" {
			r.out.OutputConfig.Effort = r.supportedLevel(e.Level)
		}
		r.dropSampling("while the model thinks")
	case ThinkNova:
		level := r.supportedLevel(cmp.Or(e.PortableLevel(), llm.DefaultEffort))
		switch { // the highest level accepts neither an output limit nor sampling settings
		case level == "high" && (r.conv.MaxOutput > 0 || r.o.MaxOutput > 0):
			r.warnings.Add("reasoning_effort was sent as medium: the model does not support max_tokens with high.")
			level = "medium"
		case level == "high":
			r.dropSampling("with high reasoning_effort")
		}
		r.out.Additional.Reasoning = &novaReasoning{Type: "enabled", Effort: level}
	case ThinkEffort:
		r.out.Additional.ReasoningEffort = r.supportedLevel(cmp.Or(e.PortableLevel(), llm.DefaultEffort))
	}
}

// supportedLevel returns the level, or the nearest level that the model supports.
func (r *renderer) supportedLevel(level string) string {
	if slices.Contains(r.d.Efforts, level) || len(r.d.Efforts) == 0 {
		return level
	}
	levels := []string{"minimal", "low", "medium", "high", "xhigh", "max"}
	nearest := r.d.Efforts[0]
	for _, l := range r.d.Efforts {
		if slices.Index(levels, l) <= slices.Index(levels, level) {
			nearest = l
		}
	}
	r.warnings.Add("reasoning_effort was sent as %s: the model does not support %s.", nearest, show.Name(level))
	return nearest
}

// dropSampling drops settings that are rejected together with thinking.
func (r *renderer) dropSampling(when string) {
	s := &r.conv.Sampling
	for _, x := range []struct {
		name  string
		value json.Number
	}{{"temperature", s.Temperature}, {"top_p", s.TopP}, {"top_k", s.TopK}} {
		if x.value != "" && !llm.IsDefaultSampling(x.name, x.value) && !r.d.FixedSampler {
			r.warnings.Add("%s was dropped: it is not supported %s.", x.name, when)
		}
	}
	r.noSampling = true
}
