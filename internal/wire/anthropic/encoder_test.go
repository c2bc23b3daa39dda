package anthropic

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func seq(list []llm.Delta, err error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, p := range list {
			if !yield(p, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Delta{}, err)
		}
	}
}

var someAnswer = []llm.Delta{
	{Kind: llm.BeginDelta, ID: "chatcmpl-1", Model: "gpt"},
	{Kind: llm.ThinkingDelta, Text: "hm"},
	{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "sig", Provider: "q"}},
	{Kind: llm.TextDelta, Text: "Ahoy, "},
	{Kind: llm.TextDelta, Text: "Käpt'n"},
	{Kind: llm.CallDelta, Index: 0, Call: &llm.ToolCall{ID: "call:1", Name: "t", Signature: "cs", Provider: "q"}},
	{Kind: llm.ArgumentsDelta, Index: 0, Text: `{"a":`},
	{Kind: llm.ArgumentsDelta, Index: 0, Text: `1}`},
	{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "call_2", Name: "u"}},
	{Kind: llm.FinishDelta, Finish: "tool_calls"},
	{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 5, CacheRead: 2, CacheWrite: 10, CacheWriteLong: 4, Output: 9, Reasoning: 3}},
}

func TestEncodeResponseAsStream(t *testing.T) {
	t.Parallel()
	req := &llm.Request{ResponseOptions: llm.ResponseOptions{Stream: true}, Payload: llm.Payload{Body: []byte("{}")}}
	var got []string
	var content, finish int
	for ev, err := range (Format{}).EncodeResponse(req, "claude-x", seq(someAnswer, nil)) {
		if err != nil {
			t.Fatal(err)
		}
		if rawjson.Get(ev.Data, "type").String() != ev.Name || ev.Model != "gpt" {
			t.Errorf("event %s of model %s: %s", ev.Name, ev.Model, ev.Data)
		}
		if ev.Content {
			content++
		}
		if ev.Finish == "tool_calls" {
			finish++
		}
		got = append(got, string(ev.Data))
	}
	callSeal := wrappedSignature{Provider: "q", Value: "cs", Call: true}.String()
	want := []string{
		`{"type":"message_start","message":{"id":"msg_chatcmpl-1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + wrappedSignature{Provider: "q", Value: "sig"}.String() + `"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Ahoy, "}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Käpt'n"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"` + callSeal + `"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"fl1_Y2FsbDox","name":"t","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"call_2","name":"u","input":{}}}`,
		`{"type":"content_block_stop","index":4}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":5,"cache_creation_input_tokens":10,"cache_read_input_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":6,"ephemeral_1h_input_tokens":4},"output_tokens":9,"output_tokens_details":{"thinking_tokens":3}}}`,
		`{"type":"message_stop"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if content != 8 || finish != 1 {
		t.Errorf("%d events with content, %d with a finish; want 8 and 1", content, finish)
	}
}

// TestUsageIsEstimatedUntilItIsReported checks the counts in message_start, message_delta and a complete response. Most
// providers of other formats report usage at the end.
func TestUsageIsEstimatedUntilItIsReported(t *testing.T) {
	t.Parallel()
	begin, text, finish := llm.Delta{Kind: llm.BeginDelta}, llm.Delta{Kind: llm.TextDelta, Text: "Ahoy, captain."}, llm.Delta{Kind: llm.FinishDelta, Finish: "stop"}
	usage := llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 70, Output: 6}}
	type counts struct{ StartInput, EndInput, EndOutput int64 }
	for name, tc := range map[string]struct {
		deltas []llm.Delta
		want   counts
		billed bool
	}{
		"reported at the end":       {[]llm.Delta{begin, text, finish, usage}, counts{19, 70, 6}, true},
		"reported at the beginning": {[]llm.Delta{begin, usage, text, finish}, counts{70, 70, 6}, true},
		"never reported":            {[]llm.Delta{begin, text, finish}, counts{19, 19, 5}, false},
	} {
		const body = `{"model":"auto","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Tell me something about the sea and its many ships."}]}`
		req := decoded(t, body)
		var got counts
		var billed *llm.Usage
		for _, ev := range collect(t, Format{}.EncodeResponse(req, "gemini-2.5-flash", seq(tc.deltas, nil))) {
			switch ev.Name {
			case "message_start":
				got.StartInput = rawjson.Get(ev.Data, "message.usage.input_tokens").Int()
			case "message_delta":
				got.EndInput, got.EndOutput = rawjson.Get(ev.Data, "usage.input_tokens").Int(), rawjson.Get(ev.Data, "usage.output_tokens").Int()
				billed = ev.Usage
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (billed != nil) != tc.billed {
			t.Errorf("%s: usage for the bill %+v, want reported = %t", name, billed, tc.billed)
		}
		req.Stream = false
		whole := collect(t, Format{}.EncodeResponse(req, "gemini-2.5-flash", seq(tc.deltas, nil)))
		if input := rawjson.Get(whole[0].Data, "usage.input_tokens").Int(); input != tc.want.EndInput {
			t.Errorf("%s: complete response has %d input tokens, want %d", name, input, tc.want.EndInput)
		}
	}
}

func collect(t *testing.T, events iter.Seq2[llm.Event, error]) []llm.Event {
	t.Helper()
	var list []llm.Event
	for ev, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		ev.Data = bytes.Clone(ev.Data)
		list = append(list, ev)
	}
	return list
}

// A client sends the signatures of a response back in its next request.
func TestSignaturesRoundTrip(t *testing.T) {
	t.Parallel()
	after := llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "after the text", Provider: "q"}}
	events := collect(t, Format{}.EncodeResponse(&llm.Request{Payload: llm.Payload{Body: []byte("{}")}}, "m", seq(slices.Insert(slices.Clone(someAnswer), 5, after), nil)))
	content := rawjson.Get(events[0].Data, "content").Raw
	req := decoded(t, `{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":`+content+`}]}`)
	conv, err := req.Translate()
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Part{
		{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "hm", Signature: "sig", Provider: "q"}},
		text("Ahoy, Käpt'n"),
		{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Signature: "after the text", Provider: "q"}},
		{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "call:1", Name: "t", Arguments: `{"a":1}`, Signature: "cs", Provider: "q"}},
		{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "call_2", Name: "u", Arguments: `{}`}},
	}
	if diff := cmp.Diff(want, conv.Messages[1].Parts); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(content, `"thinking":""`) {
		t.Errorf("content %s has empty thinking", content)
	}
	// A signature is sent back only to the provider that created it.
	body, lost := rewritten(req, Edit{Signer: "p"})
	if kinds := rawjson.Get(body, "messages.1.content.#.type").Raw; !lost || kinds != `["text","tool_use","tool_use"]` {
		t.Errorf("sent parts %s, lost %t; want no signature of another provider", kinds, lost)
	}
	body, _ = rewritten(req, Edit{Signer: "q"})
	if got := rawjson.Get(body, "messages.1.content.0").Raw; got != `{"type":"thinking","thinking":"hm","signature":"sig"}` {
		t.Errorf("sent %s, want the signed thinking", got)
	}
}

func TestEncodeResponseReturnsErrors(t *testing.T) {
	t.Parallel()
	broken := llm.Errorf(llm.StreamInterrupted, "gone")
	for _, stream := range []bool{true, false} {
		var failed error
		var used *llm.Usage
		pieces := []llm.Delta{someAnswer[0], {Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 7}}, {Kind: llm.TextDelta, Text: strings.Repeat("x", 40)}}
		for ev, err := range (Format{}).EncodeResponse(&llm.Request{ResponseOptions: llm.ResponseOptions{Stream: stream}}, "m", seq(pieces, broken)) {
			if ev.Finish != "" || ev.Name == "message_stop" {
				t.Errorf("the broken response has the event %s", ev.Data)
			}
			if ev.Usage != nil {
				used = ev.Usage
			}
			failed = err
		}
		if !errors.Is(failed, broken) || used == nil || used.Input != 7 || used.Output != 13 || !used.Estimated {
			t.Errorf("error %v, usage %+v; want the cause and estimated usage", failed, used)
		}
		for _, err := range (Format{}).EncodeResponse(&llm.Request{ResponseOptions: llm.ResponseOptions{Stream: stream}}, "m", seq(pieces, nil)) {
			failed = err
		}
		if e, ok := errors.AsType[*llm.Error](failed); !ok || e.Kind != llm.StreamInterrupted {
			t.Errorf("response without a finish: %v, want StreamInterrupted", failed)
		}
	}
}

func TestEncodeResponseRejectsInterleavedCalls(t *testing.T) {
	t.Parallel()
	pieces := []llm.Delta{
		{Kind: llm.CallDelta, Index: 0, Call: &llm.ToolCall{ID: "1"}},
		{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "2"}},
		{Kind: llm.ArgumentsDelta, Index: 0, Text: "{}"},
	}
	var failed error
	for _, err := range (Format{}).EncodeResponse(&llm.Request{ResponseOptions: llm.ResponseOptions{Stream: true}}, "m", seq(pieces, nil)) {
		failed = err
	}
	if e, ok := errors.AsType[*llm.Error](failed); !ok || e.Kind != llm.UpstreamMalformed {
		t.Errorf("interleaved calls: %v, want UpstreamMalformed", failed)
	}
}
