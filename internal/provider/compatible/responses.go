package compatible

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/chat"
	"fairlead/internal/wire/messagesstream"
	"fairlead/internal/wire/responses"
	"fairlead/internal/wire/responsesconv"
	"fairlead/internal/wire/responsesstream"
)

// lacksOnResponses are the abilities that the Responses API has for no model.
const lacksOnResponses = llm.ManyChoices | llm.AudioOut | llm.Logprobs

// usesResponses reports whether a call goes to the Responses API: for clients of the same format, for models that have no other
// API, and for function tools where chat completions would reject them. Everything else stays on chat completions, which has
// more parameters.
func (e conversation) usesResponses(c *provider.Call) bool {
	switch {
	case e.responses == nil:
		return false
	case e.chat == nil, c.Target.ResponsesOnly, c.Request.Format == responses.Name:
		return true
	}
	a := adaptation{call: c}
	return c.Target.Model.ToolsNeedResponses && c.Request.Needs.Has(llm.Tools) && !bytes.Equal(a.value("reasoning_effort"), []byte(`"none"`))
}

// newResponsesRequest builds a call to the Responses API.
func (c *caller) newResponsesRequest(ctx context.Context, call *provider.Call) (*http.Request, error) {
	if call.Request.Format == responses.Name {
		return c.newRequest(ctx, call.Secret, chat.Render(call.Request, responsesEdit(call)), accept(call))
	}
	conv, err := call.Client.Conversation(ctx, call.Request)
	if err != nil {
		return nil, err
	}
	if conv.MaxOutput == 0 && call.MaxOutput > 0 {
		call.WarnBound("max_output_tokens")
	}
	model := call.Target.Model
	body, dropped := responsesconv.Render(conv, responsesconv.RenderOptions{
		Model: call.Target.Upstream, Stream: call.Request.Stream, MaxOutput: call.MaxOutput,
		Reasoning: model.Assumed || model.Abilities.Has(llm.Reasoning), SamplingRejected: model.FixedSampling, Signer: call.Target.Provider,
	})
	for _, what := range dropped {
		call.Warn("%s was not sent: the Responses API of %s does not accept it.", plain(what), c.row.Title)
	}
	return c.newRequest(ctx, call.Secret, body, accept(call))
}

// responsesEdit returns the changes to a Responses request before it is sent to a provider of the same format.
func responsesEdit(call *provider.Call) chat.Edit {
	edit := chat.Edit{Model: call.Target.Upstream, Rename: map[string]string{}}
	for _, f := range call.Request.Fields {
		if ours(f.Name) {
			edit.Drop = append(edit.Drop, f.Name)
		}
	}
	a := adaptation{call: call}
	effort := responses.Effort(call.Request)
	if call.Target.Model.FixedSampling && effort != "none" {
		for _, name := range call.Request.Sampling {
			edit.Drop = append(edit.Drop, name)
			call.Warn("%s was not sent: %s accepts no sampling parameters.", name, call.Target.Model.Name)
		}
	}
	if call.MaxOutput > 0 && (a.value("max_output_tokens") == nil || isNull(a.value("max_output_tokens"))) {
		edit.Set = append(edit.Set, chat.Member{Name: "max_output_tokens", Value: strconv.AppendInt(nil, call.MaxOutput, 10)})
		call.WarnBound("max_output_tokens")
	}
	if stored := call.Request.Stored; stored != nil {
		edit.Set = append(edit.Set, chat.Member{Name: "previous_response_id", Value: rawjson.AppendString(nil, stored.ID)})
	}
	if input := responses.NativeInput(call.Request); input != nil && !slices.Contains(edit.Drop, "input") {
		edit.Set = append(edit.Set, chat.Member{Name: "input", Value: input})
	}
	return edit
}

// responsesEvents reads a response of the Responses API.
func (c *caller) responsesEvents(call *provider.Call, resp *http.Response) llm.Stream {
	reading := messagesstream.Reading{
		Stream: call.Request.Stream, ContentType: resp.Header.Get("Content-Type"),
		MaxLine: c.settings.MaxLine, MaxAnswer: c.settings.MaxAnswer,
		Warn: func(what string) { call.Warn("%s", what) },
	}
	if call.Request.Format == responses.Name && !call.Joins {
		o := responsesstream.Options{Reading: reading, Model: call.Target.Model.Name}
		if responses.Stores(call.Request) || call.Request.Stored != nil {
			o.ResponseID = func(id string) string {
				return responses.StoredID(llm.StoredResponse{Provider: call.Target.Provider, Credential: call.Credential, ID: id})
			}
		}
		return responsesstream.Read(resp.Body, o)
	}
	deltas := responsesconv.Deltas(resp.Body, responsesconv.DeltaOptions{Reading: reading, Signer: call.Target.Provider})
	return llm.Pull(call.Client.EncodeResponse(call.Request, call.Target.Model.Name, deltas))
}
