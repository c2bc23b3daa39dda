package simulator

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ask sends a chat request with one user message to a simulator. more holds further members, each preceded by a comma.
func ask(t *testing.T, model, prompt, more string) (*http.Response, node) {
	t.Helper()
	resp := post(t, NewSimulator(Options{}), "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"`+prompt+`"}]`+more+`}`)
	body, _ := readAll(resp)
	return resp, parseNode([]byte(body))
}

func TestSimulatedModels(t *testing.T) {
	t.Parallel()
	const weather = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	for name, tt := range map[string]struct{ model, prompt, more, content, finish string }{
		"plain":            {"sim-large", "Hello", "", "This is a simulated answer to “Hello” from sim-large. Connect a provider to get real ones.", "stop"},
		"limit":            {"sim-large", "Hello", `,"max_tokens":2`, "This is ", "length"},
		"stop":             {"sim-large", "Hello", `,"stop":" answer"`, "This is a simulated", "stop"},
		"JSON":             {"sim-small", "Hello", `,"response_format":{"type":"json_object"}`, `{"answer":"This is a simulated answer to “Hello” from sim-small. Connect a provider to get real ones."}`, "stop"},
		"tool not asked":   {"sim-small", "Hello", weather, "This is a simulated answer to “Hello” from sim-small. Connect a provider to get real ones.", "stop"},
		"tool by name":     {"sim-small", "Use get weather.", weather, "", "tool_calls"},
		"tool required":    {"sim-small", "Hello", weather + `,"tool_choice":"required"`, "", "tool_calls"},
		"tool not allowed": {"sim-small", "Hello", weather + `,"tool_choice":"none"`, "This is a simulated answer to “Hello” from sim-small. Connect a provider to get real ones.", "stop"},
	} {
		_, got := ask(t, tt.model, tt.prompt, tt.more)
		choice := got.get("choices", "0")
		if choice.get("message", "content").text() != tt.content || choice.get("finish_reason").text() != tt.finish {
			t.Errorf("%s: choice %s, want %q and %s", name, choice.raw(), tt.content, tt.finish)
		}
		if call := choice.get("message", "tool_calls", "0", "function"); tt.finish == "tool_calls" && call.get("arguments").text() != `{"city":"simulated city"}` {
			t.Errorf("%s: call %s", name, call.raw())
		}
		if u := got.get("usage"); u.get("total_tokens").number() != u.get("prompt_tokens").number()+u.get("completion_tokens").number() || u.get("completion_tokens").number() == 0 {
			t.Errorf("%s: usage %s", name, u.raw())
		}
	}
	if _, got := ask(t, "sim-reasoner", "Hello", ""); got.get("usage", "completion_tokens_details", "reasoning_tokens").number() == 0 {
		t.Errorf("sim-reasoner has no reasoning: %s", got.raw())
	}
}

func TestSimulatedFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"500": "500 Internal Server Error", "500@sim-large": "200 OK", "x@sim-large,429": "429 Too Many Requests", "empty": "200 OK", "html": "200 OK",
		"content_filter": "400 Bad Request", "cut": "200 OK", "none": "400 Bad Request",
	} {
		resp, got := ask(t, "sim-small", "Hello", `,"metadata":{"simulate":"`+fault+`"}`)
		if resp.Status != want || (want == "200 OK") != !got.get("error").exists() {
			t.Errorf("%s: got %s %s, want %s", fault, resp.Status, got.raw(), want)
		}
	}
	for model, want := range map[string]int{"sim-none": http.StatusNotFound, "sim-embed-small": http.StatusBadRequest} {
		if resp, _ := ask(t, model, "Hello", ""); resp.StatusCode != want {
			t.Errorf("%s: got %s, want %d", model, resp.Status, want)
		}
	}
}

func TestSimulatedPromptCache(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	system := `{"role":"system","content":"` + strings.Repeat("rule ", 1000) + `"},`
	var cached []int
	for _, prompt := range []string{"one", "two"} {
		body, _ := readAll(post(t, s, "/v1/chat/completions", `{"model":"sim-large","messages":[`+system+`{"role":"user","content":"`+prompt+`"}]}`))
		cached = append(cached, parseNode([]byte(body)).get("usage", "prompt_tokens_details", "cached_tokens").number())
	}
	if cached[0] != 0 || cached[1] != 1250 {
		t.Errorf("cached tokens are %v, want 0 and 1250", cached)
	}
}

func TestEmbeddingsOfSimilarTextsAreSimilar(t *testing.T) {
	t.Parallel()
	product := func(a, b string) (sum float32) {
		for i, v := range vector(a, 1536) {
			sum += v * vector(b, 1536)[i]
		}
		return sum
	}
	if same, near, far := product("a red boat", "a red boat"), product("a red boat", "a blue boat"), product("a red boat", "tax law"); same < 0.999 || near < far+0.2 {
		t.Errorf("products are %v, %v and %v, want 1 and less for fewer common words", same, near, far)
	}
}

func TestSamplesMatchTheirSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":20},"b":{"enum":["x","y"]}},"required":["a","b"],"additionalProperties":false}`,
		`{"type":"object","properties":{"steps":{"type":"array","minItems":2,"items":{"$ref":"#/$defs/step"}}},"required":["steps"],"$defs":{"step":{"type":"object","properties":{"n":{"type":"integer","minimum":5,"multipleOf":3},"next":{"anyOf":[{"$ref":"#/$defs/step"},{"type":"null"}]}},"required":["n","next"]}}}`,
		`{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"number","exclusiveMaximum":0}}},{"required":["b"],"properties":{"b":{"type":["null","boolean"]}}}]}`,
		`{"type":"array","prefixItems":[{"const":1},{"type":"string","format":"date"}],"minItems":2}`,
	} {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("schema.json", document); err != nil {
			t.Fatal(err)
		}
		var sample any
		if err := json.Unmarshal(Sample(json.RawMessage(schema)), &sample); err != nil {
			t.Fatal(err)
		}
		if err := compiler.MustCompile("schema.json").Validate(sample); err != nil {
			t.Errorf("sample %v: %v", sample, err)
		}
	}
}
