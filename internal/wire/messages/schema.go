package messages

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead/internal/wire/show"
)

// maxSchemaDepth bounds how deep a schema is looked through; what lies deeper goes out as it is.
const maxSchemaDepth = 32

// refused are the keywords that the provider does not hold an answer to.
var refused = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
	"maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "unevaluatedItems",
	"minProperties", "maxProperties", "patternProperties", "propertyNames", "unevaluatedProperties",
	"dependentRequired", "dependentSchemas", "dependencies", "if", "then", "else", "not",
}

// formats are those that the provider knows.
var formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

// narrowSchema returns a schema as the provider takes it, members in the caller's order. What it refuses becomes a word in the
// description, so that the model still reads it. what names the schema in warnings.
func (r *renderer) narrowSchema(schema json.RawMessage, what string) []byte {
	n := narrower{}
	out := n.schema(gjson.ParseBytes(schema), 0)
	if len(n.removed) > 0 {
		r.warn("%s was narrowed to what the provider takes: %s", what, show.Cut(strings.Join(n.removed, ", "), 200))
	}
	return out
}

type narrower struct{ removed []string }

func (n *narrower) note(what string) {
	if !slices.Contains(n.removed, what) {
		n.removed = append(n.removed, what)
	}
}

func (n *narrower) schema(v gjson.Result, depth int) []byte {
	if !v.IsObject() || depth > maxSchemaDepth {
		return []byte(v.Raw)
	}
	description := strings.TrimSpace(v.Get("description").String() + " " + n.hints(v))
	closed := false
	var w Writer
	w.Open()
	v.ForEach(func(key, value gjson.Result) bool {
		switch name := key.String(); {
		case unknown(name, value):
		case name == "description":
			w.Str(name, description)
		case name == "additionalProperties":
			closed = true
			if value.Type != gjson.False {
				n.note(name)
			}
			w.Bool(name, false)
		default:
			w.Raw(n.keyword(name), n.member(name, value, depth))
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

// unknown reports what the provider refuses.
func unknown(name string, value gjson.Result) bool {
	return slices.Contains(refused, name) || name == "minItems" && value.Num > 1 ||
		name == "format" && !slices.Contains(formats, value.String())
}

// hints says in words what is removed.
func (n *narrower) hints(v gjson.Result) string {
	var hints []string
	v.ForEach(func(key, value gjson.Result) bool {
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

// keyword renames what the provider knows by another name.
func (n *narrower) keyword(name string) string {
	if name == "oneOf" {
		n.note(name)
		return "anyOf"
	}
	return name
}

// member looks through the values that are schemas, or hold some.
func (n *narrower) member(name string, v gjson.Result, depth int) []byte {
	switch name {
	case "properties", "$defs", "definitions":
		if !v.IsObject() {
			return []byte(v.Raw)
		}
		var w Writer
		w.Open()
		v.ForEach(func(key, schema gjson.Result) bool {
			w.Raw(key.String(), n.schema(schema, depth+1))
			return true
		})
		w.Close()
		return w.Out
	case "anyOf", "allOf", "oneOf":
		return n.list(v, depth)
	case "items":
		if v.IsArray() {
			return n.list(v, depth)
		}
		return n.schema(v, depth+1)
	}
	return []byte(v.Raw)
}

func (n *narrower) list(v gjson.Result, depth int) []byte {
	if !v.IsArray() {
		return []byte(v.Raw)
	}
	w := Writer{Out: []byte{'['}}
	v.ForEach(func(_, schema gjson.Result) bool {
		w.Element(n.schema(schema, depth+1))
		return true
	})
	w.CloseList()
	return w.Out
}
