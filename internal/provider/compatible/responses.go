package compatible

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/internal/wire/upstream"
)

// lacksOnResponses is the set of abilities that the Responses API does not support for any model.
const lacksOnResponses = llm.ManyChoices | llm.AudioIn | llm.AudioOut | llm.Logprobs

// usesResponses reports whether a call uses the Responses API. The Responses API is used for clients of the same format, for models that
// have no other API, for web search, and for function tools of models that reason: chat completions return no reasoning that a later turn
// could send back, and newer models reject the tools. All other calls use chat completions, which have more parameters.
func (e conversation) usesResponses(c *provider.Call) bool {
	switch {
	case e.responses == nil:
		return false
	case e.chat == nil:
		return true
	case c.Target == nil:
		return false // the call requests the model list
	case c.Target.ResponsesOnly, c.Request.Format == responses.Name:
		return true
	case c.Request.Needs.Has(llm.WebSearch) && !strings.Contains(c.Target.Upstream, "search"):
		return true // in chat completions, only dedicated search models can search
	}
	model, needs := c.Target.Model, c.Request.Needs
	reasons := !model.Assumed && model.Abilities.Has(llm.Reasoning) && needs&lacksOnResponses == 0
	if !needs.Has(llm.Tools) || !reasons && !model.ToolsNeedResponses {
		return false
	}
	a := adaptation{call: c}
	return llm.NearestEffort(strings.Trim(a.effort(), `"`), parameterRule(c.Target).Efforts) != "none"
}

// newResponsesRequest builds a call to the Responses API.
func (c *caller) newResponsesRequest(ctx context.Context, call *provider.Call) (*http.Request, error) {
	if call.Request.Format == responses.Name {
		return c.newRequest(ctx, call.Secret, accept(call), openai.Pieces(call.Request, responsesEdit(call))...)
	}
	conv, err := call.Conversation()
	if err != nil {
		return nil, err
	}
	if conv.MaxOutput == 0 && call.MaxOutput > 0 {
		call.WarnBound("max_output_tokens")
	}
	model, rule := call.Target.Model, parameterRule(call.Target)
	own := *conv
	if nearest := llm.NearestEffort(conv.Effort.PortableLevel(), rule.Efforts); nearest != conv.Effort.PortableLevel() {
		call.Warn("reasoning effort was sent as %s: %s does not support %s.", nearest, model.Name, conv.Effort.PortableLevel())
		own.Effort.Level = nearest
	}
	if own.Verbosity != "" && own.Verbosity != "medium" && slices.Contains(rule.Rejects, "verbosity") {
		own.Verbosity = ""
	}
	body, dropped := responses.Render(&own, responses.RenderOptions{
		Model: call.Target.Upstream, Stream: wantsStream(call), MaxOutput: call.MaxOutput,
		Reasoning: model.Assumed || model.Abilities.Has(llm.Reasoning), SamplingRejected: model.FixedSampling, Signer: call.Target.ID(),
		Breakpoints: rule.Breakpoints,
	})
	for _, what := range dropped {
		if model.FixedSampling && slices.Contains(call.Request.Sampling, what) {
			call.Warn(noSampling, what, model.Name)
			continue
		}
		call.Warn("%s was dropped: the Responses API of %s does not support it.", displayName(what), c.row.Title)
	}
	if call.Cache.Key != "" {
		body = rawjson.AppendMember(body, "prompt_cache_key", rawjson.AppendString(nil, call.Cache.Key))
	}
	return c.newRequest(ctx, call.Secret, accept(call), body)
}

// responsesEdit returns the changes to a Responses request before it is sent to a provider of the same format.
func responsesEdit(call *provider.Call) openai.Edit {
	edit := openai.Edit{Model: call.Target.Upstream, Rename: map[string]string{}}
	for _, f := range call.Request.Fields {
		if isGatewayOption(f.Name) {
			edit.Drop = append(edit.Drop, f.Name)
		}
	}
	if call.Target.NoStream {
		edit.Drop = append(edit.Drop, "stream", "stream_options")
	}
	a := adaptation{call: call, edit: edit}
	a.responsesParameters()
	a.cacheKey()
	edit = a.edit
	if call.MaxOutput > 0 && (a.value("max_output_tokens") == nil || isNull(a.value("max_output_tokens"))) {
		edit.Set = append(edit.Set, openai.Member{Name: "max_output_tokens", Value: strconv.AppendInt(nil, call.MaxOutput, 10)})
		call.WarnBound("max_output_tokens")
	}
	if call.Target.Effort != "" {
		edit.Set = append(edit.Set, openai.Member{Name: "reasoning", Value: responses.WithEffort(a.value("reasoning"), call.Target.Effort)})
	}
	if stored := call.Request.Stored; stored != nil {
		edit.Set = append(edit.Set, openai.Member{Name: "previous_response_id", Value: rawjson.AppendString(nil, stored.ID)})
	}
	model := call.Target.Model
	if input := responses.NativeInput(call.Request, model.Assumed || model.Abilities.Has(llm.Reasoning)); input != nil && !slices.Contains(edit.Drop, "input") {
		edit.Set = append(edit.Set, openai.Member{Name: "input", Value: input})
	}
	return edit
}

// responsesParameters removes parameters that the model does not accept and replaces an unsupported reasoning effort.
func (a *adaptation) responsesParameters() {
	model, rule := a.call.Target.Model, parameterRule(a.call.Target)
	var excluded []string // values to remove from the include member
	effort := cmp.Or(a.call.Target.Effort, a.call.Request.Effort)
	nearest := llm.NearestEffort(effort, rule.Efforts)
	switch {
	case a.value("reasoning") == nil || isNull(a.value("reasoning")):
	case !model.Assumed && !model.Abilities.Has(llm.Reasoning):
		a.edit.Drop = append(a.edit.Drop, "reasoning")
		if llm.Reasons(effort) {
			a.call.Warn("reasoning was dropped: %s does not reason.", model.Name)
		}
	case nearest != effort:
		a.set("reasoning", "effort", rawjson.AppendString(nil, nearest))
		a.call.Warn("reasoning.effort was sent as %s: %s does not support %s.", nearest, model.Name, effort)
	}
	if !model.Assumed && !model.Abilities.Has(llm.Reasoning) {
		excluded = append(excluded, "reasoning.encrypted_content") // the value has no effect for this model
	}
	if level := rawjson.Get(a.value("text"), "verbosity").String(); level != "" && level != "medium" && slices.Contains(rule.Rejects, "verbosity") {
		a.set("text", "verbosity", nil)
	}
	if model.FixedSampling && nearest != "none" {
		for _, name := range a.call.Request.Sampling {
			a.edit.Drop = append(a.edit.Drop, name)
			if !llm.IsDefaultSampling(name, json.Number(a.value(name))) {
				a.call.Warn(noSampling, name, model.Name)
			}
		}
		excluded = append(excluded, responses.IncludeLogprobs)
	}
	a.include(excluded)
}

// set replaces a member of a top-level object. A nil value removes the member.
func (a *adaptation) set(name, member string, value []byte) {
	var w rawjson.Writer
	w.Open()
	rawjson.Parse(a.value(name)).ForEach(func(key, old rawjson.Value) bool {
		switch {
		case key.String() != member:
			w.Raw(key.String(), []byte(old.Raw))
		case value != nil:
			w.Raw(member, value)
		}
		return true
	})
	w.Close()
	a.edit.Set = append(a.edit.Set, openai.Member{Name: name, Value: w.Out})
}

// include removes the excluded values from the include member, which lists requested additional output.
func (a *adaptation) include(excluded []string) {
	list := rawjson.Parse(a.value("include")).List()
	kept := slices.DeleteFunc(slices.Clone(list), func(v rawjson.Value) bool { return slices.Contains(excluded, v.String()) })
	if len(kept) == len(list) {
		return
	}
	w := rawjson.Writer{Out: []byte{'['}}
	for _, v := range kept {
		w.Element([]byte(v.Raw))
	}
	w.CloseList()
	a.edit.Set = append(a.edit.Set, openai.Member{Name: "include", Value: w.Out})
	if slices.ContainsFunc(list, func(v rawjson.Value) bool { return v.String() == responses.IncludeLogprobs }) && slices.Contains(excluded, responses.IncludeLogprobs) {
		a.call.Warn("%s was dropped: %s does not return log probabilities.", responses.IncludeLogprobs, a.call.Target.Model.Name)
	}
}

// responsesEvents reads a response of the Responses API.
func (c *caller) responsesEvents(call *provider.Call, resp *http.Response) llm.Stream {
	reading := upstream.Reading{
		Stream: wantsStream(call), ContentType: resp.Header.Get("Content-Type"),
		MaxLine: c.settings.MaxLine, MaxResponse: c.settings.MaxResponse, SizeHint: resp.ContentLength,
		Warn: func(what string) { call.Warn("%s", what) },
	}
	if call.Request.Format == responses.Name && !call.Joins {
		o := responses.Options{Reading: reading, Model: call.Target.Model.Name, Background: call.Request.Background, Split: call.Request.Stream && call.Target.NoStream}
		if call.Request.Stores || call.Request.Stored != nil {
			o.ResponseID = func(id string) string { return call.ResponseID(call.Target.Provider, id) }
		}
		return responses.Read(resp.Body, o)
	}
	deltas := responses.Deltas(resp.Body, responses.DeltaOptions{Reading: reading, Signer: call.Target.ID()})
	return llm.Pull(call.Client.EncodeResponse(call.Request, call.Target.Model.Name, deltas))
}
