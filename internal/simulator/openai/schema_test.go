package openai

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestSampleSatisfiesTheSchema(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema string
		want         string // regular expression that the whole value must match
	}{
		{"nothing", ``, `\{\}`},
		{"object in schema order", `{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"null"}},"required":["b","a"]}`, `\{"b":(true|false),"a":null\}`},
		{"only required members", `{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"string"}},"required":["b"]}`, `\{"b":(true|false)\}`},
		{"all members when none is required", `{"type":"object","properties":{"a":{"type":"string"}}}`, `\{"a":"SIMULATED a"\}`},
		{"required but not described", `{"type":"object","required":["x"]}`, `\{"x":"SIMULATED x"\}`},
		{"enum", `{"enum":["red"]}`, `"red"`},
		{"const", `{"const":{"a":1}}`, `\{"a":1\}`},
		{"const null", `{"const":null}`, `null`},
		{"integer in bounds", `{"type":"integer","minimum":7,"maximum":8}`, `[78]`},
		{"integer above a bound", `{"type":"integer","exclusiveMinimum":1000,"exclusiveMaximum":1002}`, `1001`},
		{"negative", `{"type":"integer","maximum":-5}`, `-5`},
		{"multiple", `{"type":"integer","multipleOf":70,"maximum":139}`, `70`},
		{"number between", `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`, `0\.\d+`},
		{"number", `{"type":"number","minimum":0.1,"maximum":0.2}`, `0\.[12]`},
		{"list", `{"type":"array","items":{"type":"boolean"},"minItems":3,"maxItems":3}`, `\[(true|false),(true|false),(true|false)\]`},
		{"empty list", `{"type":"array","items":{"type":"string"},"maxItems":0}`, `\[\]`},
		{"distinct items", `{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":2}`, `\["SIMULATED","SIMULATED 2"\]`},
		{"tuple", `{"type":"array","prefixItems":[{"const":1},{"const":2}],"maxItems":2}`, `\[1,2\]`},
		{"nullable by list", `{"type":["null","boolean"]}`, `true|false`},
		{"anyOf prefers a value", `{"anyOf":[{"type":"null"},{"const":5}]}`, `5`},
		{"oneOf", `{"oneOf":[{"const":"a"},{"const":"b"}]}`, `"a"`},
		{"allOf", `{"allOf":[{"type":"object","properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":2}},"required":["b"]}]}`, `\{"a":1,"b":2\}`},
		{"reference", `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"const":9}}}`, `9`},
		{"unknown reference", `{"type":"object","properties":{"x":{"$ref":"#/$defs/none"}}}`, `\{"x":"SIMULATED x"\}`},
		{"length", `{"type":"string","minLength":12,"maxLength":12}`, `"SIMULATED\.\.\."`},
		{"short", `{"type":"string","maxLength":3}`, `"SIM"`},
		{"format", `{"type":"string","format":"date"}`, `"\d{4}-\d\d-\d\d"`},
		{"pattern", `{"type":"string","pattern":"^[A-Z]{3}-\\d+(x|y)?$"}`, `"[A-Z]{3}-\d+"`},
		{"keyword of another type", `{"type":"integer","exclusiveMinimum":true,"minimum":5,"maximum":5}`, `5`},
		{"true", `{"type":"object","properties":{"x":true},"required":["x"]}`, `\{"x":"SIMULATED x"\}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole := regexp.MustCompile("^(" + tt.want + ")$")
			for seed := range uint64(20) {
				got := Instance(json.RawMessage(tt.schema), seed)
				if !json.Valid(got) || !whole.Match(got) {
					t.Fatalf("seed %d: %s does not match %s", seed, got, tt.want)
				}
			}
		})
	}
}

func TestRecursiveSchemasEnd(t *testing.T) {
	t.Parallel()
	linked := `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"value":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["value","next","kids"]}}}`
	got := Instance(json.RawMessage(linked), 1)
	type node struct {
		Value *int
		Next  *node
		Kids  []node
	}
	var list node
	if err := json.Unmarshal(got, &list); err != nil || list.Value == nil || list.Next == nil || list.Kids == nil {
		t.Errorf("instance %s (%v) lacks a required member", got, err)
	}
	hopeless := []string{
		`{"$ref":"#"}`,
		`{"allOf":[{"$ref":"#"}]}`,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}},"required":["a","b","c"]}`,
		`{"type":"array","minItems":1000000000,"items":{"type":"string"}}`,
	}
	for _, schema := range hopeless {
		if got := Instance(json.RawMessage(schema), 1); !json.Valid(got) || len(got) > 1<<20 {
			t.Errorf("Instance(%s) has %d bytes, want valid JSON of at most 1 MiB", schema, len(got))
		}
	}
}

func FuzzSample(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`), uint64(1))
	f.Add([]byte(`{"type":"string","pattern":"(a|b){2,}[^x]"}`), uint64(2))
	f.Add([]byte(`{"type":"number","multipleOf":1e-300,"maximum":1e300}`), uint64(3))
	f.Add([]byte(`{"type":"number","multipleOf":5e-324}`), uint64(5))
	f.Add([]byte(`{"anyOf":[],"oneOf":[true,{"type":["null"]}]}`), uint64(4))
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		if !json.Valid(schema) {
			return
		}
		if got := Instance(schema, seed); !json.Valid(got) {
			t.Fatalf("Instance(%s) = %s", schema, got)
		}
	})
}

func FuzzTokenize(f *testing.F) {
	f.Add("Hello, world 12345 – 你好世界 \xff\xfe  \n")
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Tokenize(text)
		if strings.Join(tokens, "") != text || int64(len(tokens)) != CountTokens(text) {
			t.Fatalf("tokens of %q are %q, count %d", text, tokens, CountTokens(text))
		}
	})
}
