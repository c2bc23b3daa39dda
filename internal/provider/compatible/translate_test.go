package compatible

import (
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/providertest"
	"fairlead.dev/internal/wire/openai"
)

// another is a client format other than chat. It records the deltas of the response.
type another struct{ got *[]llm.Delta }

func (a another) EncodeResponse(_ *llm.Request, model string, pieces iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for p, err := range pieces {
			if err != nil {
				yield(llm.Event{}, err)
				return
			}
			*a.got = append(*a.got, p)
			if !yield(llm.Event{Data: []byte(model)}, nil) {
				return
			}
		}
	}
}

func foreignCall(client another, conv *llm.Conversation, model *catalog.Model, stream bool) *provider.Call {
	return &provider.Call{
		Target: &provider.Target{Provider: "vee", Model: model, Upstream: "up"}, Client: client,
		Request: &llm.Request{Op: llm.Chat, Conversation: conv, Payload: llm.Payload{Format: "other"}, Model: "auto", ResponseOptions: llm.ResponseOptions{Stream: stream}},
	}
}

func TestRequestsOfOtherFormatsAreTranslated(t *testing.T) {
	t.Parallel()
	v := row
	v.Asks.NineCharCallIDs = true
	v.Takes.Thinking = true
	call := foreignCall(another{}, &llm.Conversation{
		Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{{Kind: llm.TextPart, Text: "s"}}},
			{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "a", Signature: "x", Provider: "elsewhere"}},
				{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "toolu_1", Name: "f", Arguments: "{}", Signature: "y", Provider: "vee/thinker"}},
			}},
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "toolu_1", Parts: []llm.Part{{Kind: llm.TextPart, Text: "1"}}}}}},
		},
		MaxOutput: 9, Sampling: llm.Sampling{Temperature: "0.2"}, Dropped: []string{"odd\r\n"},
	}, &catalog.Model{Name: "thinker", Op: llm.Chat, CompletionTokens: true, FixedSampling: true}, true)
	_, body := providertest.Sent(t, New(v, provider.Settings{}).Chat, call)
	id := openai.NineCharID("toolu_1")
	// The signature y is from this provider and is sent without the provider name. The signature x is from another provider and is dropped.
	want := `{"model":"up","messages":[{"role":"system","content":"s"},{"role":"assistant","reasoning_content":"a","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"y"}}}]},` +
		`{"role":"tool","tool_call_id":"` + id + `","content":"1"}],"stream":true,"max_completion_tokens":9,"stream_options":{"include_usage":true}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`"odd\r\n" was dropped: Vee does not support it.`, "temperature was dropped: thinker does not support sampling settings."}, call.Warnings); diff != "" {
		t.Error(diff)
	}
	if call.Request.Format != "other" {
		t.Error("NewRequest changed the request of the call")
	}
}

func TestTranslationErrorsAreReturned(t *testing.T) {
	t.Parallel()
	rejected := llm.Errorf(llm.InvalidRequest, "no")
	call := foreignCall(another{}, &llm.Conversation{}, &catalog.Model{Name: "m", Op: llm.Chat}, false)
	call.Request.Untranslatable = rejected
	if _, err := New(row, provider.Settings{}).Chat.NewRequest(t.Context(), call); llm.AsError(err) != rejected {
		t.Errorf("NewRequest: %v, want %v", err, rejected)
	}
	call.Request.Untranslatable = nil // the conversation is empty, so there is nothing to send
	if _, err := New(row, provider.Settings{}).Chat.NewRequest(t.Context(), call); err == nil {
		t.Error("NewRequest with an unsupported request returned no error")
	}
}

func TestResponsesUseTheClientsFormat(t *testing.T) {
	t.Parallel()
	const stream = `data: {"id":"c","model":"up-1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"c","choices":[{"index":0,"delta":{"thinking_blocks":[{"thinking":"t","signature":"x"}]},"finish_reason":"tool_calls"}]}` + "\n\n" +
		`data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n"
	var got []llm.Delta
	call := foreignCall(another{got: &got}, nil, &catalog.Model{Name: "m", Op: llm.Chat}, true)
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(stream))}
	for ev, err := range llm.All(New(row, provider.Settings{}).Chat.Events(call, resp)) {
		if err != nil || string(ev.Data) != "m" {
			t.Fatalf("event %s, %v; want m", ev.Data, err)
		}
	}
	want := []llm.Delta{
		{Kind: llm.BeginDelta, ID: "c", Model: "up-1"},
		{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f", Arguments: "{}", Signature: "s", Provider: "vee/m"}},
		{Kind: llm.ThinkingDelta, Text: "t"},
		{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "x", Provider: "vee/m"}},
		{Kind: llm.FinishDelta, Finish: "tool_calls"},
		{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 3, Output: 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
