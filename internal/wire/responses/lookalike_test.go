package responses

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
)

func TestDecodeRejectsMisspelledAndRepeatedKeys(t *testing.T) {
	t.Parallel()
	for body, param := range map[string]string{
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

func TestDecodeRejectsTooManyItems(t *testing.T) {
	t.Parallel()
	for name, item := range map[string]string{
		"messages": `{"role":"user","content":"x"},`,
		"numbers":  `1,`,
	} {
		body := `{"model":"m","input":[` + strings.Repeat(item, strict.MaxElements+1) + `1]}`
		_, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
		if e := llm.AsError(err); err == nil || e.Kind != llm.InvalidRequest || e.Param != "input" || !strings.Contains(e.Message, "more than") {
			t.Errorf("%s: %v, want InvalidRequest for input", name, err)
		}
	}
}
