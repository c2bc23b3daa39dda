package matrix

import (
	"encoding/json"
	"testing"
)

type object = map[string]any

// ingress is a client format: its path and the function that builds a request. build returns nil when the format cannot express the
// question.
type ingress struct {
	name, path string
	build      func(q question) object
}

var ingresses = []ingress{
	{"chat", "/chat/completions", chatRequest},
	{"messages", "/messages", messagesRequest},
	{"responses", "/responses", responsesRequest},
}

// question is one combination of the matrix.
type question struct {
	model    string
	tools    string
	effort   string
	schema   string
	sampling string
	image    bool
	stream   bool
}

// The values of each dimension. With an empty string, the request does not set the dimension.
var (
	toolForms     = []string{"", "function", "strict", "single", "none", "required", "named", "allowed", "custom", "grammar", "history"}
	efforts       = []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}
	schemas       = []string{"", "json_object", "json_schema"}
	samplingForms = []string{"", "temperature", "penalties", "limits"}
)

const (
	prompt  = "Describe the weather as json."
	system  = "You are terse. Answer in json where asked."
	picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

var (
	argumentSchema = object{
		"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"}, "additionalProperties": false,
	}
	answerSchema = object{
		"type": "object", "properties": object{"verdict": object{"type": "string"}}, "required": []string{"verdict"}, "additionalProperties": false,
	}
	otherTool = "clock"
)

// encode returns the body of a question in a format; empty when the format cannot express it.
func (i ingress) encode(t testing.TB, q question) string {
	t.Helper()
	request := i.build(q)
	if request == nil {
		return ""
	}
	return string(encode(t, request))
}

func encode(t testing.TB, value any) []byte {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func chatRequest(q question) object {
	content := []object{{"type": "text", "text": prompt}}
	if q.image {
		content = append(content, object{"type": "image_url", "image_url": object{"url": "data:image/png;base64," + picture}})
	}
	list := []object{{"role": "system", "content": system}, {"role": "user", "content": content}}
	r := object{"model": q.model}
	if q.stream {
		r["stream"] = true
	}
	if q.tools != "" {
		list = append(list, chatTools(q.tools, r)...)
	}
	r["messages"] = list
	if q.effort != "" {
		r["reasoning_effort"] = q.effort
	}
	switch q.schema {
	case "json_object":
		r["response_format"] = object{"type": "json_object"}
	case "json_schema":
		r["response_format"] = object{"type": "json_schema", "json_schema": object{"name": "verdict", "strict": true, "schema": answerSchema}}
	}
	switch q.sampling {
	case "temperature":
		r["temperature"], r["top_p"] = 0.31, 0.87
	case "penalties":
		r["presence_penalty"], r["frequency_penalty"], r["seed"], r["logit_bias"] = 0.5, 0.25, 424242, object{"50256": -100}
		r["logprobs"], r["top_logprobs"] = true, 2
	case "limits":
		r["max_tokens"], r["stop"], r["user"], r["verbosity"], r["n"] = 3000, []string{"STOP7"}, "end-user-77", "low", 1
	}
	return r
}

// chatTools adds tools to a request and returns the messages that call them.
func chatTools(form string, r object) []object {
	function := func(name string) object {
		return object{"type": "function", "function": object{"name": name, "description": "About " + name, "parameters": argumentSchema}}
	}
	custom := object{"type": "custom", "custom": object{"name": "patch", "description": "Applies a patch"}}
	r["tools"] = []object{function("weather"), function(otherTool)}
	switch form {
	case "strict":
		one := function("weather")
		one["function"].(object)["strict"] = true
		r["tools"], r["parallel_tool_calls"] = []object{one}, true
	case "single":
		r["parallel_tool_calls"] = false
	case "none", "required":
		r["tool_choice"] = form
	case "named":
		r["tool_choice"] = object{"type": "function", "function": object{"name": "weather"}}
	case "allowed":
		r["tool_choice"] = object{"type": "allowed_tools", "allowed_tools": object{
			"mode": "required", "tools": []object{{"type": "function", "function": object{"name": "weather"}}},
		}}
	case "custom":
		r["tools"], r["tool_choice"] = []object{function("weather"), custom}, "required"
	case "grammar":
		custom["custom"].(object)["format"] = object{"type": "grammar", "grammar": object{"syntax": "lark", "definition": `start: "a"`}}
		r["tools"], r["tool_choice"] = []object{custom}, object{"type": "custom", "custom": object{"name": "patch"}}
		return []object{
			{"role": "assistant", "tool_calls": []object{{"id": "call_9", "type": "custom", "custom": object{"name": "patch", "input": "a"}}}},
			{"role": "tool", "tool_call_id": "call_9", "content": "applied"},
			{"role": "user", "content": "Again, as json."},
		}
	case "history":
		call := func(id, city string) object {
			return object{"id": id, "type": "function", "function": object{"name": "weather", "arguments": `{"city":"` + city + `"}`}}
		}
		return []object{
			{"role": "assistant", "content": "I will look.", "tool_calls": []object{call("call_1", "Rome"), call("call_2", "Oslo")}},
			{"role": "tool", "tool_call_id": "call_1", "content": "21"},
			{"role": "tool", "tool_call_id": "call_2", "content": "unreachable"},
		}
	}
	return nil
}

func messagesRequest(q question) object {
	content := []object{{"type": "text", "text": prompt}}
	if q.image {
		content = append(content, object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": picture}})
	}
	list := []object{{"role": "user", "content": content}}
	r := object{"model": q.model, "system": system, "max_tokens": 30000}
	if q.stream {
		r["stream"] = true
	}
	if q.tools != "" {
		more, ok := messagesTools(q.tools, r)
		if !ok {
			return nil
		}
		list = append(list, more...)
	}
	r["messages"] = list
	output := object{}
	switch q.effort {
	case "":
	case "none":
		r["thinking"] = object{"type": "disabled"}
	case "minimal":
		r["thinking"] = object{"type": "enabled", "budget_tokens": 1024}
	case "medium":
		r["thinking"] = object{"type": "enabled", "budget_tokens": 8000}
	default:
		r["thinking"], output["effort"] = object{"type": "adaptive"}, q.effort
	}
	switch q.schema {
	case "json_object":
		return nil
	case "json_schema":
		output["format"] = object{"type": "json_schema", "schema": answerSchema}
	}
	if len(output) > 0 {
		r["output_config"] = output
	}
	switch q.sampling {
	case "temperature":
		r["temperature"] = 0.31
	case "penalties":
		r["top_p"], r["top_k"] = 0.87, 40
	case "limits":
		r["stop_sequences"], r["metadata"] = []string{"STOP7"}, object{"user_id": "end-user-77"}
		content[0]["cache_control"] = object{"type": "ephemeral"}
	}
	return r
}

func messagesTools(form string, r object) (history []object, ok bool) {
	function := func(name string) object {
		return object{"name": name, "description": "About " + name, "input_schema": argumentSchema}
	}
	r["tools"] = []object{function("weather"), function(otherTool)}
	switch form {
	case "strict":
		one := function("weather")
		one["strict"] = true
		r["tools"] = []object{one}
	case "single":
		r["tool_choice"] = object{"type": "auto", "disable_parallel_tool_use": true}
	case "none":
		r["tool_choice"] = object{"type": "none"}
	case "required":
		r["tool_choice"] = object{"type": "any"}
	case "named":
		r["tool_choice"] = object{"type": "tool", "name": "weather"}
	case "allowed", "custom", "grammar":
		return nil, false
	case "history":
		call := func(id, city string) object {
			return object{"type": "tool_use", "id": id, "name": "weather", "input": object{"city": city}}
		}
		return []object{
			{"role": "assistant", "content": []object{{"type": "text", "text": "I will look."}, call("toolu_1", "Rome"), call("toolu_2", "Oslo")}},
			{"role": "user", "content": []object{
				{"type": "tool_result", "tool_use_id": "toolu_1", "content": "21"},
				{"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": []object{{"type": "text", "text": "unreachable"}}},
			}},
		}, true
	}
	return nil, true
}

func responsesRequest(q question) object {
	content := []object{{"type": "input_text", "text": prompt}}
	if q.image {
		content = append(content, object{"type": "input_image", "image_url": "data:image/png;base64," + picture, "detail": "low"})
	}
	list := []object{{"type": "message", "role": "user", "content": content}}
	r := object{"model": q.model, "instructions": system, "store": false}
	if q.stream {
		r["stream"] = true
	}
	if q.tools != "" {
		list = append(list, responsesTools(q.tools, r)...)
	}
	r["input"] = list
	if q.effort != "" {
		r["reasoning"] = object{"effort": q.effort}
		r["include"] = []string{"reasoning.encrypted_content"}
	}
	text := object{}
	switch q.schema {
	case "json_object":
		text["format"] = object{"type": "json_object"}
	case "json_schema":
		text["format"] = object{"type": "json_schema", "name": "verdict", "strict": true, "schema": answerSchema}
	}
	switch q.sampling {
	case "temperature":
		r["temperature"], r["top_p"] = 0.31, 0.87
	case "penalties":
		r["top_logprobs"], r["include"] = 2, []string{"message.output_text.logprobs"}
	case "limits":
		r["max_output_tokens"], r["safety_identifier"], r["truncation"] = 3000, "end-user-77", "disabled"
		text["verbosity"] = "low"
	}
	if len(text) > 0 {
		r["text"] = text
	}
	return r
}

func responsesTools(form string, r object) []object {
	function := func(name string) object {
		return object{"type": "function", "name": name, "description": "About " + name, "parameters": argumentSchema, "strict": false}
	}
	custom := object{"type": "custom", "name": "patch", "description": "Applies a patch"}
	r["tools"] = []object{function("weather"), function(otherTool)}
	switch form {
	case "strict":
		one := function("weather")
		one["strict"] = true
		r["tools"], r["parallel_tool_calls"] = []object{one}, true
	case "single":
		r["parallel_tool_calls"] = false
	case "none", "required":
		r["tool_choice"] = form
	case "named":
		r["tool_choice"] = object{"type": "function", "name": "weather"}
	case "allowed":
		r["tool_choice"] = object{"type": "allowed_tools", "mode": "required", "tools": []object{{"type": "function", "name": "weather"}}}
	case "custom":
		r["tools"], r["tool_choice"] = []object{function("weather"), custom}, "required"
	case "grammar":
		custom["format"] = object{"type": "grammar", "syntax": "lark", "definition": `start: "a"`}
		r["tools"], r["tool_choice"] = []object{custom}, object{"type": "custom", "name": "patch"}
		return []object{
			{"type": "custom_tool_call", "call_id": "call_9", "name": "patch", "input": "a"},
			{"type": "custom_tool_call_output", "call_id": "call_9", "output": "applied"},
			{"type": "message", "role": "user", "content": "Again, as json."},
		}
	case "history":
		call := func(id, city string) object {
			return object{"type": "function_call", "call_id": id, "name": "weather", "arguments": `{"city":"` + city + `"}`}
		}
		return []object{
			{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": "I will look."}}},
			call("call_1", "Rome"), call("call_2", "Oslo"),
			{"type": "function_call_output", "call_id": "call_1", "output": "21"},
			{"type": "function_call_output", "call_id": "call_2", "output": "unreachable"},
		}
	}
	return nil
}
