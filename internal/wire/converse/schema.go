package converse

import "encoding/json"

// The keywords of schemas that native output formats take. Everything else is refused or ignored there, so such schemas go
// another way.
var plainKeywords = map[string]bool{
	"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true, "enum": true, "const": true,
	"anyOf": true, "description": true, "title": true, "default": true, "$defs": true, "definitions": true, "$ref": true, "$schema": true,
}

// maxOptional is how many members native output formats let a schema leave open.
const maxOptional = 10

// isClosed reports whether a native output format takes the schema: plain keywords only, no object that may have other
// members than those it names, and few members that may be absent.
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
		c.open = true // true and false are schemas too, but none that is closed
		return
	}
	for keyword := range s {
		c.open = c.open || !plainKeywords[keyword]
	}
	// A reference to the schema itself has no end.
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

// object checks that the schema of an object names all its members.
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
