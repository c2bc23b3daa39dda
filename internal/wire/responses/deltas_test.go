package responses_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/internal/wire/upstream"
)

func text(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }

// conversation returns a conversation with every kind of content that the format can express.
func conversation() *llm.Conversation {
	yes, no := true, false
	return &llm.Conversation{
		Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{text("Be brief.")}},
			{Role: llm.User, Parts: []llm.Part{
				text("What is in these?"),
				{Kind: llm.ImagePart, Media: &llm.Media{URL: "https://example.com/a.png", Detail: "low"}},
				{Kind: llm.ImagePart, Media: &llm.Media{Type: "image/png", Data: "AAAA"}},
				{Kind: llm.FilePart, Media: &llm.Media{Type: "application/pdf", Data: "AAAA", Name: "a.pdf"}},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{
				text("I will look."),
				{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "call_1", Name: "look", Arguments: `{"at":"a"}`}},
				{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "call_2", Name: "patch", Arguments: "*** Begin", Custom: true}},
			}},
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "call_1", Name: "look", Parts: []llm.Part{text("a cat")}}}}},
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "call_2", Name: "patch", Parts: []llm.Part{text("ok"), {Kind: llm.ImagePart, Media: &llm.Media{URL: "https://example.com/b.png"}}}}}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.RefusalPart, Text: "I cannot say more."}}},
			{Role: llm.User, Parts: []llm.Part{text("Why?")}},
		},
		Tools: []llm.Tool{
			{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`), Strict: &yes},
			{Name: "patch", Custom: true, Format: json.RawMessage(`{"type":"grammar","syntax":"lark","definition":"start: x"}`)},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"look", "patch"}}, ParallelTools: &no,
		Output:    llm.Output{Kind: llm.OutputSchema, Name: "out", Schema: json.RawMessage(`{"type":"object"}`), Strict: &yes},
		MaxOutput: 100, Choices: 1, Verbosity: "low", Effort: llm.Effort{Level: "high"}, EndUser: "u1", ServiceTier: "flex",
		Sampling: llm.Sampling{Temperature: "0.2", TopP: "0.9"},
	}
}

func TestRenderedConversationRoundTrip(t *testing.T) {
	t.Parallel()
	want := conversation()
	body, dropped := responses.Render(want, responses.RenderOptions{Model: "gpt", Stream: true, Reasoning: true})
	req, err := responses.Format{}.DecodeRequest(t.Context(), llm.Chat, body)
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	got, err := req.Translate()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(dropped) != 0 || !req.Stream || req.Model != "gpt" {
		t.Errorf("dropped %v, stream %t, model %q; want none, true, gpt", dropped, req.Stream, req.Model)
	}
}

func TestUnsupportedParametersAreNamed(t *testing.T) {
	t.Parallel()
	conv := conversation()
	conv.Stop, conv.Choices = []string{"x"}, 2
	conv.Sampling = llm.Sampling{Temperature: "0.9", TopP: "1", TopK: "4", Seed: "7", FrequencyPenalty: "0.1", Logprobs: true}
	conv.ServiceTier = "standard_only"
	conv.Dropped = []string{"odd"}
	body, dropped := responses.Render(conv, responses.RenderOptions{Model: "gpt", SamplingRejected: true})
	if diff := cmp.Diff([]string{"odd", "temperature", "top_k", "frequency_penalty", "seed", "logprobs", "stop", "n", "service_tier"}, dropped); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(body), `"temperature"`) || strings.Contains(string(body), `"reasoning"`) {
		t.Errorf("sent %s, want no temperature and no reasoning", body)
	}
}

func TestReasoningIsSentToItsProviderOnly(t *testing.T) {
	t.Parallel()
	conv := &llm.Conversation{Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{text("hi")}},
		{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "hm", Signature: "rs_1:enc", Provider: "openai"}},
			{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "foreign", Signature: "sig", Provider: "anthropic"}},
			{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "c", Name: "f", Arguments: "{}"}},
		}},
	}}
	body, _ := responses.Render(conv, responses.RenderOptions{Model: "gpt", Signer: "openai", Reasoning: true})
	const want = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc"},{"type":"function_call"`
	if !strings.Contains(string(body), want) || strings.Contains(string(body), "foreign") {
		t.Errorf("sent %s, want only the reasoning of the provider", body)
	}
	body, _ = responses.Render(conv, responses.RenderOptions{Model: "gpt", Signer: "azure", Reasoning: true})
	if strings.Contains(string(body), "encrypted_content\":") {
		t.Errorf("sent the reasoning to another provider: %s", body)
	}
}

const stream = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"gpt-5.4-2026-03-05","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"first"}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"second"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"enc"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Hello"}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"1}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{\"a\":1}"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":3,"item":{"type":"custom_tool_call","id":"ctc_1","call_id":"call_2","name":"patch","input":""}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":3,"item":{"type":"custom_tool_call","id":"ctc_1","call_id":"call_2","name":"patch","input":"*** Begin"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","model":"gpt-5.4-2026-03-05","status":"completed","service_tier":"default","output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},"output_tokens":40,"output_tokens_details":{"reasoning_tokens":25}}}}

`

func read(t *testing.T, body string, o responses.DeltaOptions) (deltas []llm.Delta, err error) {
	t.Helper()
	for d, e := range responses.Deltas(iotest.OneByteReader(strings.NewReader(body)), o) {
		if e != nil {
			return deltas, e
		}
		deltas = append(deltas, d)
	}
	return deltas, nil
}

func TestStreamIsDecoded(t *testing.T) {
	t.Parallel()
	got, err := read(t, stream, responses.DeltaOptions{Reading: upstream.Reading{Stream: true}, Signer: "openai"})
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Delta{
		{Kind: llm.BeginDelta, ID: "resp_1", Model: "gpt-5.4-2026-03-05"},
		{Kind: llm.ThinkingDelta, Text: "first"},
		{Kind: llm.ThinkingDelta, Text: "\n\n"},
		{Kind: llm.ThinkingDelta, Text: "second"},
		{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "rs_1:enc", Provider: "openai"}},
		{Kind: llm.TextDelta, Text: "Hello"},
		{Kind: llm.CallDelta, Index: 0, Call: &llm.ToolCall{ID: "call_1", Name: "look"}},
		{Kind: llm.ArgumentsDelta, Index: 0, Text: `{"a":`},
		{Kind: llm.ArgumentsDelta, Index: 0, Text: `1}`},
		{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "call_2", Name: "patch", Custom: true}},
		{Kind: llm.ArgumentsDelta, Index: 1, Text: "*** Begin"},
		{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 30, CacheRead: 60, CacheWrite: 10, Output: 40, Reasoning: 25, ServiceTier: "default"}},
		{Kind: llm.FinishDelta, Finish: "tool_calls"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSearchesOfAStreamAreCounted(t *testing.T) {
	t.Parallel()
	const item = `event: response.output_item.done
data: {"type":"response.output_item.done","output_index":9,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search"}}}

`
	got, err := read(t, strings.Replace(stream, "event: response.completed", item+item+"event: response.completed", 1), responses.DeltaOptions{Reading: upstream.Reading{Stream: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range got {
		if d.Kind == llm.UsageDelta && d.Usage.Searches != 2 {
			t.Errorf("usage %+v, want 2 searches", d.Usage)
		}
	}
}

func TestIncompleteStreamIsAnError(t *testing.T) {
	t.Parallel()
	o := responses.DeltaOptions{Reading: upstream.Reading{Stream: true}}
	cut, _, _ := strings.Cut(stream, "event: response.completed")
	for name, c := range map[string]struct {
		body string
		want llm.Kind
	}{
		"cut":    {cut, llm.StreamInterrupted},
		"empty":  {"", llm.UpstreamMalformed},
		"error":  {"event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Rate limit reached\"}\n\n", llm.UpstreamRateLimited},
		"failed": {"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}}\n\n", llm.UpstreamServer},
		"text":   {"data: hello\n\n", llm.UpstreamMalformed},
	} {
		_, err := read(t, c.body, o)
		if got := llm.AsError(err); got == nil || got.Kind != c.want {
			t.Errorf("%s: got %v, want kind %s", name, err, c.want)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"object":"response","status":"completed","output":[]}`:                                                                   "stop",
		`{"object":"response","status":"completed","output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`: "tool_calls",
		`{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`:              "length",
		`{"object":"response","status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`:                 "content_filter",
	} {
		got, err := read(t, body, responses.DeltaOptions{})
		if err != nil || got[len(got)-1].Finish != want {
			t.Errorf("%s: finish %v, %v; want %s", body, got, err, want)
		}
	}
}

func FuzzDeltas(f *testing.F) {
	f.Add(stream)
	f.Add(`{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, streamed := range []bool{true, false} {
			all := responses.Deltas(strings.NewReader(body), responses.DeltaOptions{Reading: upstream.Reading{Stream: streamed}})
			finished := false
			for d, err := range all {
				if err != nil && llm.AsError(err) == nil {
					t.Fatalf("unclassified error %v", err)
				}
				finished = finished || d.Kind == llm.FinishDelta
				if err != nil && finished {
					t.Fatal("Deltas returned an error after the finish")
				}
			}
		}
	})
}

func TestLongUserNamesAreHashed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("u", 65)
	for user, want := range map[string]string{"": "", "u1": "u1", long[:64]: long[:64], long: "f20e249d15fa4b9f44ba21d154f62e1efa76ddfdce5d25139a33a4787cee5a8b"} {
		body, _ := responses.Render(&llm.Conversation{EndUser: user}, responses.RenderOptions{Model: "m"})
		if got := rawjson.Get(body, "safety_identifier").String(); got != want {
			t.Errorf("safety_identifier of %q = %q, want %q", user, got, want)
		}
	}
}
