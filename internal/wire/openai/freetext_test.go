package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func TestCustomToolsBecomeFunctionsForProvidersWithoutThem(t *testing.T) {
	t.Parallel()
	conv := &llm.Conversation{
		Tools: []llm.Tool{{
			Name: "apply_patch", Description: "Edits files.", Custom: true,
			Format: json.RawMessage(`{"type":"grammar","syntax":"lark","definition":"start: x"}`),
		}},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.TextPart, Text: "edit"}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "c1", Name: "apply_patch", Arguments: "*** \"Begin\"\n", Custom: true}}}},
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "c1", Name: "apply_patch", Parts: []llm.Part{{Kind: llm.TextPart, Text: "done"}}}}}},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"apply_patch"}},
	}
	for _, tc := range []struct {
		accepts            Accepts
		tool, call, choice string
	}{
		{
			Accepts{},
			`{"type":"function","function":{"name":"apply_patch","description":"Edits files.\n\nThe input must match this grammar (lark):\nstart: x","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}`,
			`{"id":"c1","type":"function","function":{"name":"apply_patch","arguments":"{\"input\":\"*** \\\"Begin\\\"\\n\"}"}}`,
			`{"type":"function","function":{"name":"apply_patch"}}`,
		},
		{
			Accepts{CustomTools: true},
			`{"type":"custom","custom":{"name":"apply_patch","description":"Edits files.","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: x"}}}}`,
			`{"id":"c1","type":"custom","custom":{"name":"apply_patch","input":"*** \"Begin\"\n"}}`,
			`{"type":"custom","custom":{"name":"apply_patch"}}`,
		},
	} {
		body, left := EncodeRequest(conv, EncodeOptions{Model: "m", Accepts: tc.accepts})
		doc := rawjson.Parse(body)
		for path, want := range map[string]string{"tools.0": tc.tool, "messages.1.tool_calls.0": tc.call, "tool_choice": tc.choice} {
			if got := doc.Get(path).Raw; got != want {
				t.Errorf("%s = %s\nwant %s", path, got, want)
			}
		}
		if len(left) > 0 {
			t.Errorf("omitted %q, want nothing", left)
		}
	}
}

func TestFreeTextReturnsFunctionsAsCustomCalls(t *testing.T) {
	t.Parallel()
	given := []llm.Delta{
		{Kind: llm.CallDelta, Index: 0, Call: &llm.ToolCall{ID: "c1", Name: "apply_patch"}},
		{Kind: llm.ArgumentsDelta, Index: 0, Text: `{"input":"*** \"Be`},
		{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "c2", Name: "read", Arguments: `{"a":`}},
		{Kind: llm.ArgumentsDelta, Index: 1, Text: `1}`},
		{Kind: llm.ArgumentsDelta, Index: 0, Text: `gin\"\n"}`},
		{Kind: llm.CallDelta, Index: 2, Call: &llm.ToolCall{ID: "c3", Name: "apply_patch", Arguments: "not wrapped"}},
		{Kind: llm.FinishDelta, Finish: "tool_calls"},
	}
	want := []llm.Delta{
		{Kind: llm.CallDelta, Index: 0, Call: &llm.ToolCall{ID: "c1", Name: "apply_patch", Custom: true}},
		given[2], given[3],
		{Kind: llm.CallDelta, Index: 2, Call: &llm.ToolCall{ID: "c3", Name: "apply_patch", Custom: true}},
		{Kind: llm.ArgumentsDelta, Index: 0, Text: "*** \"Begin\"\n"},
		{Kind: llm.ArgumentsDelta, Index: 2, Text: "not wrapped"},
		given[6],
	}
	var got []llm.Delta
	deltas := func(yield func(llm.Delta, error) bool) {
		for _, p := range given {
			if !yield(p, nil) {
				return
			}
		}
	}
	for p, err := range FreeText(deltas, func(name string) bool { return name == "apply_patch" }) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
