package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestAssemble(t *testing.T) {
	t.Parallel()
	const head = `{"id":"c","object":"chat.completion.chunk","created":7,"model":"m",`
	tests := map[string]struct {
		events []string
		want   string
	}{
		"text, usage and tier": {
			[]string{
				head + `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
				head + `"choices":[{"index":0,"delta":{"content":"h\u00e9"},"finish_reason":null}]}`,
				head + `"choices":[{"index":0,"delta":{"content":"y <&>\ud83d"},"finish_reason":null}],"service_tier":"flex"}`,
				head + `"choices":[{"index":0,"delta":{"content":"\ude42"},"finish_reason":"stop"}],"system_fingerprint":"fp"}`,
				head + `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"h\u00e9y <&>\ud83d\ude42"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2},"service_tier":"flex","system_fingerprint":"fp"}`,
		},
		"legacy completions": {
			[]string{
				`{"id":"p","object":"text_completion","created":7,"model":"m","choices":[{"index":1,"text":"b","finish_reason":null}]}`,
				`{"id":"p","object":"text_completion","created":7,"model":"m","choices":[{"index":0,"text":"a","finish_reason":"stop"}]}`,
				`{"id":"p","object":"text_completion","created":7,"model":"m","choices":[{"index":1,"text":"B","finish_reason":"length"}]}`,
				`{"id":"p","object":"text_completion","created":7,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":3}}`,
			},
			`{"id":"p","object":"text_completion","created":7,"model":"m","choices":[{"index":0,"text":"a","finish_reason":"stop"},{"index":1,"text":"bB","finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}`,
		},
		"interleaved choices": {
			[]string{
				head + `"choices":[{"index":1,"delta":{"content":"b"}}]}`, head + `"choices":[{"index":0,"delta":{"content":"a"}}]}`,
				head + `"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`, head + `"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":"stop"}]}`,
			},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"aA"},"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":"b"},"finish_reason":"length"}]}`,
		},
		"tool calls": {
			[]string{
				head + `"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"custom","custom":{"name":"g","input":"x"}}]}}]}`,
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}`,
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`,
			},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"c2","type":"custom","custom":{"name":"g","input":"x"}}]},"finish_reason":"tool_calls"}]}`,
		},
		"tool calls without index": {
			[]string{head + `"choices":[{"delta":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}},{"id":"c2","function":{"name":"g"}}]}}]}`},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":null}]}`,
		},
		"a later delta without index after a first call with index 1": {
			[]string{
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c1","function":{"name":"f","arguments":"{"}}]}}]}`,
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}`,
			},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]}`,
		},
		"a second call without index after a first call with index 1": {
			[]string{
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c1","function":{"name":"f","arguments":"{}"}}]}}]}`,
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"id":"c2","function":{"name":"g","arguments":"["}}]}}]}`,
				head + `"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"]"}}]}}]}`,
			},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"[]"}}]},"finish_reason":null}]}`,
		},
		"reasoning, refusal and a legacy function call": {
			[]string{
				head + `"choices":[{"index":0,"delta":{"reasoning":"h"}}]}`, head + `"choices":[{"index":0,"delta":{"reasoning_content":"m","reasoning":"m"}}]}`,
				head + `"choices":[{"index":0,"delta":{"refusal":"no"}}]}`, head + `"choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":"{"}}}]}`,
				head + `"choices":[{"index":0,"delta":{"function_call":{"arguments":"}"}}}]}`,
			},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"hm","refusal":"no","function_call":{"name":"f","arguments":"{}"}},"finish_reason":null}]}`,
		},
		"an interrupted stream": {
			[]string{head + `"choices":[{"index":0,"delta":{"content":"par"}}]}`, `{"error":"cut","code":"PROVIDER_UPSTREAM_ERROR"}`, `{"id":"c","choi`},
			`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"par"},"finish_reason":null}]}`,
		},
		"a whole response": {
			[]string{"{\"id\":\"w\",", "\"choices\":[{\"message\":{\"content\":\"a\"}}]}"},
			"{\"id\":\"w\",\n\"choices\":[{\"message\":{\"content\":\"a\"}}]}",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Assemble([]byte(strings.Join(tc.events, "\n") + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, none := range []string{"", "\n", `{"error":"x"}`, "null", "garbage\n{}\n"} {
		if got, err := Assemble([]byte(none)); !errors.Is(err, ErrNoChunks) {
			t.Errorf("Assemble(%q) = %s, %v; want ErrNoChunks", none, got, err)
		}
	}
}

// Splitting a response into a stream and assembling the stream restores the response.
func TestAssembleInvertsSplit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"whole_for_stream.txt", "whole_tools_for_stream.txt"} {
		x := readExchange(t, filepath.Join("testdata/events", name))
		var stored bytes.Buffer
		for ev, err := range llm.All(Read(strings.NewReader(x.answer), x.options)) {
			if err != nil {
				t.Fatal(err)
			}
			stored.Write(ev.Data)
			stored.WriteByte('\n')
		}
		joined, err := Assemble(stored.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		for raw, into := range map[string]*any{string(joined): &got, x.answer: &want} {
			if err := json.Unmarshal([]byte(raw), into); err != nil {
				t.Fatal(err)
			}
		}
		prune(want)
		prune(got)
		want.(map[string]any)["model"] = "canon"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// prune removes values that a stream does not contain: nulls, empty text and log probabilities. A null finish reason
// becomes "stop".
func prune(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			prune(e)
		}
	case map[string]any:
		if finish, ok := v["finish_reason"]; ok && finish == nil {
			v["finish_reason"] = "stop"
		}
		delete(v, "logprobs")
		for k, e := range v {
			if e == nil || e == "" {
				delete(v, k)
			}
			prune(e)
		}
	}
}

func FuzzAssemble(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":-1}]}}]}` + "\n" + `{"choices":[]}`))
	for _, next := range []string{`"b"`, `"\\u00e9\""`, `""`, `null`, `"b","role":"user"`, `"b`, `" "x"`} {
		chunk := `{"choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]}` + "\n"
		f.Add(fmt.Appendf(nil, chunk+chunk+chunk, `"a"`, next, `"c"`))
	}
	f.Fuzz(func(t *testing.T, events []byte) {
		got, err := Assemble(events)
		if err == nil && !json.Valid(got) {
			t.Fatalf("Assemble(%q) = %q, want valid JSON", events, got)
		}
		// An empty chunk before each chunk prevents that a chunk is joined like the previous one.
		apart := []byte("{\"choices\":[]}\n")
		for line := range bytes.Lines(events) {
			apart = append(append(apart, line...), "\n{\"choices\":[]}\n"...)
		}
		if whole, errApart := Assemble(apart); err == nil && len(bytes.Fields(events)) > 0 && !json.Valid(events) && (errApart != nil || !bytes.Equal(whole, got)) {
			t.Fatalf("Assemble(%q) = %q, with empty chunks between the chunks %q, %v", events, got, whole, errApart)
		}
	})
}
