package gemini

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/wire/upstream"
)

// maxOpenAPIDepth is the maximum depth to which a schema is converted; deeper levels are copied unchanged. Without a limit, converting a
// deeply nested schema would take quadratic time, because every level is scanned once for each enclosing level.
const maxOpenAPIDepth = 64

// jsonSchema converts a schema from Google's subset of OpenAPI to JSON Schema: type names become lower case, nullable becomes the type
// null, and strings that contain numbers become numbers. The members keep their order.
func jsonSchema(schema jsontext.Value) json.RawMessage {
	out, _ := encode(toJSONSchema(schema, 0)) // cannot fail, because the schema was decoded from JSON
	return json.RawMessage(out)
}

// toJSONSchema converts a schema at the given nesting depth to a value for encoding.
func toJSONSchema(schema jsontext.Value, depth int) any {
	keywords, ok := readMembers(schema)
	if !ok || depth > maxOpenAPIDepth {
		return schema
	}
	nullable := keywords.get("nullable").Kind() == 't'
	var out ordered
	for _, keyword := range keywords {
		switch name, value := camelCase(keyword.name), keyword.value; name {
		case "nullable", "propertyOrdering":
		case "type":
			switch kind := strings.ToLower(upstream.Text(value)); {
			case value.Kind() != '"':
				out.add(name, value)
			case kind == "type_unspecified":
			case nullable && kind != "null":
				out.add(name, []string{kind, "null"})
			default:
				out.add(name, kind)
			}
		case "properties", "$defs", "defs":
			inner := ordered{}
			declared, _ := readMembers(value)
			for _, property := range declared {
				inner.add(property.name, toJSONSchema(property.value, depth+1))
			}
			out.add(name, inner)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			list := []any{}
			for _, inner := range readList(value) {
				list = append(list, toJSONSchema(inner, depth+1))
			}
			out.add(name, list)
		case "items", "additionalProperties":
			out.add(name, toJSONSchema(value, depth+1))
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			if n, err := strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64); err == nil {
				out.add(name, n)
			}
		case "enum":
			values := readList(value)
			if nullable {
				values = append(values, jsontext.Value("null"))
			}
			out.add(name, values)
		default:
			out.add(keyword.name, value)
		}
	}
	return out
}
