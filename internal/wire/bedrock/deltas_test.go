package bedrock

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

// frame encodes one stream message.
func frame(kind, name, payload string) []byte {
	headers := eventstream.Headers{
		{Name: ":message-type", Value: eventstream.StringValue(kind)}, {Name: ":" + kind + "-type", Value: eventstream.StringValue(name)},
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, eventstream.Message{Headers: headers, Payload: []byte(payload)}); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// stream encodes a stream of events, given as pairs of name and payload.
func stream(pairs ...string) []byte {
	var out []byte
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, frame("event", pairs[i], pairs[i+1])...)
	}
	return out
}

func collect(r io.Reader, o DeltaOptions) (pieces []llm.Delta, err error) {
	for p, failure := range Deltas(r, o) {
		if failure != nil {
			err = failure
			continue
		}
		pieces = append(pieces, p)
	}
	return pieces, err
}

var shipPlan = NewPlan(&llm.Conversation{
	Tools: []llm.Tool{{Name: "f"}, {Name: "shell", Custom: true}}, Output: llm.Output{Kind: llm.OutputSchema, Schema: []byte(`{"type":"object"}`)},
}, able)

const (
	start    = `{"role":"assistant"}`
	textA    = `{"contentBlockIndex":0,"delta":{"text":"A"}}`
	textB    = `{"contentBlockIndex":0,"delta":{"text":"B"}}`
	stopped  = `{"contentBlockIndex":0}`
	endTurn  = `{"stopReason":"end_turn"}`
	useTool  = `{"stopReason":"tool_use"}`
	metadata = `{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}`
)

func TestStreams(t *testing.T) {
	t.Parallel()
	begin := llm.Delta{Kind: llm.BeginDelta, ID: "id"}
	say := func(s string) llm.Delta { return llm.Delta{Kind: llm.TextDelta, Text: s} }
	finish := func(s string) llm.Delta { return llm.Delta{Kind: llm.FinishDelta, Finish: s} }
	used := llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 1, Output: 2}}
	calls := func(i int, id, name string, custom bool) llm.Delta {
		return llm.Delta{Kind: llm.CallDelta, Index: i, Call: &llm.ToolCall{ID: id, Name: name, Custom: custom}}
	}
	args := func(i int, s string) llm.Delta { return llm.Delta{Kind: llm.ArgumentsDelta, Index: i, Text: s} }
	tests := map[string]struct {
		stream []byte
		plan   Plan
		want   []llm.Delta
	}{
		"no start, no stop of the block, unknown events": {
			stream("contentBlockDelta", textA, "somethingNew", `[]`, "messageStop", endTurn), Plan{}, []llm.Delta{begin, say("A"), finish("stop")},
		},
		"events after the finish are ignored": {
			stream("contentBlockDelta", textA, "messageStop", endTurn, "contentBlockDelta", textB, "messageStop", useTool, "metadata", metadata),
			Plan{},
			[]llm.Delta{begin, say("A"), finish("stop"), used},
		},
		"an unknown finish": {
			stream("contentBlockDelta", textA, "messageStop", `{"stopReason":"bored"}`), Plan{}, []llm.Delta{begin, say("A"), finish("stop")},
		},
		"calls without the finish of calls": {
			stream("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`, "messageStop", endTurn),
			Plan{},
			[]llm.Delta{begin, calls(0, "x", "f", false), args(0, "{}"), finish("tool_calls")},
		},
		"the response in a tool call": {
			stream("contentBlockDelta", textA, "contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"x","name":"answer"}}}`,
				"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{}"}}}`, "contentBlockStop", `{"contentBlockIndex":1}`, "contentBlockDelta", textB, "messageStop", useTool),
			shipPlan,
			[]llm.Delta{begin, say("{}"), finish("stop")},
		},
		"an empty response in a tool call": {
			stream("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"x","name":"answer"}}}`, "contentBlockStop", `{"contentBlockIndex":1}`, "messageStop", useTool),
			shipPlan,
			[]llm.Delta{begin, say("{}"), finish("stop")},
		},
		"text instead of the response in a tool call": {
			stream("contentBlockDelta", textA, "contentBlockDelta", textB, "messageStop", endTurn), shipPlan, []llm.Delta{begin, say("AB"), finish("stop")},
		},
		"another call instead of the response in a tool call": {
			stream("contentBlockDelta", textA, "contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"x","name":"shell"}}}`,
				"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"input\":"}}}`, "contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"\"ls\"}"}}}`,
				"contentBlockStop", `{"contentBlockIndex":1}`, "messageStop", useTool),
			shipPlan,
			[]llm.Delta{begin, say("A"), calls(0, "x", "shell", true), args(0, "ls"), finish("tool_calls")},
		},
		"signed thinking in two parts": {
			stream("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"YQ=="}}}`,
				"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"Yg=="}}}`, "contentBlockStop", stopped, "messageStop", endTurn),
			Plan{},
			[]llm.Delta{begin, {Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: "YWI=", Provider: "here"}}, finish("stop")},
		},
		"thinking without a signature": {
			stream("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}`, "contentBlockStop", stopped, "messageStop", endTurn),
			Plan{},
			[]llm.Delta{begin, {Kind: llm.ThinkingDelta, Text: "hm"}, {Kind: llm.SignatureDelta, Thinking: &llm.Thinking{}}, finish("stop")},
		},
		"an exception after the finish": {
			append(stream("contentBlockDelta", textA, "messageStop", endTurn), frame("exception", "throttlingException", `{}`)...),
			Plan{},
			[]llm.Delta{begin, say("A"), finish("stop")},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := DeltaOptions{Plan: tc.plan, ID: "id", Provider: "here"}
			for _, r := range []io.Reader{bytes.NewReader(tc.stream), iotest.OneByteReader(bytes.NewReader(tc.stream))} {
				got, err := collect(r, o)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			}
			for range Deltas(bytes.NewReader(tc.stream), o) {
				break // if Deltas called yield again, the loop would panic
			}
		})
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	good := stream("messageStart", start, "contentBlockDelta", textA)
	flipped := bytes.Clone(good)
	flipped[len(flipped)-20] ^= 1
	// The headers are longer than the message, so the payload length would be negative.
	prelude := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 20), 100)
	prelude = binary.BigEndian.AppendUint32(prelude, crc32.ChecksumIEEE(prelude))
	huge := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8<<20), 0)
	huge = binary.BigEndian.AppendUint32(huge, crc32.ChecksumIEEE(huge))
	tests := map[string]struct {
		r    io.Reader
		kind llm.Kind
	}{
		"nothing":                             {strings.NewReader(""), llm.UpstreamMalformed},
		"cut between messages":                {bytes.NewReader(good), llm.StreamInterrupted},
		"cut in a prelude":                    {bytes.NewReader(append(bytes.Clone(good), 0, 0)), llm.StreamInterrupted},
		"connection reset":                    {io.MultiReader(bytes.NewReader(good), iotest.ErrReader(errors.New("reset"))), llm.StreamInterrupted},
		"wrong checksum":                      {bytes.NewReader(flipped), llm.UpstreamMalformed},
		"inconsistent lengths":                {bytes.NewReader(append(prelude, make([]byte, 100)...)), llm.UpstreamMalformed},
		"longer than allowed":                 {bytes.NewReader(append(huge, make([]byte, 100)...)), llm.UpstreamMalformed},
		"larger than allowed":                 {bytes.NewReader(bytes.Repeat(good, 20000)), llm.UpstreamMalformed},
		"an undecodable event":                {bytes.NewReader(stream("contentBlockDelta", "no")), llm.UpstreamMalformed},
		"an error that is classified already": {iotest.ErrReader(llm.Errorf(llm.UpstreamTimeout, "x")), llm.UpstreamTimeout},
		"unavailable":                         {bytes.NewReader(frame("exception", "serviceUnavailableException", `{}`)), llm.UpstreamOverloaded},
		"timeout":                             {bytes.NewReader(frame("exception", "modelTimeoutException", ``)), llm.UpstreamTimeout},
		"internal":                            {bytes.NewReader(frame("exception", "internalServerException", `<html>`)), llm.UpstreamServer},
		"malformed tool use":                  {bytes.NewReader(stream("messageStop", `{"stopReason":"malformed_tool_use"}`)), llm.UpstreamServer},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := collect(tc.r, DeltaOptions{MaxMessage: 1 << 20, MaxResponse: 1 << 20})
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != tc.kind || e.Message == "" {
				t.Errorf("Deltas: %v, want %s", err, tc.kind)
			}
		})
	}
	if _, err := collect(iotest.ErrReader(context.Canceled), DeltaOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled request: %v, want context.Canceled", err)
	}
}

func TestWholeResponses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want string // kinds of the deltas, or the kind of the error
	}{
		"no usage":          {`{"output":{"message":{"content":[{"text":"a"}]}},"stopReason":"end_turn"}`, "begin text finish"},
		"implausible usage": {`{"output":{"message":{"content":[]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":99999999999999}}`, "begin finish"},
		"citations":         {`{"output":{"message":{"content":[{"citationsContent":{"content":[{"text":"a"}]}}]}},"stopReason":"end_turn"}`, "begin text finish"},
		"something":         {`{"output":{"message":{"content":[{"video":{}}]}},"stopReason":"end_turn"}`, "begin finish warned"},
		"unexpected fields": {`{"output":{"message":{"content":[]}},"stopReason":"end_turn","additionalModelResponseFields":"x"}`, "begin finish"},
		"no reason":         {`{"output":{"message":{"content":[{"text":"a"}]}}}`, "stream_interrupted"},
		"no message":        {`{"output":{}}`, "malformed"},
		"an error":          {`{"message":"The service is unavailable","__type":"x"}`, "server_error"},
		"another type":      {`{"output":[]}`, "malformed"},
		"half":              {`{"output":{"message":{"content":[{"text":"a`, "malformed"},
		"no JSON":           {`<html>`, "malformed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			warned := false
			pieces, err := collect(strings.NewReader(tc.body), DeltaOptions{Warn: func(string) { warned = true }})
			for _, p := range pieces {
				got = append(got, string(p.Kind))
			}
			if err != nil {
				got = append(got, string(llm.AsError(err).Kind))
			}
			if warned {
				got = append(got, "warned")
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	body := `{"output":{"message":{"content":[]}},"stopReason":"end_turn","serviceTier":{"type":"flex"},"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":165,` +
		`"cacheReadInputTokens":100,"cacheWriteInputTokens":50,"cacheDetails":[{"ttl":"1h","inputTokens":30},{"ttl":"5m","inputTokens":20}]}}`
	pieces, err := collect(strings.NewReader(body), DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := pieces[len(pieces)-1].Usage
	want := &llm.Usage{Input: 10, CacheRead: 100, CacheWrite: 50, CacheWriteLong: 30, Output: 5, ServiceTier: "flex"}
	if diff := cmp.Diff(want, got); diff != "" || got.Total() != 165 {
		t.Errorf("total %d, want 165, usage (-want +got):\n%s", got.Total(), diff)
	}
}

func FuzzDeltas(f *testing.F) {
	f.Add(stream("messageStart", start, "contentBlockDelta", textA, "messageStop", endTurn, "metadata", metadata))
	f.Add(frame("exception", "throttlingException", `{"message":"x"}`))
	f.Add([]byte(`{"output":{"message":{"content":[{"toolUse":{"toolUseId":"a","name":"answer","input":{}}}]}},"stopReason":"tool_use","usage":{"inputTokens":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		finished, failed := false, false
		for p, err := range Deltas(bytes.NewReader(b), DeltaOptions{Plan: shipPlan, MaxResponse: 1 << 20}) {
			if failed {
				t.Fatal("Deltas returned a delta after the error")
			}
			failed = err != nil
			if finished && p.Kind != llm.UsageDelta {
				t.Fatalf("delta %s after the finish, want only usage", p.Kind)
			}
			finished = finished || p.Kind == llm.FinishDelta
		}
		if finished == failed {
			t.Fatalf("finished %t, failed %t; want exactly one", finished, failed)
		}
	})
}

// FuzzEvents fuzzes the payloads of valid stream messages, because random bytes rarely form a valid message.
func FuzzEvents(f *testing.F) {
	f.Add("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"x","name":"shell"}}}`, "contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{"}}}`)
	f.Add("contentBlockDelta", `{"contentBlockIndex":-1,"delta":{"reasoningContent":{"signature":"x"}}}`, "metadata", metadata)
	f.Fuzz(func(t *testing.T, one, payload, two, second string) {
		if len(one) > 100 || len(two) > 100 {
			return
		}
		pieces, err := collect(bytes.NewReader(stream(one, payload, two, second, "messageStop", endTurn)), DeltaOptions{Plan: shipPlan})
		if err == nil && (len(pieces) < 2 || pieces[0].Kind != llm.BeginDelta) {
			t.Fatalf("deltas %+v, want at least two, the first of kind begin", pieces)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{}]}},"additionalProperties":false}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if isClosed(b) && !isObject(b) {
			t.Fatal("isClosed = true for a schema that is not an object")
		}
	})
}
