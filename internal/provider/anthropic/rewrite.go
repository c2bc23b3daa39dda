package anthropic

import (
	"slices"
	"strconv"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/messages"
	"fairlead/internal/wire/messagesconv"
)

// adaptation describes changes to a request of the same format, which the client may have written for another model.
type adaptation struct {
	model
	call *provider.Call
	edit messages.Edit
}

func (m model) rewrite(c *provider.Call) []byte {
	a := adaptation{model: m, call: c, edit: messages.Edit{
		Model: c.Target.Upstream, Signer: m.signer(c.Target), Set: map[string][]byte{},
	}}
	a.length()
	a.sampling()
	if !m.guessed { // otherwise the client's value is kept
		a.thinking()
		a.effort()
	}
	body, lost := messages.Rewrite(c.Request, a.edit)
	if lost && a.budgeted() {
		c.Warn("thinking was disabled: some of the thinking in the history was signed by another provider")
		a.edit.Set["thinking"] = []byte(`{"type":"disabled"}`)
		body, _ = messages.Rewrite(c.Request, a.edit)
	}
	return body
}

// value returns a top-level member of the request.
func (a *adaptation) value(name string) rawjson.Value {
	i := slices.IndexFunc(a.call.Request.Fields, func(f llm.Field) bool { return f.Name == name })
	if i < 0 {
		return rawjson.Value{}
	}
	f := a.call.Request.Fields[i]
	return rawjson.Parse(a.call.Request.Body[f.Value:f.End])
}

// length limits the output to the model's maximum.
func (a *adaptation) length() {
	if most := a.call.Target.Model.MaxOutput; most > 0 && a.call.Request.MaxOutput > most {
		a.call.Warn("max_tokens was set to %d, the maximum of the model", most)
		a.edit.Set["max_tokens"] = strconv.AppendInt(nil, most, 10)
	}
}

// sampling drops values other than the default for a model with fixed sampling.
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

// thinking requests thinking in the way that the model supports.
func (a *adaptation) thinking() {
	kind := a.value("thinking").Get("type").String()
	always := a.ThinksByDefault && a.Off == ""
	switch {
	case kind == "":
	case kind == disabled && always:
		a.call.Warn("thinking was not disabled: the model always thinks")
		a.edit.Drop = append(a.edit.Drop, "thinking")
	case kind == disabled && a.ThinksByDefault && a.Off != disabled:
		a.edit.Set["thinking"] = []byte(`{"type":"` + a.Off + `"}`)
	case kind == disabled:
	case a.Thinking == messagesconv.NoThinking:
		a.call.Warn("thinking settings were dropped: the model does not think")
		a.edit.Drop = append(a.edit.Drop, "thinking")
	case kind == "enabled" && a.Thinking == messagesconv.AdaptiveThinking:
		a.call.Warn("the thinking budget was dropped: the model decides how much it thinks")
		a.edit.Set["thinking"] = []byte(`{"type":"adaptive"}`)
	case kind == "adaptive" && a.Thinking == messagesconv.BudgetThinking:
		a.budget()
	}
}

// budget replaces adaptive thinking for a model that needs a budget.
func (a *adaptation) budget() {
	budget := llm.Effort{Adaptive: true}.ThinkingBudget(a.call.Request.MaxOutput)
	if budget == 0 {
		a.call.Warn("thinking was dropped: it needs more than %d output tokens", llm.MinThinkingBudget)
		a.edit.Drop = append(a.edit.Drop, "thinking")
		return
	}
	a.call.Warn("adaptive thinking was sent as a budget of %d tokens: the model requires a budget", budget)
	a.edit.Set["thinking"] = []byte(`{"type":"enabled","budget_tokens":` + strconv.FormatInt(budget, 10) + `}`)
}

// budgeted reports whether a thinking budget is requested: then every turn with a call needs its thinking.
func (a *adaptation) budgeted() bool {
	kind := a.value("thinking").Get("type").String()
	return a.Thinking == messagesconv.BudgetThinking && kind != "" && kind != disabled && !slices.Contains(a.edit.Drop, "thinking")
}

// effort drops an effort that the model does not support.
func (a *adaptation) effort() {
	config := a.value("output_config")
	effort := config.Get("effort").String()
	if effort == "" || slices.Contains(a.Efforts, effort) {
		return
	}
	a.call.Warn("effort %q was dropped: the model does not support it", effort)
	var rest rawjson.Writer
	rest.Open()
	config.ForEach(func(key, value rawjson.Value) bool {
		if key.String() != "effort" {
			rest.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	rest.Close()
	if string(rest.Out) == "{}" {
		a.edit.Drop = append(a.edit.Drop, "output_config")
		return
	}
	a.edit.Set["output_config"] = rest.Out
}
