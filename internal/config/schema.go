package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

const (
	durationPattern = `^(0|(\d{1,6}d)?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))*)$|^\$\{.+\}$`
	sizePattern     = `^\d+ ?(B|KiB|MiB|GiB)?$|^\$\{.+\}$`
)

// Schema returns the JSON Schema (draft 2020-12) of the configuration file.
func Schema() ([]byte, error) {
	s := &schemaWriter{defs: map[string]any{}}
	root := s.section(reflect.ValueOf(Default()))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Fairlead configuration"
	root["$defs"] = s.defs
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write configuration schema: %w", err)
	}
	return append(text, '\n'), nil
}

type schemaWriter struct{ defs map[string]any }

// section returns the schema of a struct. Non-zero fields of v become the defaults in the schema.
func (s *schemaWriter) section(v reflect.Value) map[string]any {
	properties := map[string]any{}
	for _, f := range tables[v.Type()] {
		value := v.Field(f.index)
		property := s.shape(f, value)
		property["description"] = f.doc
		if !value.IsZero() && f.typ.Kind() != reflect.Struct {
			switch f.typ {
			case durationType:
				property["default"] = FormatDuration(time.Duration(value.Int()))
			case sizeType:
				property["default"] = Size(value.Int()).String()
			default:
				property["default"] = value.Interface()
			}
		}
		properties[f.name] = property
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

func (s *schemaWriter) shape(f field, value reflect.Value) map[string]any {
	t := f.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == policiesType:
		s.defs["Policy"], s.defs["Selector"] = policySchema(), selectorSchema()
		return map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"$ref": "#/$defs/Policy"}}
	case t.Kind() == reflect.Struct:
		return s.section(value)
	case isStructs(t):
		return map[string]any{"type": []string{"array", "null"}, "items": s.named(t.Elem())}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"type": "string"}}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	}
	return scalarShape(f, t)
}

// named adds the schema of t, the type of the sections in a list, to $defs and returns a reference to it, because several lists can have
// sections of the same type.
func (s *schemaWriter) named(t reflect.Type) map[string]any {
	name := t.Name()
	if _, ok := s.defs[name]; !ok {
		s.defs[name] = true // prevents infinite recursion
		section := s.section(reflect.Zero(t))
		section["required"] = []string{"name"}
		if t == reflect.TypeFor[Share]() {
			section["required"] = []string{"model", "percent"}
		}
		s.defs[name] = section
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

func scalarShape(f field, t reflect.Type) map[string]any {
	switch {
	case t == durationType:
		return map[string]any{"type": []string{"string", "null"}, "pattern": durationPattern}
	case t == sizeType:
		return map[string]any{"type": []string{"string", "integer", "null"}, "pattern": sizePattern, "minimum": bound(f.lowest)}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": []string{"boolean", "null"}}
	case t.Kind() == reflect.String:
		shape := map[string]any{"type": []string{"string", "null"}}
		if len(f.enum) > 0 {
			shape = map[string]any{"enum": f.enum}
		}
		return shape
	}
	shape := map[string]any{"type": []string{"number", "null"}}
	if t.Kind() != reflect.Float64 {
		shape["type"] = []string{"integer", "null"}
	}
	for word, text := range map[string]string{"minimum": f.lowest, "maximum": f.most} {
		if text != "" {
			shape[word] = bound(text)
		}
	}
	return shape
}

func bound(text string) any {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}
