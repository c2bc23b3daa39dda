package config

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func schema(t *testing.T) map[string]any {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestSchemaDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	const document = "../../docs/config.schema.json"
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(document, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is stale; run make generate\n%s", document, diff)
	}
}

// walkSchema calls the function see for every schema in s.
func walkSchema(t *testing.T, s map[string]any, path string, see func(string, map[string]any)) {
	t.Helper()
	see(path, s)
	for _, word := range []string{"properties", "$defs"} {
		group, _ := s[word].(map[string]any)
		for name, one := range group {
			sub, ok := one.(map[string]any)
			if !ok {
				t.Fatalf("%s/%s/%s is %T", path, word, name, one)
			}
			if word == "properties" && sub["description"] == "" {
				t.Errorf("%s/%s has no description", path, name)
			}
			walkSchema(t, sub, path+"/"+word+"/"+name, see)
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if sub, ok := s[word].(map[string]any); ok {
			walkSchema(t, sub, path+"/"+word, see)
		}
	}
}

// validator implements the part of JSON Schema that the configuration schema uses.
type validator struct{ root map[string]any }

func (v validator) check(s map[string]any, value any, path string) []string {
	if ref, ok := s["$ref"].(string); ok {
		name, found := strings.CutPrefix(ref, "#/$defs/")
		def, isSchema := v.root["$defs"].(map[string]any)[name].(map[string]any)
		if !found || !isSchema {
			return []string{path + ": " + ref + " leads nowhere"}
		}
		return v.check(def, value, path)
	}
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, path+": "+fmt.Sprintf(format, args...)) }
	if !typeFits(s["type"], value) {
		complain("%v is not of type %v", value, s["type"])
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, value) {
		complain("%v is not one of %v", value, enum)
	}
	if text, ok := value.(string); ok && s["pattern"] != nil && !regexp.MustCompile(s["pattern"].(string)).MatchString(text) {
		complain("%q does not match %v", text, s["pattern"])
	}
	if n, ok := number(value); ok {
		if least, ok := s["minimum"].(float64); ok && n < least {
			complain("%v is less than %v", n, least)
		}
		if most, ok := s["maximum"].(float64); ok && n > most {
			complain("%v is more than %v", n, most)
		}
	}
	return append(wrong, v.checkParts(s, value, path)...)
}

func (v validator) checkParts(s map[string]any, value any, path string) []string {
	var wrong []string
	switch value := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		others, _ := s["additionalProperties"].(map[string]any)
		for name, part := range value {
			sub, ok := properties[name].(map[string]any)
			switch {
			case ok:
				wrong = append(wrong, v.check(sub, part, path+"/"+name)...)
			case others != nil:
				wrong = append(wrong, v.check(others, part, path+"/"+name)...)
			default:
				wrong = append(wrong, path+"/"+name+" does not exist")
			}
		}
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := value[name.(string)]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s/%s is missing", path, name))
			}
		}
	case []any:
		items, _ := s["items"].(map[string]any)
		for i, part := range value {
			wrong = append(wrong, v.check(items, part, fmt.Sprintf("%s/%d", path, i))...)
		}
	}
	return wrong
}

func number(value any) (float64, bool) {
	v := reflect.ValueOf(value)
	switch {
	case value == nil:
		return 0, false
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

func typeFits(types, value any) bool {
	var allowed []any
	switch types := types.(type) {
	case nil:
		return true
	case string:
		allowed = []any{types}
	case []any:
		allowed = types
	}
	n, isNumber := number(value)
	for _, one := range allowed {
		var fits bool
		switch one {
		case "object":
			_, fits = value.(map[string]any)
		case "array":
			_, fits = value.([]any)
		case "string":
			_, fits = value.(string)
		case "boolean":
			_, fits = value.(bool)
		case "null":
			fits = value == nil
		case "number":
			fits = isNumber
		case "integer":
			fits = isNumber && n == math.Trunc(n)
		}
		if fits {
			return true
		}
	}
	return false
}
