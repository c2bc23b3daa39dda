package anthropic

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

var (
	begin = llm.Delta{Kind: llm.BeginDelta, ID: "msg_1", Model: "claude-1"}
	read1 = llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 7, CacheWriteLong: 5, Output: 1}}
	read4 = llm.Delta{Kind: llm.UsageDelta, Usage: Usage()}
	ended = llm.Delta{Kind: llm.FinishDelta, Finish: "stop"}
)

func textDelta(s string) llm.Delta { return llm.Delta{Kind: llm.TextDelta, Text: s} }

func pieceList(r io.Reader, o DeltaOptions) (list []llm.Delta, failed error) {
	for p, err := range Deltas(r, o) {
		if err != nil {
			failed = err
			continue
		}
		list = append(list, p)
	}
	return list, failed
}

func TestDeltasOfAStream(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in       string
		o        DeltaOptions
		want     []llm.Delta
		kind     llm.Kind // kind of the error; empty for none
		warnings int
	}{
		"events after the end are ignored": {Stream(Start, EndTurn, Stop, Text), DeltaOptions{}, []llm.Delta{begin, read1, ended, read4}, "", 0},
		"blocks without a start event":     {Stream(Start, Text, EndTurn, Stop), DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), ended, read4}, "", 0},
		"no last event":                    {Stream(Start, Text, EndTurn), DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), ended, read4}, "", 0},
		"calls": {
			Stream(Start,
				`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"t","input":{}}}`,
				`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
				`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
				`{"type":"content_block_stop","index":3}`,
				`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"b","name":"t","input":{"whole":true}}}`,
				`{"type":"content_block_stop","index":4}`,
				`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"c","name":"t"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4,"output_tokens_details":{"thinking_tokens":2}}}`, Stop),
			DeltaOptions{},
			[]llm.Delta{
				begin, read1,
				{Kind: llm.CallDelta, Index: 0, Call: &llm.ToolCall{ID: "a", Name: "t"}},
				{Kind: llm.ArgumentsDelta, Index: 0, Text: "{}"},
				{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "b", Name: "t"}},
				{Kind: llm.ArgumentsDelta, Index: 1, Text: `{"whole":true}`},
				{Kind: llm.CallDelta, Index: 2, Call: &llm.ToolCall{ID: "c", Name: "t"}},
				{Kind: llm.ArgumentsDelta, Index: 2, Text: "{}"},
				{Kind: llm.FinishDelta, Finish: "tool_calls"},
				read4,
			},
			"", 0,
		},
		"free text": {
			Stream(Start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"input\":\"a\\n"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"b\"}"}}`, TextStop,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`, Stop),
			DeltaOptions{CustomTools: []string{"f"}},
			[]llm.Delta{begin, read1, {Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f", Arguments: "a\nb", Custom: true}}, {Kind: llm.FinishDelta, Finish: "tool_calls"}, read1},
			"", 0,
		},
		"thinking": {
			Stream(Start, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"si"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"g"}}`, TextStop,
				`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xx"}}`, `{"type":"content_block_stop","index":1}`,
				EndTurn, Stop),
			DeltaOptions{Signer: "p"},
			[]llm.Delta{
				begin, read1,
				{Kind: llm.ThinkingDelta, Text: "hm"},
				{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "sig", Provider: "p"}},
				{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: "xx", Provider: "p"}},
				ended, read4,
			},
			"", 0,
		},
		"unsupported blocks and citations": {
			Stream(Start, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"a","name":"web_search","input":{}}}`, TextStop,
				`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}`, EndTurn, Stop),
			DeltaOptions{},
			[]llm.Delta{begin, read1, ended, read4},
			"", 1,
		},
		"a stop sequence": {
			Stream(Start, `{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"output_tokens":1}}`, Stop),
			DeltaOptions{},
			[]llm.Delta{begin, read1, {Kind: llm.FinishDelta, Finish: "stop", StopSequence: "END"}, read1},
			"", 0,
		},
		"an unknown stop reason": {
			Stream(Start, `{"type":"message_delta","delta":{"stop_reason":"tired"},"usage":{"output_tokens":1}}`, Stop),
			DeltaOptions{},
			[]llm.Delta{begin, read1, {Kind: llm.FinishDelta, Finish: "stop"}, read1},
			"", 0,
		},
		"implausible usage": {
			Stream(`{"type":"message_start","message":{"id":"msg_1","model":"claude-1","usage":{"input_tokens":-1}}}`, EndTurn, Stop),
			DeltaOptions{},
			[]llm.Delta{begin, ended},
			"", 0,
		},
		"malformed first":                  {Stream(Start, `{"type":`, Text, EndTurn, Stop), DeltaOptions{}, []llm.Delta{begin, read1, estimated(1)}, llm.UpstreamMalformed, 0},
		"malformed in text":                {Stream(Start, Text, `"text"`, Text, EndTurn, Stop), DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), estimated(2)}, llm.UpstreamMalformed, 0},
		"not a JSON number":                {Stream(Start, Text, `{"type":"content_block_delta","index":0,"x":-Infinity}`, EndTurn, Stop), DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), estimated(2)}, llm.UpstreamMalformed, 0},
		"malformed at the end":             {Stream(Start, Text, EndTurn, `{"type":`, Stop), DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), ended, read4}, "", 0},
		"the end event of the chat format": {Stream(Start, Text, EndTurn, "[DONE]"), DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), ended, read4}, "", 0},
		"interrupted inside an event":      {Stream(Start, Text) + `data: {"type":"message_delta","delta":{"stop_rea`, DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), estimated(2)}, llm.StreamInterrupted, 0},
		"stopped without a reason":         {Stream(Start, Text, Stop), DeltaOptions{}, []llm.Delta{begin, read1, textDelta("Ahoy"), estimated(2)}, llm.StreamInterrupted, 0},
		"an immediate error":               {"event: error\ndata: {\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n", DeltaOptions{}, nil, llm.UpstreamRateLimited, 0},
		"a long line":                      {Stream(Start, Text), DeltaOptions{Reading: upstream.Reading{MaxLine: 50}}, nil, llm.UpstreamMalformed, 0},
		"a long response":                  {Stream(Start, Text, Text), DeltaOptions{Reading: upstream.Reading{MaxResponse: 300}}, []llm.Delta{begin, read1, estimated(1)}, llm.UpstreamMalformed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, through := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
				warnings := 0
				o := tc.o
				o.Stream, o.Warn = true, func(string) { warnings++ }
				got, err := pieceList(through(strings.NewReader(tc.in)), o)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
				e, _ := errors.AsType[*llm.Error](err)
				if (err != nil) != (tc.kind != "") || e != nil && e.Kind != tc.kind {
					t.Errorf("Deltas: %v, want %q", err, tc.kind)
				}
				if warnings != tc.warnings {
					t.Errorf("%d warnings, want %d", warnings, tc.warnings)
				}
			}
		})
	}
}

// estimated returns the usage of a response that is interrupted after the given number of output tokens.
func estimated(output int64) llm.Delta {
	u := *read1.Usage
	u.Estimated, u.Output = true, output
	return llm.Delta{Kind: llm.UsageDelta, Usage: &u}
}

func FuzzDeltas(f *testing.F) {
	f.Add([]byte(Stream(Start, TextStart, Text, TextStop, EndTurn, Stop)), true)
	f.Add([]byte(`{"id":"msg_1","content":[{"type":"tool_use","name":"j","input":{"a":1}},{"type":"thinking"}],"stop_reason":"tool_use"}`), false)
	f.Add([]byte(Stream(Start, `{"type":"error","error":{"type":"overloaded_error"}}`)), true)
	f.Add([]byte(Stream(`{"type":"content_block_delta","index":-1,"delta":{"type":"input_json_delta","partial_json":"{"}}`, EndTurn)), true)
	f.Fuzz(func(t *testing.T, in []byte, streamed bool) {
		reading := upstream.Reading{Stream: streamed, MaxLine: 1 << 16, MaxResponse: 1 << 18}
		finished, failed := false, false
		for p, err := range Deltas(strings.NewReader(string(in)), DeltaOptions{Reading: reading, SchemaTool: "j", CustomTools: []string{"f"}}) {
			if failed {
				t.Fatal("the stream returned an element after the error")
			}
			failed = err != nil
			finished = finished || p.Kind == llm.FinishDelta
		}
		if finished == failed {
			t.Fatalf("finished %t, failed %t; want exactly one", finished, failed)
		}
		finished, failed = false, false
		for ev, err := range llm.All(Read(strings.NewReader(string(in)), EventOptions{Reading: reading, Model: "m"})) {
			if failed {
				t.Fatal("the stream returned an element after the error")
			}
			failed = err != nil
			finished = finished || ev.Name == "message_stop" || !streamed && ev.Content
			if err == nil && !ev.Bare && strings.ContainsAny(string(ev.Data), "\r\n") && streamed {
				t.Fatalf("event %q has several lines", ev.Data)
			}
		}
		if finished == failed {
			t.Fatalf("same format: finished %t, failed %t; want exactly one", finished, failed)
		}
	})
}
