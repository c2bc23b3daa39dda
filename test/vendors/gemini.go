package vendors

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/internal/simulator"
)

// geminiTraits describes what a family of models accepts.
type geminiTraits struct {
	names      *regexp.Regexp
	level      bool // whether reasoning with a level is accepted
	budget     bool // whether reasoning with a token budget is accepted
	signatures bool // whether calls must be sent back with their signatures
	callIDs    bool
	toolsJSON  bool // whether tools and JSON are accepted in one request
	noSystem   bool
	embeds     bool
}

// geminis lists the families. A model belongs to the first row whose pattern matches its name.
var geminis = []geminiTraits{
	{names: regexp.MustCompile(`embedding`), embeds: true},
	{names: regexp.MustCompile(`^gemini-2\.0`)},
	{names: regexp.MustCompile(`^gemini-2\.5`), budget: true},
	{names: regexp.MustCompile(`^gemini-[3-9]`), level: true, budget: true, signatures: true, callIDs: true, toolsJSON: true},
	{names: regexp.MustCompile(`^gemma-`), noSystem: true},
}

// geminiRequest is a request to the Gemini API with a valid shape.
type geminiRequest struct {
	root   gjson.Result
	traits *geminiTraits
	c      *simulator.Conversation
}

// geminiRules lists rules that the shapes cannot express. A rule returns the vendor's error message, or "".
var geminiRules = []func(q *geminiRequest) string{
	geminiContents, geminiSystem, geminiDeclarations, geminiCalling, geminiTurns, geminiSignatures, geminiConfig, geminiThinking,
}

func geminiContents(q *geminiRequest) string {
	contents := q.root.Get("contents").Array()
	if len(contents) == 0 {
		return "* GenerateContentRequest.contents: contents is not specified\n"
	}
	for i, content := range contents {
		if role := content.Get("role").String(); role != "user" && role != "model" && (role != "" || len(contents) > 1) {
			return "Please use a valid role: user, model."
		}
		if len(content.Get("parts").Array()) == 0 {
			return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		for j, p := range content.Get("parts").Array() {
			if text := p.Get("text"); text.Exists() && text.String() == "" && !p.Get("thoughtSignature").Exists() {
				return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field\n", i, j)
			}
		}
	}
	if contents[len(contents)-1].Get("role").String() == "model" {
		return "Please ensure that multiturn requests end with a user role or a function response."
	}
	return ""
}

func geminiSystem(q *geminiRequest) string {
	system := q.root.Get("systemInstruction")
	switch {
	case !system.Exists():
		return ""
	case q.traits.noSystem:
		return "Developer instruction is not enabled for models/" + q.c.Model
	case blank(q.c.System):
		return "* GenerateContentRequest.system_instruction.parts: must hold text\n"
	}
	return ""
}

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func geminiDeclarations(q *geminiRequest) string {
	names := map[string]bool{}
	for i, t := range q.root.Get("tools").Array() {
		for j, d := range t.Get("functionDeclarations").Array() {
			at := fmt.Sprintf("* GenerateContentRequest.tools[%d].function_declarations[%d]", i, j)
			name := d.Get("name").String()
			switch {
			case !geminiName.MatchString(name):
				return at + ".name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), " +
					"underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n"
			case names[name]:
				return "Duplicate function declaration found: " + name
			case d.Get("parameters").Exists() && d.Get("parametersJsonSchema").Exists():
				return at + ".parameters_json_schema: parameters and parameters_json_schema are mutually exclusive\n"
			}
			names[name] = true
			if d.Get("parameters").Exists() {
				if bad := geminiSchemaFault(at+".parameters", d.Get("parameters")); bad != "" {
					return bad
				}
			}
		}
	}
	if schema := q.root.Get("generationConfig.responseSchema"); schema.Exists() {
		return geminiSchemaFault("* GenerateContentRequest.generation_config.response_schema", schema)
	}
	return ""
}

// geminiSchemaFault returns an error message if the schema is outside the vendor's subset of OpenAPI schemas, or "".
func geminiSchemaFault(at string, s gjson.Result) string {
	kind := strings.ToUpper(s.Get("type").String())
	properties := s.Get("properties")
	switch {
	case kind == "" && !s.Get("anyOf").Exists():
		return at + ".type: must be specified\n"
	case kind == "OBJECT" && len(properties.Map()) == 0:
		return at + ".properties: should be non-empty for OBJECT type\n"
	case kind != "OBJECT" && kind != "" && properties.Exists():
		return at + ".properties: only allowed for OBJECT type\n"
	case kind == "ARRAY" && !s.Get("items").Exists():
		return at + ".items: missing field.\n"
	case kind != "STRING" && kind != "" && s.Get("enum").Exists():
		return at + ".enum: only allowed for STRING type\n"
	}
	for i, name := range s.Get("required").Array() {
		if !properties.Get(gjson.Escape(name.String())).Exists() {
			return fmt.Sprintf("%s.required[%d]: property is not defined\n", at, i)
		}
	}
	for i, value := range s.Get("enum").Array() {
		if value.String() == "" {
			return fmt.Sprintf("%s.enum[%d]: cannot be empty\n", at, i)
		}
	}
	bad := ""
	properties.ForEach(func(name, member gjson.Result) bool {
		bad = geminiSchemaFault(at+".properties["+name.String()+"]", member)
		return bad == ""
	})
	for i, member := range s.Get("anyOf").Array() {
		bad = cmp.Or(bad, geminiSchemaFault(fmt.Sprintf("%s.any_of[%d]", at, i), member))
	}
	if items := s.Get("items"); items.Exists() {
		bad = cmp.Or(bad, geminiSchemaFault(at+".items", items))
	}
	return bad
}

func geminiCalling(q *geminiRequest) string {
	config := q.root.Get("toolConfig.functionCallingConfig")
	names := config.Get("allowedFunctionNames").Array()
	switch mode := config.Get("mode").String(); {
	case mode == "ANY" && len(q.c.Tools) == 0:
		return "Function calling config is set without function_declarations."
	case len(names) > 0 && mode != "ANY" && mode != "VALIDATED":
		return "Function calling config: allowed_function_names may only be set when the mode is ANY or VALIDATED."
	}
	for _, name := range names {
		if !q.c.Offers(name.String()) {
			return fmt.Sprintf("allowed_function_names: function %q is not declared", name.String())
		}
	}
	return ""
}

// geminiTurns checks that calls and responses match.
func geminiTurns(q *geminiRequest) string {
	for i, t := range q.c.Turns {
		calls, results := t.OfKind(simulator.CallPart), t.OfKind(simulator.ResultPart)
		for j, p := range t.Parts {
			at := fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d]", i, j)
			switch {
			case p.Kind == simulator.ResultPart && p.Name == "":
				return at + ".function_response.name: Name cannot be empty.\n"
			case p.Kind == simulator.CallPart && p.Name == "":
				return at + ".function_call.name: Name cannot be empty.\n"
			case p.Kind == simulator.ResultPart && !q.root.Get(fmt.Sprintf("contents.%d.parts.%d.functionResponse.response", i, j)).IsObject():
				return at + ".function_response.response: must be an object\n"
			case p.Kind == simulator.CallPart && !t.Assistant, p.Kind == simulator.ResultPart && t.Assistant:
				return "Please ensure that function calls come from the model and function responses from the user."
			}
		}
		if len(calls) > 0 && (i == 0 || q.c.Turns[i-1].Assistant) {
			return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
		}
		var before []simulator.Part
		if i > 0 {
			before = q.c.Turns[i-1].OfKind(simulator.CallPart)
		}
		switch {
		case len(results) > 0 && len(before) == 0:
			return "Please ensure that function response turn comes immediately after a function call turn."
		case len(results) != len(before):
			return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
		}
		for _, r := range results {
			same := func(call simulator.Part) bool {
				return call.Name == r.Name && (call.ID == "" || r.ID == "" || call.ID == r.ID)
			}
			if !slices.ContainsFunc(before, same) {
				return "Please ensure that function responses answer the function calls of the previous turn: " + r.Name
			}
		}
	}
	return ""
}

// skipSignature is the signature that the vendor accepts for calls made by another model.
const skipSignature = "skip_thought_signature_validator"

// geminiSignatures checks that the signature of the first call of each step is sent back, if the model requires it.
func geminiSignatures(q *geminiRequest) string {
	for i, t := range q.c.Turns {
		for j, p := range t.OfKind(simulator.CallPart) {
			switch {
			case p.Signature == skipSignature:
			case p.Signature != "" && simulator.StandardBase64(p.Signature) != simulator.Sign(q.c.Model, p.Name):
				return "Corrupted thought signature."
			case p.Signature == "" && j == 0 && q.traits.signatures && i > q.c.LastPrompt():
				return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "+
					"and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d.", p.Name, i+1)
			}
		}
	}
	return ""
}

func geminiConfig(q *geminiRequest) string {
	config := q.root.Get("generationConfig")
	kind := config.Get("responseMimeType").String()
	shaped := config.Get("responseSchema").Exists() || config.Get("responseJsonSchema").Exists()
	switch {
	case len(q.c.Stops) > 5:
		return "* GenerateContentRequest.generation_config.stop_sequences: the number of stop sequences must not exceed 5\n"
	case slices.Contains(q.c.Stops, ""):
		return "* GenerateContentRequest.generation_config.stop_sequences: stop sequence must not be empty\n"
	case shaped && kind != "application/json" && kind != "text/x.enum":
		return "* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is application/json\n"
	case config.Get("responseSchema").Exists() && config.Get("responseJsonSchema").Exists():
		return "* GenerateContentRequest.generation_config.response_json_schema: response_schema must be omitted\n"
	case kind == "application/json" && len(q.c.Tools) > 0 && !q.traits.toolsJSON:
		return "Function calling with a response mime type: 'application/json' is unsupported"
	case config.Get("temperature").Float() < 0 || config.Get("temperature").Float() > 2:
		return "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n"
	case config.Get("candidateCount").Int() > 8:
		return "* GenerateContentRequest.generation_config.candidate_count: must be in the range [1, 8]\n"
	}
	return ""
}

func geminiThinking(q *geminiRequest) string {
	config := q.root.Get("generationConfig.thinkingConfig")
	level, budget := config.Get("thinkingLevel").Exists(), config.Get("thinkingBudget").Exists()
	switch {
	case config.Exists() && !q.traits.level && !q.traits.budget:
		return "Thinking is not enabled for models/" + q.c.Model
	case level && !q.traits.level:
		return "Thinking level is not supported for this model."
	case level && budget:
		return "You can only set only one of thinking budget and thinking level."
	case budget && config.Get("thinkingBudget").Int() < -1:
		return "The thinking budget is invalid. Please choose a value between -1 and 32768."
	}
	return ""
}
