package judge

import (
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"fairlead.dev/internal/rawjson"
)

// Check compares the responses without a model. It reports false when no check decides, which includes a check that would take too much work.
func Check(ctx context.Context, x *Exchange) (Verdict, bool) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	for _, check := range []func(*checker, *Exchange) (Verdict, bool){checkSchema, checkTools, checkExact, checkCode} {
		if v, ok := limited(ctx, check, x); ok {
			return v, true
		}
	}
	return Verdict{}, false
}

// limited runs a check within the limits. It reports false if the check does not decide.
func limited(ctx context.Context, check func(*checker, *Exchange) (Verdict, bool), x *Exchange) (v Verdict, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, expected := p.(undecided); !expected {
				panic(p)
			}
			v, ok = Verdict{}, false
		}
	}()
	return check(&checker{ctx: ctx, left: maxWork}, x)
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
func checkSchema(c *checker, x *Exchange) (Verdict, bool) {
	format := rawjson.Get(x.Request, "response_format")
	var schema []byte
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
	routed, baseline := c.valid(schema, x.Routed.Text), c.valid(schema, x.Baseline.Text)
	if v, ok := prefer(Schema, routed, baseline, "does not match the JSON schema of the request"); ok {
		return v, true
	}
	if !routed {
		return Verdict{0, Schema, "Both responses do not match the JSON schema of the request."}, true
	}
	if c.equalJSON(x.Routed.Text, x.Baseline.Text) {
		return Verdict{0, Schema, "Both responses are the same JSON document."}, true
	}
	return Verdict{}, false
}

// checkTools applies when both responses call tools. Calls with invalid arguments lose; calls with the same meaning are a tie. Calls are
// never executed.
func checkTools(c *checker, x *Exchange) (Verdict, bool) {
	if len(x.Routed.Calls) == 0 || len(x.Baseline.Calls) == 0 {
		return Verdict{}, false
	}
	routed, baseline := c.validCalls(x.Request, x.Routed.Calls), c.validCalls(x.Request, x.Baseline.Calls)
	if v, ok := prefer(Tools, routed, baseline, "calls an unknown tool or has invalid arguments"); ok {
		return v, true
	}
	if !routed {
		return Verdict{0, Tools, "Both responses call an unknown tool or have invalid arguments."}, true
	}
	if c.sameCalls(x.Routed.Calls, x.Baseline.Calls) {
		return Verdict{0, Tools, "Both responses make the same tool calls."}, true
	}
	return Verdict{}, false
}

// validCalls reports whether all calls name tools from the request and have arguments that match the tool schemas. The request is in the
// chat format.
func (c *checker) validCalls(request []byte, calls []Call) bool {
	schemas := toolSchemas(request)
	return !slices.ContainsFunc(calls, func(call Call) bool {
		schema, known := schemas[call.Name]
		return !known || schema != nil && !c.valid(schema, call.Arguments)
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
func (c *checker) sameCalls(a, b []Call) bool {
	if len(a) != len(b) {
		return false
	}
	rest := slices.Clone(b)
	for _, call := range a {
		i := slices.IndexFunc(rest, func(d Call) bool {
			return call.Name == d.Name && (call.Arguments == d.Arguments || c.equalJSON(call.Arguments, d.Arguments))
		})
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// checkExact returns a tie when the responses have the same text apart from letter case, spaces and final punctuation, or are the same
// number.
func checkExact(_ *checker, x *Exchange) (Verdict, bool) {
	if len(x.Routed.Calls)+len(x.Baseline.Calls) > 0 {
		return Verdict{}, false
	}
	a, b := normalize(x.Routed.Text), normalize(x.Baseline.Text)
	if a == b {
		return Verdict{0, Exact, "Both responses have the same text."}, true
	}
	first, ok := parseNumber(a)
	second, also := parseNumber(b)
	if ok && also && first.Cmp(second) == 0 {
		return Verdict{0, Exact, "Both responses are the same number."}, true
	}
	return Verdict{}, false
}

func normalize(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	return strings.TrimRightFunc(strings.Trim(text, "*`\"'"), func(r rune) bool { return r == '.' || r == '!' || unicode.IsSpace(r) })
}

// parseNumber parses a decimal number that may have thousands separators.
func parseNumber(text string) (*big.Rat, bool) {
	if len(text) > maxNumber || strings.ContainsAny(text, "/eExXpP_") {
		return nil, false
	}
	return new(big.Rat).SetString(strings.ReplaceAll(text, ",", ""))
}

// checkCode applies when both responses have code blocks in a language that can be parsed here: JSON and Go. A response with a
// block that does not parse loses.
func checkCode(_ *checker, x *Exchange) (Verdict, bool) {
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
