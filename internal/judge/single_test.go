package judge

import (
	"strings"
	"testing"
)

func TestCheckResponseAppliesTheChecksOfTheRequest(t *testing.T) {
	t.Parallel()
	const (
		person  = `{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}}}`
		object  = `{"response_format":{"type":"json_object"}}`
		invalid = `{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"nothing"}}}}`
		weather = `{"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","required":["city"]}}},{"type":"custom","custom":{"name":"note"}}]}`
	)
	forced := strings.TrimSuffix(weather, "}") + `,"tool_choice":"required"}`
	named := strings.TrimSuffix(weather, "}") + `,"tool_choice":{"type":"function","function":{"name":"weather"}}}`
	call := func(name, arguments string) Response { return Response{Calls: []Call{{name, arguments}}} }
	all := []string{Schema, Tools, Code}
	for name, tc := range map[string]struct {
		request  string
		response Response
		checks   []string
		want     Result
	}{
		"matches the schema":          {person, Response{Text: `{"name":"Ada"}`}, all, Result{Applied: true}},
		"does not match the schema":   {person, Response{Text: `{"nam":"Ada"}`}, all, Result{true, Schema, "The response does not match the JSON schema of the request."}},
		"is not JSON":                 {object, Response{Text: `{"name":`}, all, Result{true, Schema, "The response is not valid JSON."}},
		"check not listed":            {person, Response{Text: `{}`}, []string{Tools}, Result{}},
		"invalid schema":              {invalid, Response{Text: `{}`}, all, Result{}},
		"no format":                   {`{}`, Response{Text: `hello`}, all, Result{}},
		"a call before the JSON":      {person, call("weather", "{}"), []string{Schema}, Result{}},
		"valid call":                  {weather, call("weather", `{"city":"Bern"}`), all, Result{Applied: true}},
		"free text tool":              {weather, call("note", `no JSON`), all, Result{Applied: true}},
		"unknown tool":                {weather, call("wether", `{"city":"Bern"}`), all, Result{true, Tools, "The response calls a tool that the request does not have."}},
		"invalid arguments":           {weather, call("weather", `{"town":"Bern"}`), all, Result{true, Tools, "The arguments of a tool call do not match the schema of the tool."}},
		"tool of a vendor":            {`{"tools":[{"type":"bash_20250124","name":"bash"}]}`, call("bash", `{}`), all, Result{Applied: true}},
		"text instead of a call":      {weather, Response{Text: "Which city?"}, all, Result{}},
		"text instead of a must call": {forced, Response{Text: "Which city?"}, all, Result{true, Tools, "The response has no tool call although the request requires one."}},
		"another tool":                {named, call("note", ""), all, Result{true, Tools, "The response calls a different tool than the request requires."}},
		"code parses":                 {`{}`, Response{Text: "```go\nx := 1\n```"}, all, Result{Applied: true}},
		"code does not parse":         {`{}`, Response{Text: "```go\nx := = 1\n```"}, all, Result{true, Code, "The response has a code block that does not parse as go."}},
		"unknown language":            {`{}`, Response{Text: "```cobol\nMOVE\n```"}, all, Result{}},
	} {
		if got := CheckResponse([]byte(tc.request), tc.response, tc.checks); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestSchemaWorkIsBounded uses schemas that visit a value about 2^60 times.
func TestSchemaWorkIsBounded(t *testing.T) {
	t.Parallel()
	var flat strings.Builder
	flat.WriteString(`{"$ref":"#/$defs/d0","$defs":{"d60":{"type":"object"}`)
	for i := range 60 {
		next := string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10))
		next = strings.TrimPrefix(next, "0")
		this := strings.TrimPrefix(string(rune('0'+i/10))+string(rune('0'+i%10)), "0")
		if this == "" {
			this = "0"
		}
		flat.WriteString(`,"d` + this + `":{"allOf":[{"$ref":"#/$defs/d` + next + `"},{"$ref":"#/$defs/d` + next + `"}]}`)
	}
	flat.WriteString(`}}`)
	nested := `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["z"]},{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["y"]}]}}}`
	for name, tc := range map[string]struct{ schema, text string }{
		"references":     {flat.String(), `{}`},
		"nested objects": {nested, strings.Repeat(`{"a":`, 60) + `{}` + strings.Repeat(`}`, 60)},
	} {
		request := `{"response_format":{"type":"json_schema","json_schema":{"schema":` + tc.schema + `}}}`
		if got := CheckResponse([]byte(request), Response{Text: tc.text}, []string{Schema}); got.Failed != "" {
			t.Errorf("%s: %+v, want no failed check", name, got)
		}
	}
}
