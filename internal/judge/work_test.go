package judge

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestCheckWithTooMuchWorkDecidesNothing(t *testing.T) {
	t.Parallel()
	var definitions strings.Builder
	definitions.WriteString(`{"$ref":"#/$defs/d0","$defs":{"d60":{"type":"object"}`)
	for i := range 60 {
		fmt.Fprintf(&definitions, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]}`, i, i+1)
	}
	for name, tc := range map[string]struct{ schema, text string }{
		"references":           {definitions.String() + `}}`, `{}`},
		"failing branches":     {`{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","anyOf":[{"items":{"$ref":"#/$defs/n"}},{"items":{"$ref":"#/$defs/n"}}]}}}`, strings.Repeat(`[`, 60) + `1` + strings.Repeat(`]`, 60)},
		"endless reference":    {`{"$ref":"#"}`, `{}`},
		"pattern":              {`{"pattern":"(x{1,30}y?){1,30}z"}`, `"` + strings.Repeat("x", 20_000) + `"`},
		"long pattern":         {`{"pattern":"` + strings.Repeat(`\\pL`, 10_000) + `"}`, `"x"`},
		"nested schema":        {strings.Repeat(`{"items":`, 5000) + `{}` + strings.Repeat(`}`, 5000), strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)},
		"number":               {`{"minimum":1}`, `1e1000000000`},
		"long number":          {`{"minimum":1}`, strings.Repeat("9", 100_000)},
		"many values":          {`{"items":{"enum":[` + strings.Repeat(`"a",`, 3000) + `"b"]}}`, `[` + strings.Repeat(`"b",`, 3000) + `"b"]`},
		"patterns of members":  {`{"patternProperties":{"^a":true}}`, `{"a":1}`},
		"unsupported keyword":  {`{"dependentSchemas":{}}`, `{}`},
		"invalid schema":       {`{"type":1}`, `{}`},
		"reference to nothing": {`{"$ref":"#/$defs/x"}`, `{}`},
	} {
		x := &Exchange{
			Request: []byte(`{"response_format":{"type":"json_schema","json_schema":{"schema":` + tc.schema + `}}}`),
			Routed:  Response{Text: tc.text}, Baseline: Response{Text: `no JSON`},
		}
		if v, ok := Check(t.Context(), x); ok {
			t.Errorf("%s: got %+v, want no decision", name, v)
		}
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x := &Exchange{Request: []byte(`{"response_format":{"type":"json_object"}}`), Routed: Response{Text: `{}`}, Baseline: Response{Text: `no JSON`}}
	if v, ok := Check(ctx, x); ok {
		t.Errorf("got %+v after the context was cancelled, want no decision", v)
	}
}
