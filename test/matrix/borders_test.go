package matrix

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/guides/providers.md")

// targets are the columns of the table: one model for each vendor API.
var targets = []struct{ title, model string }{
	{"OpenAI chat", "openai/gpt-4.1"},
	{"OpenAI responses", "openai/gpt-5.5-pro"},
	{"Anthropic", "anthropic/claude-sonnet-4-5"},
	{"Gemini", "gemini/gemini-3.8-flash"},
	{"Bedrock", "bedrock/claude-sonnet-4-5"},
}

// feature is a row of the table. Each client format has its own JSON members for the feature, or none. sent matches the
// vendor's request if the feature reached the vendor.
type feature struct {
	name  string
	sent  string
	add   map[string]string // members by format
	parts map[string]string // content of the user message by format

	omits string // text in the vendor's request; if it is missing, the feature also counts as sent
	hint  bool   // whether the feature never affects the response and may therefore be dropped without a warning
}

var features = []feature{
	{
		name: "system message", sent: `instruction-77`,
		add: map[string]string{
			"chat": `"messages":[{"role":"system","content":"instruction-77"},{"role":"user","content":"hi"}]`, "messages": `"system":"instruction-77"`,
			"responses": `"instructions":"instruction-77"`,
		},
	},
	{
		name: "image as bytes", sent: picture,
		parts: map[string]string{
			"chat":      `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}}`,
			"messages":  `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}`,
			"responses": `{"type":"input_image","image_url":"data:image/png;base64,` + picture + `"}`,
		},
	},
	{
		name: "image by URL", sent: `https://images.example/a.png`,
		parts: map[string]string{
			"chat":      `{"type":"image_url","image_url":{"url":"https://images.example/a.png"}}`,
			"messages":  `{"type":"image","source":{"type":"url","url":"https://images.example/a.png"}}`,
			"responses": `{"type":"input_image","image_url":"https://images.example/a.png"}`,
		},
	},
	{
		name: "PDF as bytes", sent: `JVBERi0xLjQK`,
		parts: map[string]string{
			"chat":      `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}`,
			"messages":  `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}`,
			"responses": `{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}`,
		},
	},
	{
		name: "audio", sent: `UklGRg`,
		parts: map[string]string{"chat": `{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`},
	},
	{
		name: "function tools", sent: `weather`,
		add: map[string]string{"chat": chatFunctions, "messages": messagesFunctions, "responses": responsesFunctions},
	},
	{
		name: "tool_choice: required", sent: `"(tool_choice|toolChoice|mode)":("required"|"ANY"|\{"type":"any"|\{"any":)`,
		add: map[string]string{
			"chat": chatFunctions + `,"tool_choice":"required"`, "messages": messagesFunctions + `,"tool_choice":{"type":"any"}`,
			"responses": responsesFunctions + `,"tool_choice":"required"`,
		},
	},
	{
		name: "tool_choice: one tool", sent: `"(tool_choice|toolChoice|allowedFunctionNames)":.{0,60}"weather"`,
		add: map[string]string{
			"chat":      chatFunctions + `,"tool_choice":{"type":"function","function":{"name":"weather"}}`,
			"messages":  messagesFunctions + `,"tool_choice":{"type":"tool","name":"weather"}`,
			"responses": responsesFunctions + `,"tool_choice":{"type":"function","name":"weather"}`,
		},
	},
	{
		name: "tool_choice: none", omits: "weather", sent: `"(tool_choice|mode)":("none"|"NONE"|\{"type":"none")`,
		add: map[string]string{
			"chat": chatFunctions + `,"tool_choice":"none"`, "messages": messagesFunctions + `,"tool_choice":{"type":"none"}`,
			"responses": responsesFunctions + `,"tool_choice":"none"`,
		},
	},
	{
		name: "tool_choice: some tools", sent: `weather`,
		add: map[string]string{
			"chat":      chatFunctions + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"weather"}}]}}`,
			"responses": responsesFunctions + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"weather"}]}`,
		},
	},
	{
		name: "one call at a time", sent: `"parallel_tool_calls":false|"disable_parallel_tool_use":true`,
		add: map[string]string{
			"chat": chatFunctions + `,"parallel_tool_calls":false`, "messages": messagesFunctions + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
			"responses": responsesFunctions + `,"parallel_tool_calls":false`,
		},
	},
	{
		name: "custom tool (free text)", sent: `patch`,
		add: map[string]string{
			"chat": `"tools":[{"type":"custom","custom":{"name":"patch"}}]`, "responses": `"tools":[{"type":"custom","name":"patch"}]`,
		},
	},
	{
		name: "custom tool with a grammar", sent: `start: \\"a`,
		add: map[string]string{
			"chat":      `"tools":[{"type":"custom","custom":{"name":"patch","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"a\""}}}}]`,
			"responses": `"tools":[{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}}]`,
		},
	},
	{
		name: "web search by the provider", sent: `web_search|googleSearch`,
		add: map[string]string{
			"messages": `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, "responses": `"tools":[{"type":"web_search"}]`,
		},
	},
	{
		name: "code interpreter of the provider", sent: `code_interpreter|codeExecution|code_execution`,
		add: map[string]string{
			"messages": `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`, "responses": `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`,
		},
	},
	{
		name: "JSON mode", sent: `json_object|application/json|one JSON object`,
		add: map[string]string{"chat": `"response_format":{"type":"json_object"}`, "responses": `"text":{"format":{"type":"json_object"}}`},
	},
	{
		name: "JSON schema", sent: `verdict`,
		add: map[string]string{
			"chat":      `"response_format":{"type":"json_schema","json_schema":{"name":"v","strict":true,"schema":` + verdictSchema + `}}`,
			"messages":  `"output_config":{"format":{"type":"json_schema","schema":` + verdictSchema + `}}`,
			"responses": `"text":{"format":{"type":"json_schema","name":"v","strict":true,"schema":` + verdictSchema + `}}`,
		},
	},
	{
		name: "reasoning effort", sent: `effort|thinking`,
		add: map[string]string{
			"chat": `"reasoning_effort":"high"`, "messages": `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`, "responses": `"reasoning":{"effort":"high"}`,
		},
	},
	{name: "thinking budget", sent: `budget_tokens|thinkingBudget|effort`, add: map[string]string{"messages": `"thinking":{"type":"enabled","budget_tokens":4000}`}},
	{
		name: "output limit", sent: `2999`,
		add: map[string]string{"chat": `"max_tokens":2999`, "messages": `"max_tokens":2999`, "responses": `"max_output_tokens":2999`},
	},
	{
		name: "temperature", sent: `0\.31`,
		add: map[string]string{"chat": `"temperature":0.31`, "messages": `"temperature":0.31`, "responses": `"temperature":0.31`},
	},
	{name: "top_p", sent: `0\.87`, add: map[string]string{"chat": `"top_p":0.87`, "messages": `"top_p":0.87`, "responses": `"top_p":0.87`}},
	{name: "top_k", sent: `41`, add: map[string]string{"chat": `"top_k":41`, "messages": `"top_k":41`}},
	{name: "presence and frequency penalty", sent: `0\.53.*0\.27|0\.27.*0\.53`, add: map[string]string{"chat": `"presence_penalty":0.53,"frequency_penalty":0.27`}},
	{name: "seed", sent: `424242`, add: map[string]string{"chat": `"seed":424242`}},
	{name: "logit_bias", sent: `50256`, add: map[string]string{"chat": `"logit_bias":{"50256":-100}`}},
	{
		name: "log probabilities", sent: `(?i)logprobs`,
		add: map[string]string{"chat": `"logprobs":true,"top_logprobs":2`, "responses": `"top_logprobs":2,"include":["message.output_text.logprobs"]`},
	},
	{name: "several choices (`n`)", sent: `"(n|candidateCount)":2`, add: map[string]string{"chat": `"n":2`}},
	{name: "stop sequences", sent: `STOP7`, add: map[string]string{"chat": `"stop":["STOP7"]`, "messages": `"stop_sequences":["STOP7"]`}},
	{name: "verbosity", hint: true, sent: `"verbosity":"low"`, add: map[string]string{"chat": `"verbosity":"low"`, "responses": `"text":{"verbosity":"low"}`}},
	{
		name: "end user", hint: true, sent: `end-user-77`,
		add: map[string]string{"chat": `"user":"end-user-77"`, "messages": `"metadata":{"user_id":"end-user-77"}`, "responses": `"safety_identifier":"end-user-77"`},
	},
	{
		name: "cache marker", hint: true, sent: `cache_control|cachePoint|prompt_cache_breakpoint`,
		parts: map[string]string{"messages": `{"type":"text","text":"long","cache_control":{"type":"ephemeral"}}`},
	},
	{
		name: "citations of a document", sent: `"citations":\{"enabled":true\}`,
		parts: map[string]string{"messages": `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"The sky is blue."},"citations":{"enabled":true}}`},
	},
	{
		name: "bash, text editor and memory", sent: `"bash.*"str_replace.*"memory`,
		add: map[string]string{"messages": `"tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"},{"type":"memory_20250818","name":"memory"}]`},
	},
	{
		name: "search result", sent: `The sky is blue`,
		parts: map[string]string{"messages": `{"type":"search_result","source":"https://example.com","title":"Sky","content":[{"type":"text","text":"The sky is blue."}]}`},
	},
	{
		name: "reference to a deferred tool", sent: `"tool_reference"|The tool weather is available`,
		add: map[string]string{"messages": `"tools":[{"name":"weather","defer_loading":true,"input_schema":` + toolSchema + `},{"name":"search","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"search","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"tool_reference","tool_name":"weather"}]}]}]`},
	},
	{
		name: "failed tool result", hint: true, sent: `"is_error":true|"status":"error"|"error":`,
		add: map[string]string{"messages": messagesFunctions + `,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"lost"}]}]`},
	},
}

const (
	toolSchema         = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	verdictSchema      = `{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"],"additionalProperties":false}`
	chatFunctions      = `"tools":[{"type":"function","function":{"name":"weather","parameters":` + toolSchema + `}}]`
	messagesFunctions  = `"tools":[{"name":"weather","input_schema":` + toolSchema + `}]`
	responsesFunctions = `"tools":[{"type":"function","name":"weather","parameters":` + toolSchema + `,"strict":false}]`
)

// body returns a request with the feature; empty when the format has no members for it.
func (f feature) body(format, model, more string) string {
	add, part := f.add[format], f.parts[format]
	if add == "" && part == "" {
		return ""
	}
	head := `{"model":"` + model + `"` + more
	text := map[string]string{"chat": "text", "messages": "text", "responses": "input_text"}[format]
	content := `[{"type":"` + text + `","text":"Answer in json."}`
	if part != "" {
		content += "," + part
	}
	message := `[{"role":"user","content":` + content + `]}]`
	if add != "" {
		head += "," + add
	}
	if format == "messages" && !strings.Contains(add, "max_tokens") {
		head += `,"max_tokens":9000`
	}
	switch {
	case strings.Contains(add, `"messages":`):
		return head + `}`
	case format == "responses":
		return head + `,"input":` + message + `}`
	}
	return head + `,"messages":` + message + `}`
}

// Results in the cells of the table.
const (
	kept     = "✓"
	warned   = "warning"
	rejected = "rejected"
	ignored  = "ignored"
	none     = "–"
)

// cross sends a request with the feature in one client format to one model, and returns the result for the table.
func cross(t *testing.T, w *deployment, in ingress, f feature, model string) string {
	t.Helper()
	body := f.body(in.name, model, "")
	if body == "" {
		return none
	}
	o := w.post(t, in.path, body)
	strict := w.post(t, in.path, f.body(in.name, model, `,"provider":{"require_parameters":true}`))
	notSent := strict.sent == nil && rejectionReason(strict) != ""
	switch {
	case o.sent != nil && o.sent.Refused != "" && notSent: // a model that the request names is called even if the catalog does not list the required ability
		return rejected
	case o.sent == nil && rejectionReason(o) != "":
		return rejected
	case o.status != 200 || o.sent == nil || o.sent.Refused != "":
		t.Errorf("%s from %s to %s: got status %d, want a response or a rejection with a reason\n  for: %s\n  got: %.300s\n  sent: %v",
			f.name, in.name, model, o.status, body, o.body, o.sent != nil)
		return "?"
	}
	arrived := regexp.MustCompile(f.sent).Match(o.sent.Body) || f.omits != "" && !bytes.Contains(o.sent.Body, []byte(f.omits))
	switch {
	case arrived && o.warnings == "":
		return kept
	case o.warnings == "" && f.hint:
		return ignored
	case o.warnings == "":
		t.Errorf("%s from %s to %s was dropped without a warning\n  for: %s\n  sent: %s", f.name, in.name, model, body, o.sent.Body)
	case !notSent:
		t.Errorf("%s from %s to %s changes the request (%s), but require_parameters does not reject it: %d %.200s", f.name, in.name, model, o.warnings, strict.status, strict.body)
	}
	return warned
}

// TestBordersAreDocumented compares the table in the guide with the features that reach each vendor from each client format. Run it
// with -update to write the table.
func TestBordersAreDocumented(t *testing.T) {
	t.Parallel()
	w := newDeployment(t)
	var table bytes.Buffer
	for _, in := range ingresses {
		fmt.Fprintf(&table, "\nFrom `POST /proxy/v1%s`:\n\n| feature |", in.path)
		for _, to := range targets {
			fmt.Fprintf(&table, " %s |", to.title)
		}
		fmt.Fprintf(&table, "\n|---|%s\n", strings.Repeat("---|", len(targets)))
		for _, f := range features {
			if f.body(in.name, "", "") == "" {
				continue
			}
			fmt.Fprintf(&table, "| %s |", f.name)
			for _, to := range targets {
				fmt.Fprintf(&table, " %s |", cross(t, w, in, f, to.model))
			}
			table.WriteByte('\n')
		}
	}
	table.WriteByte('\n')
	compareSection(t, "../../docs/guides/providers.md", "borders", table.String())
}

// compareSection compares the text between the markers of a page with want, or writes it with -update.
func compareSection(t *testing.T, path, name, want string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": generated by test/matrix, update with -update -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(string(page), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lacks the markers of the section %q", path, name)
	}
	switch {
	case got == want:
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date. Run: go test ./test/matrix -run Borders -update\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
