package judge

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairlead.dev/internal/rawjson"
)

// Check compares the responses without a model. It reports false when no check decides.
func Check(x *Exchange) (Verdict, bool) {
	for _, check := range []func(*Exchange) (Verdict, bool){checkSchema, checkTools, checkExact, checkCode} {
		if v, ok := check(x); ok {
			return v, true
		}
	}
	return Verdict{}, false
}

// prefer returns a verdict for the response that passed. It reports false if both or neither passed.
func prefer(method string, routed, baseline bool, failure string) (Verdict, bool) {
	switch {
	case routed == baseline:
		return Verdict{}, false
	case routed:
		return Verdict{1, method, "The baseline response " + failure + "."}, true
	default:
		return Verdict{-1, method, "The routed response " + failure + "."}, true
	}
}

// checkSchema applies to requests for JSON. A response that does not match the schema loses. Equal documents are a tie, and so
// are two responses that do not match.
func checkSchema(x *Exchange) (Verdict, bool) {
	format := rawjson.Get(x.Request, "response_format")
	var schema json.RawMessage
	switch format.Get("type").String() {
	case "json_object":
	case "json_schema":
		schema = []byte(format.Get("json_schema.schema").Raw)
	default:
		return Verdict{}, false
	}
	if len(x.Routed.Calls)+len(x.Baseline.Calls) > 0 {
		return Verdict{}, false
	}
	matches, ok := compile(schema)
	if !ok {
		return Verdict{}, false // an invalid schema cannot decide the comparison
	}
	routed, baseline := matches([]byte(x.Routed.Text)), matches([]byte(x.Baseline.Text))
	if v, ok := prefer(Schema, routed, baseline, "does not match the JSON schema of the request"); ok {
		return v, true
	}
	if !routed {
		return Verdict{0, Schema, "Both responses do not match the JSON schema of the request."}, true
	}
	if equalJSON([]byte(x.Routed.Text), []byte(x.Baseline.Text)) {
		return Verdict{0, Schema, "Both responses are the same JSON document."}, true
	}
	return Verdict{}, false
}

// compile returns a function that reports whether text is JSON that matches the schema. An empty schema accepts any JSON, and a
// validation that takes too much work counts as a match. ok is false for an invalid schema. References to other documents are not followed.
func compile(schema []byte) (matches func([]byte) bool, ok bool) {
	decode := func(text []byte) (any, bool) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		return v, err == nil
	}
	if len(schema) == 0 || string(schema) == "null" {
		return func(text []byte) bool { _, ok := decode(text); return ok }, true
	}
	document, ok := decode(schema)
	if !ok {
		return nil, false
	}
	c, work := jsonschema.NewCompiler(), &schemaWork{}
	c.UseLoader(jsonschema.SchemeURLLoader{}) // the loader has no schemes, so nothing is read from disk or network
	c.RegisterVocabulary(work.vocabulary())
	c.AssertVocabs()
	if err := c.AddResource("schema.json", document); err != nil {
		return nil, false
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return nil, false
	}
	return func(text []byte) bool {
		v, ok := decode(text)
		return ok && work.validate(compiled, v)
	}, true
}

// checkTools applies when both responses call tools. Calls with invalid arguments lose; calls with the same meaning are a tie. Calls are
// never executed.
func checkTools(x *Exchange) (Verdict, bool) {
	if len(x.Routed.Calls) == 0 || len(x.Baseline.Calls) == 0 {
		return Verdict{}, false
	}
	routed, baseline := ValidCalls(x.Request, x.Routed.Calls), ValidCalls(x.Request, x.Baseline.Calls)
	if v, ok := prefer(Tools, routed, baseline, "calls an unknown tool or has invalid arguments"); ok {
		return v, true
	}
	if !routed {
		return Verdict{0, Tools, "Both responses call an unknown tool or have invalid arguments."}, true
	}
	if sameCalls(x.Routed.Calls, x.Baseline.Calls) {
		return Verdict{0, Tools, "Both responses make the same tool calls."}, true
	}
	return Verdict{}, false
}

// ValidCalls reports whether all calls name tools from the request and have arguments that match the tool schemas. The request is in the
// chat format.
func ValidCalls(request []byte, calls []Call) bool {
	schemas := toolSchemas(request)
	return !slices.ContainsFunc(calls, func(c Call) bool {
		schema, known := schemas[c.Name]
		if !known {
			return true
		}
		matches, ok := compile(schema)
		return ok && schema != nil && !matches([]byte(c.Arguments))
	})
}

// toolSchemas returns the argument schemas of the request's tools; nil for tools with free text input.
func toolSchemas(request []byte) map[string]json.RawMessage {
	var body struct {
		Tools []struct {
			Function *struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
			Custom *struct {
				Name string `json:"name"`
			} `json:"custom"`
		} `json:"tools"`
	}
	if json.Unmarshal(request, &body) != nil {
		return nil
	}
	schemas := map[string]json.RawMessage{}
	for _, t := range body.Tools {
		switch {
		case t.Function != nil && len(t.Function.Parameters) == 0:
			schemas[t.Function.Name] = json.RawMessage(`{}`)
		case t.Function != nil:
			schemas[t.Function.Name] = t.Function.Parameters
		case t.Custom != nil:
			schemas[t.Custom.Name] = nil
		}
	}
	return schemas
}

// sameCalls reports whether both lists contain the same calls, in any order.
func sameCalls(a, b []Call) bool {
	if len(a) != len(b) {
		return false
	}
	rest := slices.Clone(b)
	for _, c := range a {
		i := slices.IndexFunc(rest, func(d Call) bool {
			return c.Name == d.Name && (c.Arguments == d.Arguments || equalJSON([]byte(c.Arguments), []byte(d.Arguments)))
		})
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// equalJSON reports whether two documents have the same meaning. It ignores the order of members and the notation of numbers and
// strings.
func equalJSON(a, b []byte) bool {
	decode := func(text []byte) (v any, ok bool) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		return v, err == nil
	}
	x, ok := decode(a)
	if !ok {
		return false
	}
	y, ok := decode(b)
	return ok && equalValues(x, y)
}

func equalValues(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, value := range x {
			other, ok := y[name]
			if !ok || !equalValues(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := y.([]any)
		return ok && slices.EqualFunc(x, y, equalValues)
	case json.Number:
		y, ok := y.(json.Number)
		return ok && equalNumbers(x.String(), y.String())
	default:
		return x == y
	}
}

// maxExponent limits the size of the numbers that are compared exactly.
const maxExponent = 5

func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	for _, text := range []string{a, b} {
		if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > maxExponent {
			return false
		}
	}
	x, ok := new(big.Rat).SetString(a)
	if !ok {
		return false
	}
	y, ok := new(big.Rat).SetString(b)
	return ok && x.Cmp(y) == 0
}

// checkExact returns a tie when the responses have the same text apart from letter case, spaces and final punctuation, or are the same
// number.
func checkExact(x *Exchange) (Verdict, bool) {
	if len(x.Routed.Calls)+len(x.Baseline.Calls) > 0 {
		return Verdict{}, false
	}
	a, b := normalize(x.Routed.Text), normalize(x.Baseline.Text)
	if a == b {
		return Verdict{0, Exact, "Both responses have the same text."}, true
	}
	first, ok := parseNumber(a)
	second, also := parseNumber(b)
	if ok && also && equalNumbers(first, second) {
		return Verdict{0, Exact, "Both responses are the same number."}, true
	}
	return Verdict{}, false
}

func normalize(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	return strings.TrimRightFunc(strings.Trim(text, "*`\"'"), func(r rune) bool { return r == '.' || r == '!' || unicode.IsSpace(r) })
}

// parseNumber removes thousands separators from a number. It reports false if text is not a decimal number.
func parseNumber(text string) (plain string, ok bool) {
	plain = strings.ReplaceAll(text, ",", "")
	_, ok = new(big.Rat).SetString(plain)
	return plain, ok && len(text) <= 40 && !strings.ContainsAny(text, "/eExXpP_")
}

// checkCode applies when both responses have code blocks in a language that can be parsed here: JSON and Go. A response with a
// block that does not parse loses.
func checkCode(x *Exchange) (Verdict, bool) {
	routed, baseline := codeBlocks(x.Routed.Text), codeBlocks(x.Baseline.Text)
	for _, language := range []string{"json", "go"} {
		a, b := routed[language], baseline[language]
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		all := func(blocks []string) bool {
			return !slices.ContainsFunc(blocks, func(s string) bool { return !parses(language, s) })
		}
		if v, ok := prefer(Code, all(a), all(b), "has a code block that does not parse as "+language); ok {
			return v, true
		}
	}
	return Verdict{}, false
}

// codeBlocks returns the fenced code blocks in Markdown text, by language.
func codeBlocks(text string) map[string][]string {
	blocks := map[string][]string{}
	language, inside := "", false
	var block strings.Builder
	for line := range strings.Lines(text) {
		mark, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && inside:
			blocks[language] = append(blocks[language], block.String())
			block.Reset()
			inside = false
		case isFence:
			language, inside = strings.ToLower(strings.TrimSpace(mark)), true
			if language == "golang" {
				language = "go"
			}
		case inside:
			block.WriteString(line)
		}
	}
	return blocks
}

// parses reports whether text is valid JSON, or a file, declarations or statements in Go.
func parses(language, text string) bool {
	if language == "json" {
		return json.Valid([]byte(text))
	}
	for _, source := range []string{text, "package p\n" + text, "package p\nfunc _() {\n" + text + "\n}"} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution); err == nil {
			return true
		}
	}
	return false
}
