package matrix

import (
	"encoding/json"
	"strings"
	"testing"
)

type object = map[string]any

// ingress is a client format: its path, a request with an image and a prompt, and the content of the image.
type ingress struct{ name, path, base, image string }

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

var ingresses = []ingress{
	{
		"chat", "/chat/completions",
		`{"messages":[{"role":"system","content":"Be terse."},{"role":"user","content":[IMAGE{"type":"text","text":"The weather as json."}]}]}`,
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}},`,
	},
	{
		"messages", "/messages",
		`{"system":"Be terse.","max_tokens":30000,"messages":[{"role":"user","content":[IMAGE{"type":"text","text":"The weather as json."}]}]}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}},`,
	},
	{
		"responses", "/responses",
		`{"instructions":"Be terse.","store":false,"input":[{"type":"message","role":"user","content":[IMAGE{"type":"input_text","text":"The weather as json."}]}]}`,
		`{"type":"input_image","detail":"low","image_url":"data:image/png;base64,` + picture + `"},`,
	},
}

// option is a value of a dimension: the JSON members that set it in each format, or "-" when the format cannot express it. Objects are
// merged, and messages are appended to those of the request.
type option struct{ chat, messages, responses string }

const (
	chatTools      = `"tools":[{"type":"function","function":{"name":"weather","parameters":` + toolSchema + `}},{"type":"function","function":{"name":"clock","parameters":` + toolSchema + `}}]`
	messagesTools  = `"tools":[{"name":"weather","input_schema":` + toolSchema + `},{"name":"clock","input_schema":` + toolSchema + `}]`
	responsesTools = `"tools":[{"type":"function","name":"weather","parameters":` + toolSchema + `,"strict":false},{"type":"function","name":"clock","parameters":` + toolSchema + `,"strict":false}]`
)

var toolForms = []option{
	{},
	{chatTools, messagesTools, responsesTools},
	{ // a strict tool
		`"parallel_tool_calls":true,"tools":[{"type":"function","function":{"name":"weather","strict":true,"parameters":` + toolSchema + `}}]`,
		`"tools":[{"name":"weather","strict":true,"input_schema":` + toolSchema + `}]`,
		`"parallel_tool_calls":true,"tools":[{"type":"function","name":"weather","strict":true,"parameters":` + toolSchema + `}]`,
	},
	{chatTools + `,"parallel_tool_calls":false`, messagesTools + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, responsesTools + `,"parallel_tool_calls":false`},
	{chatTools + `,"tool_choice":"none"`, messagesTools + `,"tool_choice":{"type":"none"}`, responsesTools + `,"tool_choice":"none"`},
	{chatTools + `,"tool_choice":"required"`, messagesTools + `,"tool_choice":{"type":"any"}`, responsesTools + `,"tool_choice":"required"`},
	{
		chatTools + `,"tool_choice":{"type":"function","function":{"name":"weather"}}`, messagesTools + `,"tool_choice":{"type":"tool","name":"weather"}`,
		responsesTools + `,"tool_choice":{"type":"function","name":"weather"}`,
	},
	{
		chatTools + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"weather"}}]}}`, "-",
		responsesTools + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"weather"}]}`,
	},
	{
		`"tool_choice":"required","tools":[{"type":"custom","custom":{"name":"patch","description":"Applies a patch"}}]`, "-",
		`"tool_choice":"required","tools":[{"type":"custom","name":"patch","description":"Applies a patch"}]`,
	},
	{ // a custom tool with a grammar, and an earlier call of it
		`"tools":[{"type":"custom","custom":{"name":"patch","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"a\""}}}}],"tool_choice":{"type":"custom","custom":{"name":"patch"}},` +
			`"messages":[{"role":"assistant","tool_calls":[{"id":"call_9","type":"custom","custom":{"name":"patch","input":"a"}}]},{"role":"tool","tool_call_id":"call_9","content":"applied"},{"role":"user","content":"Again, as json."}]`,
		"-",
		`"tools":[{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}}],"tool_choice":{"type":"custom","name":"patch"},` +
			`"input":[{"type":"custom_tool_call","call_id":"call_9","name":"patch","input":"a"},{"type":"custom_tool_call_output","call_id":"call_9","output":"applied"},{"type":"message","role":"user","content":"Again, as json."}]`,
	},
	{ // two earlier calls
		chatTools + `,"messages":[{"role":"assistant","content":"I will look.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}},{"id":"call_2","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},` +
			`{"role":"tool","tool_call_id":"call_1","content":"21"},{"role":"tool","tool_call_id":"call_2","content":"unreachable"}]`,
		messagesTools + `,"messages":[{"role":"assistant","content":[{"type":"text","text":"I will look."},{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Rome"}},{"type":"tool_use","id":"toolu_2","name":"weather","input":{"city":"Oslo"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"21"},{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":[{"type":"text","text":"unreachable"}]}]}]`,
		responsesTools + `,"input":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I will look."}]},{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"city\":\"Rome\"}"},{"type":"function_call","call_id":"call_2","name":"weather","arguments":"{\"city\":\"Oslo\"}"},` +
			`{"type":"function_call_output","call_id":"call_1","output":"21"},{"type":"function_call_output","call_id":"call_2","output":"unreachable"}]`,
	},
}

var schemas = []option{
	{},
	{`"response_format":{"type":"json_object"}`, "-", `"text":{"format":{"type":"json_object"}}`},
	{
		`"response_format":{"type":"json_schema","json_schema":{"name":"v","strict":true,"schema":` + verdictSchema + `}}`,
		`"output_config":{"format":{"type":"json_schema","schema":` + verdictSchema + `}}`,
		`"text":{"format":{"type":"json_schema","name":"v","strict":true,"schema":` + verdictSchema + `}}`,
	},
}

var samplingForms = []option{
	{},
	{`"temperature":0.31,"top_p":0.87`, `"temperature":0.31`, `"temperature":0.31,"top_p":0.87`},
	{
		`"presence_penalty":0.5,"frequency_penalty":0.25,"seed":424242,"logit_bias":{"50256":-100},"logprobs":true,"top_logprobs":2`,
		`"top_p":0.87,"top_k":40`, `"top_logprobs":2,"include":["message.output_text.logprobs"]`,
	},
	{
		`"max_tokens":3000,"stop":["STOP7"],"user":"end-user-77","verbosity":"low","n":1`, `"stop_sequences":["STOP7"],"metadata":{"user_id":"end-user-77"}`,
		`"max_output_tokens":3000,"safety_identifier":"end-user-77","truncation":"disabled","text":{"verbosity":"low"}`,
	},
}

// efforts returns the values of the reasoning effort.
func efforts() []option {
	list := []option{{}}
	for _, effort := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
		thinking := `"thinking":{"type":"adaptive"},"output_config":{"effort":"` + effort + `"}`
		switch effort {
		case "none":
			thinking = `"thinking":{"type":"disabled"}`
		case "minimal":
			thinking = `"thinking":{"type":"enabled","budget_tokens":1024}`
		case "medium":
			thinking = `"thinking":{"type":"enabled","budget_tokens":8000}`
		}
		list = append(list, option{
			`"reasoning_effort":"` + effort + `"`, thinking, `"reasoning":{"effort":"` + effort + `"},"include":["reasoning.encrypted_content"]`,
		})
	}
	return list
}

// question is one combination of the matrix.
type question struct {
	model   string
	options []option
	image   bool
	stream  bool
}

// encode returns the body of a question in a format; empty when the format cannot express it.
func (i ingress) encode(t testing.TB, q question) string {
	t.Helper()
	image := ""
	if q.image {
		image = i.image
	}
	r := parse(t, strings.Replace(i.base, "IMAGE", image, 1))
	r["model"], r["stream"] = q.model, q.stream
	for _, o := range q.options {
		members := map[string]string{"chat": o.chat, "messages": o.messages, "responses": o.responses}[i.name]
		if members == "-" {
			return ""
		}
		merge(r, parse(t, "{"+members+"}"))
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func parse(t testing.TB, text string) (r object) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return r
}

func merge(into, from object) {
	for name, value := range from {
		inner, isObject := into[name].(object)
		list, isList := into[name].([]any)
		switch {
		case isObject:
			merge(inner, value.(object))
		case isList && (name == "messages" || name == "input"):
			into[name] = append(list, value.([]any)...)
		default:
			into[name] = value
		}
	}
}
