package wire_test

import (
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/responses"
)

func TestDecodeRejectsMisspelledAndRepeatedKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format wire.Format
		bodies map[string]string
	}{
		{anthropic.Format{}, map[string]string{
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
		}},
		{responses.Format{}, map[string]string{
			`{"Model":"b"}`:              "Model",
			`{"Max_Output_Tokens":5}`:    "Max_Output_Tokens",
			`{"Previous_response_id":1}`: "Previous_response_id",
			`{"input":[{"role":"user","content":"x","Content":"y"}]}`:                                                        "input[0].Content",
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"x","TEXT":"y"}]}]}`:                            "input[0].content[0].TEXT",
			`{"input":[{"type":"function_call_output","call_id":"a","Output":"x"}]}`:                                         "input[0].Output",
			`{"input":[{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x","Type":1}]}]}`: "input[0].output[0].Type",
			`{"tools":[{"type":"function","name":"a","Name":"b"}]}`:                                                          "tools[0].Name",
			`{"tool_choice":{"type":"function","name":"a","Type":"x"}}`:                                                      "tool_choice.Type",
			`{"text":{"Format":{}}}`: "text.Format",
			`{"text":{"format":{"type":"json_schema","schema":{},"Schema":{}}}}`: "text.format.Schema",
			`{"reasoning":{"Effort":"low"}}`:                                     "reasoning.Effort",
			`{"provider":{"Only":["x"]}}`:                                        "provider.Only",
			`{"provider":{"max_price":{"Prompt":1}}}`:                            "provider.max_price.Prompt",
			`{"reasoning":{"effort":"low","effort":"high"}}`:                     "effort",
			`{"input":[{"role":"user","role":"system","content":"x"}]}`:          "role",
		}},
	} {
		for body, param := range tc.bodies {
			_, err := tc.format.DecodeRequest(t.Context(), llm.Chat, []byte(body))
			if e := llm.AsError(err); err == nil || e.Kind != llm.InvalidRequest || !names(e, param) {
				t.Errorf("%s: %s: %v, want InvalidRequest that names %s", tc.format.Name(), body, err, param)
			}
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
