package messages

import (
	"testing"

	"fairlead.dev/internal/llm"
)

func TestDecodeRejectsMisspelledAndRepeatedKeys(t *testing.T) {
	t.Parallel()
	for body, param := range map[string]string{
		`{"Model":"b"}`: "Model",
		`{"messages":[{"role":"user","Content":"x","content":"y"}]}`:                                                                            "messages[0].Content",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"x","Text":"y"}]}]}`:                                                      "messages[0].content[0].Text",
		`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","Data":"x"}}]}]}`:                                     "messages[0].content[0].source.Data",
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x","Type":"y"}]}]}]}`: "messages[0].content[0].content[0].Type",
		`{"tools":[{"name":"a","Name":"b"}]}`:                                                                                                   "tools[0].Name",
		`{"tool_choice":{"type":"auto","Type":"any"}}`:                                                                                          "tool_choice.Type",
		`{"thinking":{"type":"enabled","Budget_tokens":5}}`:                                                                                     "thinking.Budget_tokens",
		`{"output_config":{"Effort":"low"}}`:                                                                                                    "output_config.Effort",
		`{"output_config":{"format":{"type":"json_schema","Schema":{}}}}`:                                                                       "output_config.format.Schema",
		`{"metadata":{"User_id":"x"}}`:                                                                                                          "metadata.User_id",
		`{"provider":{"Only":["x"]}}`:                                                                                                           "provider.Only",
		`{"thinking":{"type":"enabled","type":"disabled"}}`:                                                                                     "type",
		`{"messages":[{"role":"user","content":[{"type":"text","type":"x"}]}]}`:                                                                 "type",
	} {
		_, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
		if e := llm.AsError(err); err == nil || e.Kind != llm.InvalidRequest || !names(e, param) {
			t.Errorf("%s: %v, want InvalidRequest that names %s", body, err, param)
		}
	}
}

// names reports whether one of the problems listed in e concerns the given field.
func names(e *llm.Error, param string) bool {
	problems, _ := e.Details["problems"].([]map[string]string)
	for _, p := range problems {
		if p["param"] == param {
			return true
		}
	}
	return false
}
