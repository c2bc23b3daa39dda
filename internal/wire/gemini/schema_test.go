package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestSchemaIsConvertedToTheSubset(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"members keep their order": {
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"}},"required":["z"]}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"}},"required":["z"]}`,
		},
		"unsupported keywords are dropped": {
			`{"$schema":"x","$id":"y","type":"object","additionalProperties":false,"minProperties":1,"properties":{"a":{"type":"string","default":"x","contentEncoding":"base64","examples":["e"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
		},
		"a reference is resolved and keeps its own description": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/n","description":"mine"},"b":{"$ref":"#/definitions/x~1y"}},"$defs":{"n":{"type":"integer","description":"theirs"}},"definitions":{"x/y":{"type":"boolean"}}}`,
			`{"type":"object","properties":{"a":{"type":"integer","description":"mine"},"b":{"type":"boolean"}}}`,
		},
		"a constant is an enum of one":              {`{"const":"ship"}`, `{"type":"string","enum":["ship"]}`},
		"numbers are enumerated in the description": {`{"type":"integer","enum":[1,2],"description":"Which."}`, `{"type":"integer","description":"Which. One of: 1, 2."}`},
		"a constant that is a number":               {`{"const":2.5}`, `{"type":"number","description":"One of: 2.5."}`},
		"a constant that is true":                   {`{"const":true}`, `{"type":"boolean","description":"One of: true."}`},
		"an enum with null":                         {`{"enum":["a",null]}`, `{"type":"string","nullable":true,"enum":["a"]}`},
		"a type or null":                            {`{"type":["string","null"],"maxLength":3}`, `{"type":"string","nullable":true,"maxLength":3}`},
		"several types":                             {`{"type":["string","array"],"items":{"type":"number"}}`, `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"number"}}]}`},
		"null alone":                                {`{"type":"null"}`, `{"type":"string","nullable":true}`},
		"an alternative to null":                    {`{"anyOf":[{"type":"integer","minimum":0},{"type":"null"}],"title":"T"}`, `{"type":"integer","title":"T","nullable":true,"minimum":0}`},
		"alternatives":                              {`{"oneOf":[{"type":"integer"},{"type":"string"}],"description":"d"}`, `{"description":"d","anyOf":[{"type":"integer"},{"type":"string"}]}`},
		"all of several":                            {`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`},
		"all of a reference":                        {`{"allOf":[{"$ref":"#/$defs/a"}],"description":"d","$defs":{"a":{"type":"object","properties":{"x":{"type":"string"}}}}}`, `{"type":"object","description":"d","properties":{"x":{"type":"string"}}}`},
		"formats that are refused":                  {`{"type":"object","properties":{"a":{"type":"string","format":"uuid"},"b":{"type":"string","format":"date-time"},"c":{"type":"integer","format":"int64"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","format":"date-time"},"c":{"type":"integer","format":"int64"}}}`},
		"required has existing names only":          {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","ghost"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		"a list of any values":                      {`{"type":"array","minItems":1,"maxItems":3}`, `{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string"}}`},
		"a tuple":                                   {`{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}`, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}`},
		"anything":                                  {`{"type":"object","properties":{"a":{},"b":true}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`},
		"an object inside without members":          {`{"type":"object","properties":{"a":{"type":"object"}}}`, `{"type":"object","properties":{"a":{"type":"object"}}}`},
		"properties imply an object":                {`{"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		"ranges are copied unchanged":               {`{"type":"number","minimum":0.10,"maximum":1e3,"exclusiveMinimum":0}`, `{"type":"number","minimum":0.10,"maximum":1e3}`},
		"ranges that are not numbers":               {`{"type":"number","minimum":"0"}`, `{"type":"number"}`},
		"alternatives next to properties":           {`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		"a reference without a target":              {`{"$ref":"#/nowhere"}`, `{"type":"string"}`},
		"a reference into another document":         {`{"$ref":"https://x.test/s"}`, `{"type":"string"}`},
		"strings are not HTML-escaped":              {`{"type":"string","description":"a<b"}`, `{"type":"string","description":"a<b"}`},
		"a recursive schema": {
			`{"type":"object","properties":{"next":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"object"}}}}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := convertSchema(jsontext.Value(tc.in), false, newSchemaBudget(&llm.Conversation{}))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSchemaReportsLosses(t *testing.T) {
	t.Parallel()
	_, lost, err := convertSchema(jsontext.Value(`{"type":"object","properties":{"a":{"$ref":"#/x"},"b":{"$ref":"#"},"c":{"prefixItems":[{}]}},"oneOf":[{},{}]}`), false, newSchemaBudget(&llm.Conversation{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cannot be resolved", "recursive schema", "tuple", "next to properties"} {
		if !strings.Contains(strings.Join(lost, "; "), want) {
			t.Errorf("losses %q do not mention %q", lost, want)
		}
	}
}

// A schema with references to references can grow exponentially when they are resolved.
func TestResolvedSchemaIsLimited(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 30 {
		fmt.Fprintf(&bomb, `"d%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	bomb.WriteString(`"d30":{}}}`)
	deep := strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat(`}`, 200)
	long := `{"properties":{` + strings.Repeat(`"p":{"$ref":"#/d"},`, 100) + `"q":{}},"d":{"description":"` + strings.Repeat("x", 1<<20) + `"}}`
	for name, in := range map[string]string{"exponential growth": bomb.String(), "deep": deep, "long": long} {
		if _, _, err := convertSchema(jsontext.Value(in), false, newSchemaBudget(&llm.Conversation{})); err == nil {
			t.Errorf("convertSchema(%s) returned no error", name)
		}
	}
}

func TestSchemasWithoutArgumentsAreOmitted(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		``: true, `null`: true, `{}`: true, `{"type":"object"}`: true, `{"type":"object","properties":{}}`: true, `true`: true,
		`{"type":"object","properties":{"a":{}}}`: false, `{"$ref":"#/$defs/a"}`: false, `{"type":"string"}`: false,
	} {
		if got := noArguments(jsontext.Value(in)); got != want {
			t.Errorf("noArguments(%s) = %t, want %t", in, got, want)
		}
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":["string","null"],"enum":["a",1]}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#"}]}}}`)
	f.Add(`{"type":"array","items":[{},true]}`)
	f.Add(`{"anyOf":[{"const":{}},{"properties":{"a":1}}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		out, _, err := convertSchema(jsontext.Value(in), true, newSchemaBudget(&llm.Conversation{}))
		if err == nil && !isObject(out) {
			t.Errorf("convertSchema(%q) = %q, want an object", in, out)
		}
	})
}

// The total size of schemas that grow through references is limited for all tools together, even if each schema is below its own limit.
func TestSchemasOfManyToolsShareALimit(t *testing.T) {
	t.Parallel()
	var fields []string
	for i := range 8 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"$ref":"#/$defs/b"}`, i))
	}
	members := strings.Join(fields, ",")
	growing := `{"type":"object","properties":{` + members + `},"$defs":{"b":{"type":"object","properties":{` + strings.ReplaceAll(members, "/b", "/c") + `}},"c":{"type":"object","properties":{` + strings.ReplaceAll(members, "/b", "/d") + `}},"d":{"type":"string"}}}`
	plain := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`
	for name, tc := range map[string]struct {
		schema string
		tools  int
		fits   bool
	}{
		"one growing schema":        {growing, 1, true},
		"several growing schemas":   {growing, 8, true},
		"very many growing schemas": {growing, 1000, false},
		"very many plain schemas":   {plain, 11_000, true},
	} {
		conv := &llm.Conversation{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Kind: llm.TextPart, Text: "x"}}}}}
		for i := range tc.tools {
			conv.Tools = append(conv.Tools, llm.Tool{Name: fmt.Sprint("t", i), Schema: json.RawMessage(tc.schema)})
		}
		if _, _, err := Render(t.Context(), conv, RenderOptions{}); (err == nil) != tc.fits {
			t.Errorf("%s: Render: %v, want success = %t", name, err, tc.fits)
		}
	}
}
