package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

// sequence yields the deltas and then err if it is not nil.
func sequence(pieces []llm.Delta, err error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Delta{}, err)
		}
	}
}

// chatRequest returns a request with or without streaming.
func requestOf(t testing.TB, stream bool, more string) *llm.Request {
	t.Helper()
	body := `{"model":"m","messages":[{"role":"user","content":"x"}]` + more
	if stream {
		body += `,"stream":true`
	}
	req := decode(t, llm.Chat, body+"}")
	return req
}

var dated = Format{Now: func() time.Time { return time.Unix(1700000000, 5) }}

// collect collects the events of a response, with copied data.
func collect(events iter.Seq2[llm.Event, error]) (all []llm.Event, err error) {
	for ev, e := range events {
		if e != nil {
			return all, e
		}
		ev.Data = bytes.Clone(ev.Data)
		all = append(all, ev)
	}
	return all, nil
}

// answers maps test names to responses, each given as deltas and as the choices of their chunks.
var answers = map[string]struct {
	more   string // additional members of the request
	pieces []llm.Delta
	chunks []string
}{
	"text": {
		pieces: []llm.Delta{
			{Kind: llm.BeginDelta, ID: "msg_1", Model: "real"},
			{Kind: llm.TextDelta, Text: "h\u00e9<&>"},
			{Kind: llm.TextDelta},
			{Kind: llm.TextDelta, Text: "\n\u2028y"},
			{Kind: llm.FinishDelta, Finish: "length"},
			{Kind: llm.TextDelta, Text: "never"},
			{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 1, Output: 2}},
			{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 10, CacheRead: 5, Output: 7, Reasoning: 3}},
		},
		chunks: []string{
			`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"content":"h\u00e9<&>"},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"content":"\n\u2028y"},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}`,
			``,
		},
	},
	"parallel calls": {
		pieces: []llm.Delta{
			{Kind: llm.BeginDelta, ID: "msg_1"},
			{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f", Signature: "s", Provider: "gemini"}},
			{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "b", Name: "g", Arguments: "i", Custom: true}},
			{Kind: llm.ArgumentsDelta, Index: 1, Text: "j"},
			{Kind: llm.FinishDelta, Finish: "stop"},
		},
		chunks: []string{
			`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""},"extra_content":{"google":{"thought_signature":"s"},"fairlead":{"provider":"gemini"}}}]},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"custom","custom":{"name":"g","input":"i"}}]},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"tool_calls":[{"index":1,"custom":{"input":"j"}}]},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}`,
		},
	},
	"thinking with signatures": {
		pieces: []llm.Delta{
			{Kind: llm.BeginDelta, ID: "msg_1"},
			{Kind: llm.ThinkingDelta, Text: "h"},
			{Kind: llm.ThinkingDelta, Text: "m"},
			{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s", Provider: "anthropic"}},
			{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: "d", Provider: "anthropic"}},
			{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{}},
			{Kind: llm.RefusalDelta, Text: "no"},
			{Kind: llm.FinishDelta, Finish: "content_filter"},
		},
		chunks: []string{
			`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"reasoning_content":"h"},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"reasoning_content":"m"},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"s","provider":"anthropic"}]},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"thinking_blocks":[{"type":"redacted_thinking","data":"d","provider":"anthropic"}]},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"refusal":"no"},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{},"logprobs":null,"finish_reason":"content_filter"}`,
		},
	},
	"several choices": {
		more: `,"n":2`,
		pieces: []llm.Delta{
			{Kind: llm.BeginDelta, ID: "msg_1"},
			{Kind: llm.TextDelta, Choice: 1, Text: "b"},
			{Kind: llm.TextDelta, Text: "a"},
			{Kind: llm.FinishDelta, Choice: 1},
			{Kind: llm.FinishDelta, Finish: "stop"},
			{Kind: llm.FinishDelta, Finish: "length"},
		},
		chunks: []string{
			`{"index":1,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			`{"index":1,"delta":{"content":"b"},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":null}`,
			`{"index":1,"delta":{},"logprobs":null,"finish_reason":"stop"}`,
			`{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}`,
		},
	},
	"a client that knows only functions": {
		more: `,"functions":[{"name":"f"}]`,
		pieces: []llm.Delta{
			{Kind: llm.BeginDelta, ID: "msg_1"},
			{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f"}},
			{Kind: llm.ArgumentsDelta, Text: `{"a":1}`},
			{Kind: llm.FinishDelta, Finish: "tool_calls"},
		},
		chunks: []string{
			`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"function_call":{"name":"f","arguments":""}},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{"function_call":{"arguments":"{\"a\":1}"}},"logprobs":null,"finish_reason":null}`,
			`{"index":0,"delta":{},"logprobs":null,"finish_reason":"function_call"}`,
		},
	},
}

// decoded decodes JSON for comparison.
func decoded(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func TestEncodeResponseAsChunks(t *testing.T) {
	t.Parallel()
	const head = `{"id":"chatcmpl-msg_1","object":"chat.completion.chunk","created":1700000000,"model":"canon","choices":[`
	const usage = `{"prompt_tokens":15,"completion_tokens":7,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":5,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":3}}`
	for name, tc := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := collect(dated.EncodeResponse(requestOf(t, true, tc.more), "canon", sequence(tc.pieces, nil)))
			if err != nil {
				t.Fatal(err)
			}
			var got, want []any
			for _, ev := range events {
				got = append(got, decoded(t, ev.Data))
			}
			for _, chunk := range tc.chunks {
				if chunk == "" {
					want = append(want, decoded(t, []byte(head+`],"usage":`+usage+`}`)))
					continue
				}
				want = append(want, decoded(t, []byte(head+chunk+`]}`)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEncodeResponseDescribesEvents(t *testing.T) {
	t.Parallel()
	events, err := collect(dated.EncodeResponse(requestOf(t, true, ""), "canon", sequence(answers["text"].pieces, nil)))
	if err != nil {
		t.Fatal(err)
	}
	usage := &llm.Usage{Input: 10, CacheRead: 5, Output: 7, Reasoning: 3}
	want := []llm.Event{
		{Model: "real"},
		{Model: "real", Content: true, ASCIIBytes: 4, NonASCIIBytes: 2},
		{Model: "real", Content: true, ASCIIBytes: 2, NonASCIIBytes: 3},
		{Model: "real", Finish: "length"},
		{Model: "real", Bare: true, Usage: usage},
	}
	for i := range events {
		events[i].Data = nil
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	whole, err := collect(dated.EncodeResponse(requestOf(t, false, ""), "canon", sequence(answers["text"].pieces, nil)))
	if err != nil {
		t.Fatal(err)
	}
	whole[0].Data = nil
	if diff := cmp.Diff(llm.Event{Model: "real", Content: true, Finish: "length", Usage: usage, ASCIIBytes: 6, NonASCIIBytes: 5}, whole[0]); diff != "" {
		t.Error(diff)
	}
}

func TestIncompleteResponseIsAnError(t *testing.T) {
	t.Parallel()
	broken := llm.Errorf(llm.UpstreamOverloaded, "busy")
	begin, text, usage := llm.Delta{Kind: llm.BeginDelta}, llm.Delta{Kind: llm.TextDelta, Text: "a"}, llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{Output: 1}}
	for name, tc := range map[string]struct {
		pieces []llm.Delta
		err    error
		want   llm.Kind
		usage  bool
	}{
		"nothing":                     {nil, nil, llm.StreamInterrupted, false},
		"only a begin delta":          {[]llm.Delta{begin, usage}, nil, llm.StreamInterrupted, true},
		"no finish":                   {[]llm.Delta{begin, text, usage}, nil, llm.StreamInterrupted, true},
		"one choice did not finish":   {[]llm.Delta{text, {Kind: llm.TextDelta, Choice: 1, Text: "b"}, {Kind: llm.FinishDelta, Finish: "stop"}}, nil, llm.StreamInterrupted, false},
		"an error":                    {[]llm.Delta{begin, text, usage}, broken, llm.UpstreamOverloaded, true},
		"arguments without a call":    {[]llm.Delta{begin, {Kind: llm.ArgumentsDelta, Text: "x"}}, nil, llm.UpstreamMalformed, false},
		"a call delta without a call": {[]llm.Delta{begin, {Kind: llm.CallDelta}}, nil, llm.UpstreamMalformed, false},
		"a choice above the maximum":  {[]llm.Delta{{Kind: llm.TextDelta, Choice: 128, Text: "x"}}, nil, llm.UpstreamMalformed, false},
		"a negative choice":           {[]llm.Delta{{Kind: llm.TextDelta, Choice: -1, Text: "x"}}, nil, llm.UpstreamMalformed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stream := range []bool{true, false} {
				events, err := collect(Format{}.EncodeResponse(requestOf(t, stream, ""), "canon", sequence(tc.pieces, tc.err)))
				e, ok := errors.AsType[*llm.Error](err)
				if !ok || e.Kind != tc.want {
					t.Errorf("stream %t: %v, want %s", stream, err, tc.want)
				}
				if !stream && len(events) > 0 {
					t.Errorf("an incomplete response returned the event %s", events[0].Data)
				}
				if reported := len(events) > 0 && events[len(events)-1].Bare; stream && reported != tc.usage {
					t.Errorf("usage reported = %t, want %t", reported, tc.usage)
				}
			}
		})
	}
}

func TestIDsAreGenerated(t *testing.T) {
	t.Parallel()
	id := func(f Format, given string) (string, string) {
		events, err := collect(f.EncodeResponse(requestOf(t, false, ""), "m", sequence([]llm.Delta{
			{Kind: llm.BeginDelta, ID: given}, {Kind: llm.CallDelta, Call: &llm.ToolCall{Name: "f"}}, {Kind: llm.FinishDelta},
		}, nil)))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			ID      string
			Choices []struct {
				Message struct {
					ToolCalls []struct{ ID string } `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(events[0].Data, &answer); err != nil {
			t.Fatal(err)
		}
		return answer.ID, answer.Choices[0].Message.ToolCalls[0].ID
	}
	first, call := id(dated, "")
	later, other := id(Format{Now: func() time.Time { return time.Unix(1700000001, 0) }}, "")
	if first == later || call == other || !strings.HasPrefix(first, "chatcmpl-") || len(first) < 20 || !strings.HasPrefix(call, "call_") {
		t.Errorf("response IDs %s and %s, call IDs %s and %s; want different ones with prefixes", first, later, call, other)
	}
	if kept, _ := id(dated, "chatcmpl-7"); kept != "chatcmpl-7" {
		t.Errorf("ID = %s, want that of the provider", kept)
	}
}

// plainPieces joins adjacent text deltas and adjacent argument deltas, because the format does not preserve their
// boundaries.
func plainPieces(pieces []llm.Delta) []llm.Delta {
	var plain []llm.Delta
	for _, p := range pieces {
		if n := len(plain); n > 0 {
			last := &plain[n-1]
			if p.Kind == last.Kind && p.Choice == last.Choice && p.Index == last.Index && p.Call == nil && p.Kind != llm.FinishDelta && p.Kind != llm.SignatureDelta && p.Usage == nil {
				last.Text += p.Text
				continue
			}
		}
		plain = append(plain, p)
	}
	return plain
}

func TestDeltasOfEncodedResponses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]llm.Delta{
		"text": {
			{Kind: llm.BeginDelta, ID: "chatcmpl-msg_1", Model: "real"},
			{Kind: llm.TextDelta, Text: "h\u00e9<&>\n\u2028y"},
			{Kind: llm.FinishDelta, Finish: "length"},
			{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 10, CacheRead: 5, Output: 7, Reasoning: 3}},
		},
		"parallel calls": {
			{Kind: llm.BeginDelta, ID: "chatcmpl-msg_1"},
			{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f", Signature: "s", Provider: "gemini"}},
			{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "b", Name: "g", Arguments: "i", Custom: true}},
			{Kind: llm.ArgumentsDelta, Index: 1, Text: "j"},
			{Kind: llm.ArgumentsDelta, Text: "{}"},
			{Kind: llm.FinishDelta, Finish: "tool_calls"},
		},
		"thinking with signatures": {
			{Kind: llm.BeginDelta, ID: "chatcmpl-msg_1"},
			{Kind: llm.ThinkingDelta, Text: "hm"},
			{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s", Provider: "anthropic"}},
			{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: "d", Provider: "anthropic"}},
			{Kind: llm.RefusalDelta, Text: "no"},
			{Kind: llm.FinishDelta, Finish: "content_filter"},
		},
		"several choices": {
			{Kind: llm.BeginDelta, ID: "chatcmpl-msg_1"},
			{Kind: llm.TextDelta, Choice: 1, Text: "b"},
			{Kind: llm.TextDelta, Text: "a"},
			{Kind: llm.FinishDelta, Choice: 1, Finish: "stop"},
			{Kind: llm.FinishDelta, Finish: "stop"},
		},
		"a client that knows only functions": {
			{Kind: llm.BeginDelta, ID: "chatcmpl-msg_1"},
			{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "call_0", Name: "f"}},
			{Kind: llm.ArgumentsDelta, Text: `{"a":1}`},
			{Kind: llm.FinishDelta, Finish: "tool_calls"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc := answers[name]
			events := dated.EncodeResponse(requestOf(t, true, tc.more), "canon", sequence(tc.pieces, nil))
			var got []llm.Delta
			for p, err := range Deltas(events) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, p)
			}
			if diff := cmp.Diff(want, plainPieces(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A complete response equals its assembled chunks.
func TestWholeResponseEqualsAssembledChunks(t *testing.T) {
	t.Parallel()
	for name, tc := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chunks, err := collect(dated.EncodeResponse(requestOf(t, true, tc.more), "canon", sequence(tc.pieces, nil)))
			if err != nil {
				t.Fatal(err)
			}
			var lines []byte
			for _, ev := range chunks {
				lines = append(append(lines, ev.Data...), '\n')
			}
			assembled, err := Assemble(lines)
			if err != nil {
				t.Fatal(err)
			}
			both := map[string][]llm.Delta{}
			whole, err := collect(dated.EncodeResponse(requestOf(t, false, tc.more), "canon", sequence(tc.pieces, nil)))
			if err != nil {
				t.Fatal(err)
			}
			for from, data := range map[string][]byte{"assembled": assembled, "whole": whole[0].Data} {
				for p, err := range Deltas(func(yield func(llm.Event, error) bool) { yield(llm.Event{Data: data}, nil) }) {
					if err != nil {
						t.Fatal(err)
					}
					both[from] = append(both[from], p)
				}
			}
			if diff := cmp.Diff(both["whole"], both["assembled"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeltasOfOtherProviders(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events []string
		want   []llm.Delta
	}{
		"calls without index and with object arguments": {
			[]string{`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}},{"id":"b","function":{"name":"g"}}]}}]}`},
			[]llm.Delta{
				{Kind: llm.BeginDelta},
				{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}},
				{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "b", Name: "g"}},
			},
		},
		"another call with the same index": {
			[]string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}`,
			},
			[]llm.Delta{
				{Kind: llm.BeginDelta},
				{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f", Arguments: `{`}},
				{Kind: llm.ArgumentsDelta, Text: "}"},
				{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "b", Name: "g", Arguments: "{}"}},
			},
		},
		"reasoning in another member or as an object": {
			[]string{`{"choices":[{"delta":{"reasoning":"h"}}]}`, `{"choices":[{"delta":{"reasoning":{"x":1},"content":"t"}}]}`},
			[]llm.Delta{{Kind: llm.BeginDelta}, {Kind: llm.ThinkingDelta, Text: "h"}, {Kind: llm.TextDelta, Text: "t"}},
		},
		"a whole response without a finish": {
			[]string{`{"id":"x","choices":[{"message":{"content":"t"}}]}`},
			[]llm.Delta{{Kind: llm.BeginDelta, ID: "x"}, {Kind: llm.TextDelta, Text: "t"}, {Kind: llm.FinishDelta, Finish: "stop"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := func(yield func(llm.Event, error) bool) {
				for _, data := range tc.events {
					if !yield(llm.Event{Data: []byte(data)}, nil) {
						return
					}
				}
			}
			var got []llm.Delta
			for p, err := range Deltas(events) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, p)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeltasReturnErrors(t *testing.T) {
	t.Parallel()
	broken := llm.Errorf(llm.UpstreamOverloaded, "busy")
	for _, tc := range []struct {
		data string
		err  error
		want llm.Kind
	}{{`{}`, broken, llm.UpstreamOverloaded}, {`{"choices":7}`, nil, llm.UpstreamMalformed}} {
		var failed error
		for _, err := range Deltas(func(yield func(llm.Event, error) bool) { yield(llm.Event{Data: []byte(tc.data)}, tc.err) }) {
			failed = err
		}
		if e, ok := errors.AsType[*llm.Error](failed); !ok || e.Kind != tc.want {
			t.Errorf("%s: %v, want %s", tc.data, failed, tc.want)
		}
	}
}

func FuzzDeltas(f *testing.F) {
	for _, tc := range answers {
		for _, chunk := range tc.chunks {
			f.Add([]byte(`{"choices":[` + chunk + `]}`))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events := func(yield func(llm.Event, error) bool) {
			for line := range slices.Values(bytes.SplitAfter(data, []byte("\n"))) {
				if !yield(llm.Event{Data: line}, nil) {
					return
				}
			}
		}
		for _, stream := range []bool{true, false} {
			for ev, err := range dated.EncodeResponse(requestOf(t, stream, ""), "m", Deltas(events)) {
				if err == nil && !json.Valid(ev.Data) {
					t.Errorf("event is not JSON: %s", ev.Data)
				}
			}
		}
	})
}
