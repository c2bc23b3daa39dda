package anthropic

import (
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/rawjson"
	messages "fairlead.dev/internal/wire/anthropic"
)

// adaptation collects the changes to a request in the messages format that the client may have written for another model.
type adaptation struct {
	model
	call *provider.Call
	edit messages.Edit
}

func (m model) rewrite(c *provider.Call) [][]byte {
	a := adaptation{model: m, call: c, edit: messages.Edit{
		Model: c.Target.Upstream, Signer: c.Target.ID(), NoSystemTurns: !m.systemTurns, Set: map[string][]byte{},
	}}
	if limit := c.Target.Model.MaxOutput; limit > 0 && c.Request.MaxOutput > limit {
		c.Warn("max_tokens was set to %d, the maximum of the model", limit)
		a.edit.Set["max_tokens"] = strconv.AppendInt(nil, limit, 10)
	}
	if !m.guessed { // for an unknown model, the client's values are kept
		a.adaptThinking()
		a.adaptEffort()
	}
	a.adaptSampling()
	body, lost := messages.Pieces(c.Request, a.edit)
	// With a thinking budget, each turn with a tool call must contain the thinking that preceded the call.
	if kind := a.thinkingType(); (lost || c.Request.LostThinking) && m.Thinking == messages.BudgetThinking && kind != "" && kind != disabled {
		c.Warn("thinking was disabled: some of the thinking in the history was signed by another provider")
		a.setThinking(disabled)
		body, _ = messages.Pieces(c.Request, a.edit)
	}
	return body
}

// value returns a top-level member as it will be sent.
func (a *adaptation) value(name string) rawjson.Value {
	if set, changed := a.edit.Set[name]; changed {
		return rawjson.Parse(set)
	}
	for _, f := range a.call.Request.Fields {
		if f.Name == name {
			return rawjson.Parse(a.call.Request.Body[f.Value:f.End])
		}
	}
	return rawjson.Value{}
}

func (a *adaptation) thinkingType() string { return a.value("thinking").Get("type").String() }

func (a *adaptation) setThinking(kind string) {
	a.edit.Set["thinking"] = []byte(`{"type":"` + kind + `"}`)
}

// adaptSampling drops the sampling values that the model rejects.
func (a *adaptation) adaptSampling() {
	kind := a.thinkingType()
	thinks := kind == "enabled" || kind == "adaptive"
	fixed := a.FixedSampling && (!a.guessed || a.call.Target.Model.FixedSampling)
	for _, name := range a.call.Request.Sampling {
		v := a.value(name).Float()
		switch isDefault := v == 1 && name != "top_k"; {
		case isDefault:
		case fixed && !(name == "top_p" && v >= 0.99 && v < 1):
			a.call.Warn("%s was dropped: the model does not support sampling settings", name)
			a.edit.Set[name] = nil
		case thinks && !(name == "top_p" && v >= 0.95): // the provider accepts few sampling settings together with thinking
			a.call.Warn("%s was dropped: the provider does not accept it together with thinking", name)
			a.edit.Set[name] = nil
		}
	}
}

// adaptThinking converts the thinking settings to a form that the model supports.
func (a *adaptation) adaptThinking() {
	kind := a.thinkingType()
	always := a.ThinksByDefault && a.Off == ""
	switch {
	case !always && forcesCall(a.call) && kind != disabled: // the provider rejects the combination
		if kind != "" {
			a.call.Warn("thinking was disabled: the provider cannot force a call on a thinking model")
			a.edit.Set["thinking"] = nil
		}
		if a.ThinksByDefault {
			a.setThinking(a.Off)
		}
	case kind == "":
	case kind == disabled && always:
		a.call.Warn("thinking was not disabled: the model always thinks")
		a.edit.Set["thinking"] = nil
	case kind == disabled && a.ThinksByDefault:
		if a.Off != disabled {
			a.setThinking(a.Off)
		}
	case kind == disabled:
	case a.Thinking == messages.NoThinking:
		a.call.Warn("thinking settings were dropped: the model does not think")
		a.edit.Set["thinking"] = nil
	case kind == "enabled" && a.Thinking == messages.AdaptiveThinking:
		a.call.Warn("the thinking budget was dropped: the model decides how much it thinks")
		a.setThinking("adaptive")
	case kind == "adaptive" && a.Thinking == messages.BudgetThinking:
		budget := llm.Effort{Level: a.value("output_config").Get("effort").String()}.ThinkingBudget(a.call.Request.MaxOutput)
		if budget == 0 {
			a.call.Warn("thinking was dropped: it needs more than %d output tokens", llm.MinThinkingBudget)
			a.edit.Set["thinking"] = nil
			return
		}
		a.edit.Set["thinking"] = []byte(`{"type":"enabled","budget_tokens":` + strconv.FormatInt(budget, 10) + `}`)
	}
}

// forcesCall reports whether the request forces a tool call.
func forcesCall(c *provider.Call) bool {
	return c.Request.Conversation.ToolChoice.Mode == llm.ChoiceMust
}

// adaptEffort sets the effort that the router chose, or drops an effort that the model does not support.
func (a *adaptation) adaptEffort() {
	config := a.value("output_config")
	chosen, effort := a.call.Target.Effort, config.Get("effort").String()
	if chosen == "" && (effort == "" || slices.Contains(a.Efforts, effort)) {
		return
	}
	if chosen == "" && (a.Thinking != messages.BudgetThinking || a.edit.Set["thinking"] == nil) { // otherwise, the budget expresses it
		a.call.Warn("effort %q was dropped: the model does not support it", effort)
	}
	var rest rawjson.Writer
	rest.Open()
	rest.OptionalStr("effort", chosen)
	config.ForEach(func(key, value rawjson.Value) bool {
		if key.String() != "effort" {
			rest.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	rest.Close()
	a.edit.Set["output_config"] = rest.Out
	if string(rest.Out) == "{}" {
		a.edit.Set["output_config"] = nil
	}
}
