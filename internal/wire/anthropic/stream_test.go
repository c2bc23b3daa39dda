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

func eventList(r io.Reader, o EventOptions) (list []llm.Event, failed error) {
	for ev, err := range llm.All(Read(r, o)) {
		if err != nil {
			failed = err
			continue
		}
		ev.Data = append([]byte(nil), ev.Data...)
		list = append(list, ev)
	}
	return list, failed
}

func TestEventsAreForwardedUnchanged(t *testing.T) {
	t.Parallel()
	in := Stream(Start, TextStart, `{"type":"ping"}`, Text, TextStop, `{"type":"brand_new","x":1.0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"tool","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"ä\":1}"}}`, EndTurn, Stop)
	reported := llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 7, CacheWriteLong: 5, Output: 2, Estimated: true}
	soFar := func(output int64) *llm.Usage { u := reported; u.Output = output; return &u }
	ev := func(name, data string, more llm.Event) llm.Event {
		more.Name, more.Data, more.Model = name, []byte(data), "claude-1"
		return more
	}
	want := []llm.Event{
		ev("message_start", strings.Replace(Start, "claude-1", "ours", 1), llm.Event{}),
		ev("content_block_start", TextStart, llm.Event{}),
		ev("ping", `{"type":"ping"}`, llm.Event{}),
		ev("content_block_delta", Text, llm.Event{Content: true, ASCIIBytes: 4, Usage: soFar(2)}),
		ev("content_block_stop", TextStop, llm.Event{}),
		ev("brand_new", `{"type":"brand_new","x":1.0}`, llm.Event{}),
		ev("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"tool","input":{}}}`, llm.Event{Content: true, ASCIIBytes: 4, Usage: soFar(3)}),
		ev("content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"ä\":1}"}}`, llm.Event{Content: true, ASCIIBytes: 6, NonASCIIBytes: 2, Usage: soFar(6)}),
		ev("message_delta", EndTurn, llm.Event{Finish: "stop", Usage: Usage()}),
		ev("message_stop", Stop, llm.Event{}),
	}
	for _, through := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
		got, err := eventList(through(strings.NewReader(in)), EventOptions{Reading: upstream.Reading{Stream: true}, Model: "ours"})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v, events (-want +got):\n%s", err, diff)
		}
	}
}

func TestInterruptedStreams(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		kind llm.Kind
	}{
		"nothing":                  {"", llm.UpstreamMalformed},
		"no message":               {Stream(`{"type":"ping"}`), llm.UpstreamMalformed},
		"cut":                      {Stream(Start, Text), llm.StreamInterrupted},
		"stopped without a reason": {Stream(Start, Text, Stop), llm.StreamInterrupted},
		"an error":                 {Stream(Start, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`), llm.UpstreamOverloaded},
	} {
		got, err := eventList(strings.NewReader(tc.in), EventOptions{Reading: upstream.Reading{Stream: true}})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != tc.kind {
			t.Errorf("%s: %v, want %s", name, err, tc.kind)
		}
		for _, ev := range got {
			if ev.Name == "message_stop" {
				t.Errorf("%s: the interrupted stream has message_stop", name)
			}
		}
	}
	got, err := eventList(strings.NewReader(Stream(Start, Text, EndTurn)), EventOptions{Reading: upstream.Reading{Stream: true}})
	if err != nil || got[len(got)-1].Name != "message_stop" {
		t.Errorf("stream without the last event: %v, want message_stop", err)
	}
}

const wholeMessage = `{
  "id":"msg_1", "type":"message", "model":"claude-1", "content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"Ahoy","citations":null},{"type":"tool_use","id":"a","name":"t","input":{"b": 1.0}},{"type":"brand_new","x":1}],
  "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2},"container":null}`

func TestWholeResponsesAreForwardedUnchanged(t *testing.T) {
	t.Parallel()
	got, err := eventList(strings.NewReader(wholeMessage), EventOptions{Model: `o"urs`})
	if err != nil || len(got) != 1 {
		t.Fatalf("error %v, %d events; want 1", err, len(got))
	}
	want := strings.Replace(wholeMessage, `"claude-1"`, `"o\"urs"`, 1)
	ev := got[0]
	if diff := cmp.Diff(want, string(ev.Data)); diff != "" || !ev.Content || ev.Finish != "tool_calls" || ev.Usage.Output != 2 || ev.ASCIIBytes != 17 || ev.Model != "claude-1" {
		t.Errorf("event %+v, data (-want +got):\n%s", ev, diff)
	}
}

// A non-streamed response to a streaming request decodes to the same blocks as the original response.
func TestWholeResponsesAreSplit(t *testing.T) {
	t.Parallel()
	warned := 0
	got, err := eventList(strings.NewReader(wholeMessage), EventOptions{Model: "ours", Reading: upstream.Reading{Stream: true, Warn: func(string) { warned++ }}})
	if err != nil || warned != 1 {
		t.Fatalf("error %v, %d warnings; want 1", err, warned)
	}
	var all []string
	for _, ev := range got {
		all = append(all, string(ev.Data))
	}
	want := []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","model":"ours","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2},"container":null}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":null}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Ahoy"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"t","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"b\": 1.0}"}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"brand_new","x":1}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":1,"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}
