package responses

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

const namespaceRequest = `{"model":"auto","input":[{"role":"user","content":"hi"},` +
	`{"type":"function_call","call_id":"c","namespace":"agents","name":"spawn","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"ok"}],` +
	`"tools":[{"type":"function","name":"spawn","parameters":{}},` +
	`{"type":"namespace","name":"agents","description":"d","tools":[{"type":"function","name":"spawn","parameters":{"a":1}},{"type":"custom","name":"note"}]},` +
	`{"type":"namespace","name":"mcp__git__","description":"d","tools":[{"type":"function","name":"log","parameters":null}]}],` +
	`"tool_choice":{"type":"function","namespace":"agents","name":"spawn"}}`

func TestConversationJoinsNamespaces(t *testing.T) {
	t.Parallel()
	conv := converse(t, namespaceRequest)
	var names []string
	for _, tool := range conv.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"spawn", "agents__spawn", "agents__note", "mcp__git__log"}, names); diff != "" {
		t.Errorf("tools:\n%s", diff)
	}
	if got := conv.Messages[1].Parts[0].Call.Name; got != "agents__spawn" {
		t.Errorf("call in the history has the name %q, want agents__spawn", got)
	}
	if got := conv.Messages[2].Parts[0].Result.Name; got != "agents__spawn" {
		t.Errorf("result in the history has the name %q, want agents__spawn", got)
	}
	if diff := cmp.Diff([]string{"agents__spawn"}, conv.ToolChoice.Names); diff != "" {
		t.Errorf("tool choice:\n%s", diff)
	}
	if req := decode(t, namespaceRequest); req.Hosted || req.Needs.Has(llm.ResponsesAPI) {
		t.Errorf("a namespace is counted as a hosted tool: hosted %t, needs %v", req.Hosted, req.Needs)
	}
}

func TestCallsOfNamespacedToolsNameTheNamespace(t *testing.T) {
	t.Parallel()
	for joined, want := range map[string][2]string{
		"spawn": {"", "spawn"}, "agents__spawn": {"agents", "spawn"}, "mcp__git__log": {"mcp__git__", "log"}, "agents__other": {"", "agents__other"},
	} {
		events, err := collect(Format{}.EncodeResponse(decode(t, namespaceRequest), "m", sequence([]llm.Delta{
			{Kind: llm.BeginDelta, ID: "r"},
			{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: joined, Arguments: "{}"}},
			{Kind: llm.FinishDelta, Finish: "tool_calls"},
		}, nil)))
		if err != nil {
			t.Fatal(err)
		}
		item := rawjson.Parse(events[len(events)-1].Data).Get("output.0")
		if got := [2]string{item.Get("namespace").String(), item.Get("name").String()}; got != want {
			t.Errorf("%s: namespace and name are %q, want %q", joined, got, want)
		}
	}
}

func TestDecodeRejectsNestedNamespaces(t *testing.T) {
	t.Parallel()
	_, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"auto","input":"hi","tools":[{"type":"namespace","name":"a","tools":[{"type":"namespace","name":"b","tools":[]}]}]}`))
	if err == nil {
		t.Error("a nested namespace was accepted")
	}
}
