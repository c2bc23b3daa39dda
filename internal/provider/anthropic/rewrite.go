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
		Model: c.Target.Upstream, Signer: c.Target.ID(), NoSystemTurns: !m.systemTurns, Set: map[string][]byte{}, Add: map[string][]byte{},
	}}
	if limit := c.Target.Model.MaxOutput; limit > 0 && c.Request.MaxOutput > limit {
		c.Warn("max_tokens was set to %d, the maximum of the model", limit)
		a.edit.Set["max_tokens"] = strconv.AppendInt(nil, limit, 10)
	}
	a.sampling()
	if !m.guessed { // for an unknown model, the client's values are kept
		a.thinking()
		a.effort()
	}
	thinking := a.value("thinking").Get("type").String()
	if set := a.edit.Set["thinking"]; set != nil {
		thinking = rawjson.Get(set, "type").String()
	}
	thinks := (thinking == "enabled" || thinking == "adaptive") && !slices.Contains(a.edit.Drop, "thinking")
	if thinks { // the provider accepts few sampling settings together with thinking
		for _, name := range c.Request.Sampling {
			v := a.value(name).Float()
			accepted := name == "temperature" && v == 1 || name == "top_p" && v >= 0.95
			if !accepted && !slices.Contains(a.edit.Drop, name) {
				a.edit.Drop = append(a.edit.Drop, name)
				c.Warn("%s was dropped: the provider does not accept it together with thinking", name)
			}
		}
	}
	body, lost := messages.Pieces(c.Request, a.edit)
	// With a thinking budget, each turn with a tool call must contain the thinking that preceded the call.
	if (lost || c.Request.LostThinking) && m.Thinking == messages.BudgetThinking && !slices.Contains(a.edit.Drop, "thinking") {
		if kind := a.value("thinking").Get("type").String(); kind != "" && kind != disabled {
			c.Warn("thinking was disabled: some of the thinking in the history was signed by another provider")
			a.edit.Set["thinking"] = []byte(`{"type":"disabled"}`)
			body, _ = messages.Pieces(c.Request, a.edit)
		}
	}
	return body
}

// value returns a top-level member of the request.
func (a *adaptation) value(name string) rawjson.Value {
	for _, f := range a.call.Request.Fields {
		if f.Name == name {
			return rawjson.Parse(a.call.Request.Body[f.Value:f.End])
		}
	}
	return rawjson.Value{}
}

// sampling drops non-default sampling values for a model with fixed sampling.
func (a *adaptation) sampling() {
	if !a.FixedSampling || a.guessed && !a.call.Target.Model.FixedSampling {
		return
	}
	for _, name := range a.call.Request.Sampling {
		if v := a.value(name); name == "top_k" || v.Float() < 0.99 || v.Float() > 1 || name == "temperature" && v.Float() != 1 {
			a.edit.Drop = append(a.edit.Drop, name)
			a.call.Warn("%s was dropped: the model does not support sampling settings", name)
		}
	}
}

// thinking converts the thinking settings to a form that the model supports.
func (a *adaptation) thinking() {
	kind := a.value("thinking").Get("type").String()
	always := a.ThinksByDefault && a.Off == ""
	switch {
	case !always && forcesCall(a.call) && kind != disabled:
		a.unforceThinking(kind != "")
	case kind == "":
	case kind == disabled && always:
		a.call.Warn("thinking was not disabled: the model always thinks")
		a.edit.Drop = append(a.edit.Drop, "thinking")
	case kind == disabled && a.ThinksByDefault && a.Off != disabled:
		a.edit.Set["thinking"] = []byte(`{"type":"` + a.Off + `"}`)
	case kind == disabled:
	case a.Thinking == messages.NoThinking:
		a.call.Warn("thinking settings were dropped: the model does not think")
		a.edit.Drop = append(a.edit.Drop, "thinking")
	case kind == "enabled" && a.Thinking == messages.AdaptiveThinking:
		a.call.Warn("the thinking budget was dropped: the model decides how much it thinks")
		a.edit.Set["thinking"] = []byte(`{"type":"adaptive"}`)
	case kind == "adaptive" && a.Thinking == messages.BudgetThinking:
		budget := llm.Effort{Level: a.value("output_config").Get("effort").String()}.ThinkingBudget(a.call.Request.MaxOutput)
		if budget == 0 {
			a.call.Warn("thinking was dropped: it needs more than %d output tokens", llm.MinThinkingBudget)
			a.edit.Drop = append(a.edit.Drop, "thinking")
			return
		}
		a.edit.Set["thinking"] = []byte(`{"type":"enabled","budget_tokens":` + strconv.FormatInt(budget, 10) + `}`)
	}
}

// unforceThinking disables thinking for a request that forces a call, because the provider rejects the combination.
func (a *adaptation) unforceThinking(explicit bool) {
	off := []byte(`{"type":"` + a.Off + `"}`)
	if explicit {
		a.call.Warn("thinking was disabled: the provider cannot force a call on a thinking model")
	}
	switch {
	case explicit && a.ThinksByDefault:
		a.edit.Set["thinking"] = off
	case explicit:
		a.edit.Drop = append(a.edit.Drop, "thinking")
	case a.ThinksByDefault:
		a.edit.Add["thinking"] = off
	}
}

// forcesCall reports whether the request forces a tool call.
func forcesCall(c *provider.Call) bool { return c.Request.Conversation.ToolChoice.Mode == llm.ChoiceMust }

// effort sets the effort that the router chose, or drops an effort that the model does not support.
func (a *adaptation) effort() {
	config := a.value("output_config")
	chosen, effort := a.call.Target.Effort, config.Get("effort").String()
	if chosen == "" && (effort == "" || slices.Contains(a.Efforts, effort)) {
		return
	}
	if chosen == "" && (a.Thinking != messages.BudgetThinking || a.value("thinking").Get("type").String() != "adaptive") { // otherwise, the budget expresses it
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
	switch {
	case !config.Exists():
		a.edit.Add["output_config"] = rest.Out
	case string(rest.Out) == "{}":
		a.edit.Drop = append(a.edit.Drop, "output_config")
	default:
		a.edit.Set["output_config"] = rest.Out
	}
}
