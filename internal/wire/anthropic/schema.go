package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// maxSchemaDepth is the maximum depth to which a schema is converted. Deeper levels are sent unchanged.
const maxSchemaDepth = 32

// narrowSchema returns a schema that the provider accepts, with members in the client's order. Unsupported keywords are moved to the
// description, where the model can still read them. name identifies the schema in warnings.
func (r *renderer) narrowSchema(schema json.RawMessage, name string) []byte {
	n := narrower{}
	out := n.schema(rawjson.Parse(schema), 0)
	if len(n.removed) > 0 {
		r.warn("%s was reduced to what the provider supports: %s", name, show.Cut(strings.Join(n.removed, ", "), 200))
	}
	return out
}

type narrower struct{ removed []string }

func (n *narrower) note(what string) {
	if !slices.Contains(n.removed, what) {
		n.removed = append(n.removed, what)
	}
}

func (n *narrower) schema(v rawjson.Value, depth int) []byte {
	if !v.IsObject() || depth > maxSchemaDepth {
		return []byte(v.Raw)
	}
	description := strings.TrimSpace(v.Get("description").String() + " " + n.hints(v))
	closed := false
	var w rawjson.Writer
	w.Open()
	v.ForEach(func(key, value rawjson.Value) bool {
		switch name := key.String(); {
		case unknown(name, value):
		case name == "description":
			w.Str(name, description)
		case name == "additionalProperties":
			closed = true
			if value.Kind != rawjson.False {
				n.note(name)
			}
			w.Bool(name, false)
		case name == "oneOf":
			n.note(name)
			w.Raw("anyOf", n.member(name, value, depth))
		default:
			w.Raw(name, n.member(name, value, depth))
		}
		return true
	})
	if !closed && (v.Get("type").String() == "object" || v.Get("properties").IsObject()) {
		w.Bool("additionalProperties", false)
	}
	if description != "" && !v.Get("description").Exists() {
		w.Str("description", description)
	}
	w.Close()
	return w.Out
}

// unknown reports whether the provider does not support the given keyword or its value.
func unknown(name string, value rawjson.Value) bool {
	switch name {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "unevaluatedItems",
		"minProperties", "maxProperties", "patternProperties", "propertyNames", "unevaluatedProperties",
		"dependentRequired", "dependentSchemas", "dependencies", "if", "then", "else", "not":
		return true
	case "minItems":
		return value.Float() > 1
	case "format":
		switch value.String() {
		case "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid":
			return false
		}
		return true
	}
	return false
}

// hints formats the removed keywords for the description.
func (n *narrower) hints(v rawjson.Value) string {
	var hints []string
	v.ForEach(func(key, value rawjson.Value) bool {
		if name := key.String(); unknown(name, value) {
			n.note(name)
			hints = append(hints, name+": "+show.Cut(value.Raw, 200))
		}
		return true
	})
	if len(hints) == 0 {
		return ""
	}
	return "(" + strings.Join(hints, ", ") + ")"
}

// member converts the value of a keyword if it is a schema or contains schemas.
func (n *narrower) member(name string, v rawjson.Value, depth int) []byte {
	switch name {
	case "properties", "$defs", "definitions":
		if !v.IsObject() {
			return []byte(v.Raw)
		}
		var w rawjson.Writer
		w.Open()
		v.ForEach(func(key, schema rawjson.Value) bool {
			w.Raw(key.String(), n.schema(schema, depth+1))
			return true
		})
		w.Close()
		return w.Out
	case "anyOf", "allOf", "oneOf":
		return n.list(v, depth)
	case "items":
		if v.IsList() {
			return n.list(v, depth)
		}
		return n.schema(v, depth+1)
	}
	return []byte(v.Raw)
}

func (n *narrower) list(v rawjson.Value, depth int) []byte {
	if !v.IsList() {
		return []byte(v.Raw)
	}
	w := rawjson.Writer{Out: []byte{'['}}
	v.ForEach(func(_, schema rawjson.Value) bool {
		w.Element(n.schema(schema, depth+1))
		return true
	})
	w.CloseList()
	return w.Out
}
