package geminiapi

import (
	"encoding/json"
	"strings"

	"fairlead.dev/internal/rawjson"
)

// maxDepth is the maximum depth to which a schema is converted; deeper levels are copied unchanged. Without a limit, converting a deeply
// nested schema would take quadratic time, because every level is scanned once for each enclosing level.
const maxDepth = 64

// jsonSchema converts a schema from Google's subset of OpenAPI to JSON Schema: type names become lower case, nullable becomes the type
// null, and strings that contain numbers become numbers. The members keep their order. depth is the nesting depth of the schema.
func jsonSchema(v rawjson.Value, depth int) json.RawMessage {
	if !v.IsObject() || depth > maxDepth {
		return []byte(v.Raw)
	}
	w := &rawjson.Writer{}
	nullable := v.Get("nullable").Bool()
	w.Open()
	v.ForEach(func(key, value rawjson.Value) bool {
		switch name := schemaName(key.String()); name {
		case "nullable", "propertyOrdering":
		case "type":
			writeType(w, value, nullable)
		case "properties", "$defs", "defs":
			w.Key(name)
			w.Open()
			value.ForEach(func(property, schema rawjson.Value) bool {
				w.Raw(property.String(), jsonSchema(schema, depth+1))
				return true
			})
			w.Close()
		case "anyOf", "oneOf", "allOf", "prefixItems":
			w.OpenList(name)
			value.ForEach(func(_, schema rawjson.Value) bool {
				w.Element(jsonSchema(schema, depth+1))
				return true
			})
			w.CloseList()
		case "items", "additionalProperties":
			w.Raw(name, jsonSchema(value, depth+1))
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			if n, ok := rawjson.ParseInteger([]byte(strings.Trim(value.Raw, `"`))); ok {
				w.Int(name, n)
			}
		case "enum":
			w.Raw(name, enum(value, nullable))
		default:
			w.Raw(name, []byte(value.Raw))
		}
		return true
	})
	w.Close()
	return w.Out
}

// schemaName returns the name of a keyword without underscores.
func schemaName(key string) string {
	switch key {
	case "any_of":
		return "anyOf"
	case "property_ordering":
		return "propertyOrdering"
	case "min_items", "max_items", "min_length", "max_length", "min_properties", "max_properties":
		before, after, _ := strings.Cut(key, "_")
		return before + strings.ToUpper(after[:1]) + after[1:]
	}
	return key
}

func writeType(w *rawjson.Writer, v rawjson.Value, nullable bool) {
	kind := strings.ToLower(v.String())
	switch {
	case v.Kind != rawjson.Text:
		w.Raw("type", []byte(v.Raw))
	case kind == "type_unspecified":
	case nullable && kind != "null":
		w.OpenList("type")
		w.Element(rawjson.AppendString(nil, kind))
		w.Element([]byte(`"null"`))
		w.CloseList()
	default:
		w.Str("type", kind)
	}
}

// enum returns the enum values in v. If the schema is nullable, it adds null to them.
func enum(v rawjson.Value, nullable bool) []byte {
	if !nullable || !v.IsList() {
		return []byte(v.Raw)
	}
	w := rawjson.Writer{Out: []byte{'['}}
	v.ForEach(func(_, one rawjson.Value) bool {
		w.Element([]byte(one.Raw))
		return true
	})
	w.Element([]byte("null"))
	w.CloseList()
	return w.Out
}
