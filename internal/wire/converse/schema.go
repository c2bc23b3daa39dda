package converse

import "encoding/json"

// maxOptional is the maximum total number of optional object members in the schema of a native output format.
const maxOptional = 10

// isClosed reports whether a native output format supports the schema. The schema must have only supported keywords, must forbid
// additional members, and may have at most maxOptional optional members.
func isClosed(schema json.RawMessage) bool {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return false
	}
	c := schemaCheck{}
	c.read(v, 0)
	return !c.open && c.optional <= maxOptional && isObject(schema)
}

type schemaCheck struct {
	open     bool
	optional int
}

const maxSchemaDepth = 50

func (c *schemaCheck) read(v any, depth int) {
	s, ok := v.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		c.open = true // true and false are valid JSON schemas, but native output formats do not support them
		return
	}
	for keyword := range s {
		switch keyword {
		case "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
			"description", "title", "default", "$defs", "definitions", "$ref", "$schema":
		default: // native output formats reject or ignore other keywords
			c.open = true
		}
	}
	// Reject a recursive schema, because it can describe values of any depth.
	if ref, ok := s["$ref"].(string); ok && ref == "#" {
		c.open = true
	}
	// The schema of an object must forbid members that it does not declare.
	properties, hasProperties := s["properties"].(map[string]any)
	if s["type"] == "object" || hasProperties {
		c.open = c.open || s["additionalProperties"] != false
		required, _ := s["required"].([]any)
		c.optional += max(0, len(properties)-len(required))
	}
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		members, _ := s[keyword].(map[string]any)
		for _, inner := range members {
			c.read(inner, depth+1)
		}
	}
	if items, has := s["items"]; has {
		c.read(items, depth+1)
	}
	list, _ := s["anyOf"].([]any)
	for _, inner := range list {
		c.read(inner, depth+1)
	}
}
