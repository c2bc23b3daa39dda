package bedrock

import (
	"github.com/go-json-experiment/json/jsontext"
)

// maxOptional is the maximum total number of optional object members in the schema of a native output format.
const maxOptional = 10

// isClosed reports whether a native output format supports the schema. The schema must have only supported keywords, must forbid
// additional members, may have at most maxOptional optional members, and must not be recursive.
func isClosed(schema jsontext.Value) bool {
	var v any
	if decode(schema, &v) != nil {
		return false
	}
	c := schemaCheck{uses: map[string][]string{}}
	c.read(v, "", 0)
	return !c.open && c.optional <= maxOptional && isObject(schema) && !c.recursive()
}

type schemaCheck struct {
	open     bool
	optional int
	uses     map[string][]string // references in each definition, by the reference to this definition; "" for the rest of the schema
}

const maxSchemaDepth = 50

// read checks a part of the schema. definition is the reference to the definition that contains the part, or empty.
func (c *schemaCheck) read(v any, definition string, depth int) {
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
	if ref, ok := s["$ref"].(string); ok {
		c.uses[definition] = append(c.uses[definition], ref)
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
		for name, inner := range members {
			within := definition
			if depth == 0 && keyword != "properties" {
				within = "#/" + keyword + "/" + name
				c.uses[within] = nil
			}
			c.read(inner, within, depth+1)
		}
	}
	if items, has := s["items"]; has {
		c.read(items, definition, depth+1)
	}
	list, _ := s["anyOf"].([]any)
	for _, inner := range list {
		c.read(inner, definition, depth+1)
	}
}

// recursive reports whether a definition refers to itself, directly or through other definitions. Such a schema can describe values of any
// depth. It also returns true for a reference to anything other than a definition of the schema, because its target was not checked.
func (c *schemaCheck) recursive() bool {
	users := make(map[string]int, len(c.uses)) // number of references to each definition
	for _, refs := range c.uses {
		for _, ref := range refs {
			if _, ok := c.uses[ref]; !ok || ref == "" {
				return true
			}
			users[ref]++
		}
	}
	var unused []string
	for definition := range c.uses {
		if users[definition] == 0 {
			unused = append(unused, definition)
		}
	}
	removed := 0
	for ; len(unused) > 0; removed++ { // remove the definitions without users; those that cannot be removed use each other
		definition := unused[len(unused)-1]
		unused = unused[:len(unused)-1]
		for _, ref := range c.uses[definition] {
			if users[ref]--; users[ref] == 0 {
				unused = append(unused, ref)
			}
		}
	}
	return removed < len(c.uses)
}
