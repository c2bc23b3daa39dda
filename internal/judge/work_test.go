package judge

import (
	"strings"
	"testing"
)

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
		matches, ok := compile([]byte(tc.schema))
		if !ok || !matches([]byte(tc.text)) {
			t.Errorf("%s: a validation with too much work failed", name)
		}
	}
}
