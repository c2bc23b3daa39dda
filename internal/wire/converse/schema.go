package converse

import "encoding/json"

// Keywords that native output formats support. Schemas with other keywords are sent in another way, because native
// formats reject or ignore such keywords.
var plainKeywords = map[string]bool{
	"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true, "enum": true, "const": true,
	"anyOf": true, "description": true, "title": true, "default": true, "$defs": true, "definitions": true, "$ref": true, "$schema": true,
}

// maxOptional is the maximum number of optional members in native output formats.
const maxOptional = 10

// isClosed reports whether a native output format supports the schema. It requires supported keywords only, no
// additional members, and few optional members.
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
		c.open = true // true and false are valid schemas, but not closed
		return
	}
	for keyword := range s {
		c.open = c.open || !plainKeywords[keyword]
	}
	// A recursive schema has no size limit.
	if ref, ok := s["$ref"].(string); ok && ref == "#" {
		c.open = true
	}
	c.object(s)
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

// object checks that the schema of an object declares all its members.
func (c *schemaCheck) object(s map[string]any) {
	members, hasMembers := s["properties"].(map[string]any)
	if s["type"] != "object" && !hasMembers {
		return
	}
	if s["additionalProperties"] != false {
		c.open = true
	}
	required, _ := s["required"].([]any)
	c.optional += max(0, len(members)-len(required))
}
