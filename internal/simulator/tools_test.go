package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator/simtest"
)

func TestResponseFormats(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	whole := simtest.Chat(t, s, simtest.UserPrompt("sim-small", "List it", `,"response_format":{"type":"json_object"}`))
	var object map[string]any
	if err := json.Unmarshal([]byte(*whole.Choices[0].Message.Content), &object); err != nil || object["notice"] != "SIMULATED" {
		t.Errorf("content %s: %v", *whole.Choices[0].Message.Content, err)
	}
	schema := `{"type":"object","properties":{"steps":{"type":"array","items":{"type":"string"},"minItems":2},"answer":{"type":"number"}},"required":["steps","answer"],"additionalProperties":false}`
	whole = simtest.Chat(t, s, simtest.UserPrompt("sim-small", "Solve", fmt.Sprintf(`,"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":%s}}`, schema)))
	var solved struct {
		Steps  []string
		Answer *float64
	}
	content := *whole.Choices[0].Message.Content
	if err := json.Unmarshal([]byte(content), &solved); err != nil || len(solved.Steps) < 2 || solved.Answer == nil || !strings.Contains(content, "SIMULATED") {
		t.Errorf("content %s: %v", content, err)
	}
}

const twoTools = `,"tools":[
	{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["C","F"]},"days":{"type":"integer","minimum":3,"maximum":3}},"required":["city","unit","days"]}}},
	{"type":"function","function":{"name":"send-mail"}}]`

func TestToolChoice(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	tests := []struct {
		name, prompt, more string
		want               []string
	}{
		{"no tool named", "Hello", "", nil},
		{"by name", "Use get_weather now", "", []string{"get_weather"}},
		{"by spoken name", "Could you send mail to Ann?", "", []string{"send-mail"}},
		{"both", "get_weather, then send-mail", "", []string{"get_weather", "send-mail"}},
		{"both, but one at a time", "get_weather, then send-mail", `,"parallel_tool_calls":false`, []string{"get_weather"}},
		{"the same twice", "get weather in parallel", "", []string{"get_weather", "get_weather"}},
		{"unnamed", "Please use a tool", "", []string{"get_weather"}},
		{"none", "Use get_weather now", `,"tool_choice":"none"`, nil},
		{"auto", "Use get_weather now", `,"tool_choice":"auto"`, []string{"get_weather"}},
		{"null", "Use get_weather now", `,"tool_choice":null`, []string{"get_weather"}},
		{"required", "Hello", `,"tool_choice":"required"`, []string{"get_weather"}},
		{"required and named in the prompt", "send mail", `,"tool_choice":"required"`, []string{"send-mail"}},
		{"named", "Use get_weather", `,"tool_choice":{"type":"function","function":{"name":"send-mail"}}`, []string{"send-mail"}},
		{"allowed", "Hello", `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"send-mail"}}]}}`, []string{"send-mail"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := simtest.Chat(t, s, simtest.UserPrompt("sim-large", tt.prompt, twoTools+tt.more)).Choices[0]
			var got []string
			ids := map[string]bool{}
			for _, call := range c.Message.ToolCalls {
				got = append(got, call.Function.Name)
				ids[call.ID] = true
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if len(ids) != len(got) {
				t.Errorf("duplicate IDs in %v", c.Message.ToolCalls)
			}
			finish, content := "stop", true
			if len(tt.want) > 0 {
				finish, content = "tool_calls", false
			}
			if has := c.Message.Content != nil && *c.Message.Content != ""; c.FinishReason != finish || has != content {
				t.Errorf("finish %s, has content %t; want %s, %t", c.FinishReason, has, finish, content)
			}
		})
	}
}

func TestToolArgumentsSatisfyTheSchema(t *testing.T) {
	t.Parallel()
	calls := simtest.Chat(t, NewSimulator(Options{}), simtest.UserPrompt("sim-large", "get_weather and send-mail", twoTools)).Choices[0].Message.ToolCalls
	var weather struct {
		City string
		Unit string
		Days int
	}
	if err := json.Unmarshal([]byte(calls[0].Function.Arguments), &weather); err != nil {
		t.Fatal(err)
	}
	if weather.City == "" || (weather.Unit != "C" && weather.Unit != "F") || weather.Days != 3 {
		t.Errorf("arguments = %s", calls[0].Function.Arguments)
	}
	if got := calls[1].Function.Arguments; got != "{}" {
		t.Errorf("arguments without a schema = %s, want {}", got)
	}
}

func TestTextAfterToolResults(t *testing.T) {
	t.Parallel()
	body := `{"model":"sim-large","messages":[
		{"role":"user","content":"Use get_weather"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"21 degrees"}]` + twoTools + `}`
	c := simtest.Chat(t, NewSimulator(Options{}), body).Choices[0]
	if len(c.Message.ToolCalls) != 0 || !strings.Contains(*c.Message.Content, "21 degrees") {
		t.Errorf("message = %+v, want the tool result as text", c.Message)
	}
}

func TestCustomTool(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	more := `,"tools":[{"type":"custom","custom":{"name":"shell"}}],"tool_choice":{"type":"custom","custom":{"name":"shell"}}`
	call := simtest.Chat(t, s, simtest.UserPrompt("sim-large", "Hello", more)).Choices[0].Message.ToolCalls[0]
	if call.Type != "custom" || call.Custom.Name != "shell" || call.Custom.Input == "" || call.Function != nil {
		t.Errorf("call = %+v", call)
	}
	list, done := simtest.ChatStream(t, s, simtest.UserPrompt("sim-large", "Hello", more+`,"stream":true`))
	if !done || list[1].Choices[0].Delta.ToolCalls[0].Custom.Name != "shell" {
		t.Errorf("streamed call = %+v", list)
	}
}
