package judge

import (
	"encoding/json"
	"slices"

	"fairlead.dev/internal/rawjson"
)

// Result is the result of checking one response.
type Result struct {
	Applied bool   // whether at least one check applies to the response
	Failed  string // first check that failed; empty if none failed
	Reason  string // reason why the check failed, without text from the response
}

// CheckResponse applies the given checks, any of Schema, Tools and Code, to the response r. Both the request and the response are in the
// chat format. A check that does not apply to the response counts as passed.
func CheckResponse(request []byte, r Response, checks []string) (result Result) {
	for _, c := range []struct {
		name  string
		check func(request []byte, r Response) (applies bool, failure string)
	}{{Schema, matchesSchema}, {Tools, callsTools}, {Code, hasValidCode}} {
		if !slices.Contains(checks, c.name) {
			continue
		}
		applies, failure := c.check(request, r)
		result.Applied = result.Applied || applies
		if failure != "" {
			result.Failed, result.Reason = c.name, failure
			return result
		}
	}
	return result
}

// matchesSchema checks a response to a request for JSON. It does not apply to a response that calls tools, because that response is not
// final.
func matchesSchema(request []byte, r Response) (applies bool, failure string) {
	format := rawjson.Get(request, "response_format")
	var schema json.RawMessage
	switch format.Get("type").String() {
	case "json_object":
	case "json_schema":
		schema = []byte(format.Get("json_schema.schema").Raw)
	default:
		return false, ""
	}
	if len(r.Calls) > 0 {
		return false, ""
	}
	matches, ok := compile(schema)
	switch {
	case !ok:
		return false, ""
	case !json.Valid([]byte(r.Text)):
		return true, "The response is not valid JSON."
	case !matches([]byte(r.Text)):
		return true, "The response does not match the JSON schema of the request."
	}
	return true, ""
}

// callsTools checks the tool calls of a response. A response without calls fails if the request requires one.
func callsTools(request []byte, r Response) (applies bool, failure string) {
	choice := rawjson.Get(request, "tool_choice")
	required := choice.Get("function.name").String()
	if len(r.Calls) == 0 {
		if required != "" || choice.String() == "required" {
			return true, "The response has no tool call although the request requires one."
		}
		return false, ""
	}
	schemas, tools := toolSchemas(request), len(rawjson.Get(request, "tools").List())
	for _, c := range r.Calls {
		schema, known := schemas[c.Name]
		switch matches, ok := compile(schema); {
		case !known && tools > len(schemas): // vendor tools, whose names are unknown here
		case !known:
			return true, "The response calls a tool that the request does not have."
		case required != "" && c.Name != required:
			return true, "The response calls a different tool than the request requires."
		case schema == nil || !ok:
		case !matches([]byte(c.Arguments)):
			return true, "The arguments of a tool call do not match the schema of the tool."
		}
	}
	return true, ""
}

// hasValidCode checks code blocks in JSON and Go.
func hasValidCode(_ []byte, r Response) (applies bool, failure string) {
	blocks := codeBlocks(r.Text)
	for _, language := range []string{"json", "go"} {
		for _, block := range blocks[language] {
			applies = true
			if !parses(language, block) {
				return true, "The response has a code block that does not parse as " + language + "."
			}
		}
	}
	return applies, ""
}
