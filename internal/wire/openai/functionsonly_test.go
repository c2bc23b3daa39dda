package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestCustomToolsBecomeFunctions(t *testing.T) {
	t.Parallel()
	const (
		input    = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`
		question = `"messages":[{"role":"user","content":"the word \"custom\""}]`
	)
	for name, tc := range map[string]struct {
		body, want string // an empty want means that the body stays unchanged
	}{
		"no custom tool": {body: `{"model":"m",` + question + `,"tools":[{"type":"function","function":{"name":"custom"}}]}`},
		"a tool": {
			body: `{"model":"m", "tools":[{"type":"custom","custom":{"name":"a","description":"d"},"cache_control":{"type":"ephemeral"}},{"type":"function","function":{"name":"b"}}],` + question + `,"n":1.0}`,
			want: `{"model":"m", "tools":[{"cache_control":{"type":"ephemeral"},"type":"function","function":{"name":"a","description":"d","parameters":` + input + `}},{"type":"function","function":{"name":"b"}}],` + question + `,"n":1.0}`,
		},
		"a grammar": {
			body: `{"model":"m","tools":[{"type":"custom","custom":{"name":"a","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"x+"}}}}],` + question + `}`,
			want: `{"model":"m","tools":[{"type":"function","function":{"name":"a","description":"The input must match this grammar (regex):\nx+","parameters":` + input + `}}],` + question + `}`,
		},
		"a choice": {
			body: `{"model":"m","tool_choice":{"type":"custom","custom":{"name":"a"}},` + question + `}`,
			want: `{"model":"m","tool_choice":{"type":"function","function":{"name":"a"}},` + question + `}`,
		},
		"allowed tools": {
			body: `{"model":"m","tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"custom","custom":{"name":"a"}},{"type":"function","function":{"name":"b"}}]}},` + question + `}`,
			want: `{"model":"m","tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}]}},` + question + `}`,
		},
		"a call": {
			body: `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"custom","custom":{"name":"a","input":"x\n\"y\""}},{"id":"2","type":"function","function":{"name":"b","arguments":"{}"}}]}]}`,
			want: `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{\"input\":\"x\\n\\\"y\\\"\"}"}},{"id":"2","type":"function","function":{"name":"b","arguments":"{}"}}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(FunctionsOnly(req))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
