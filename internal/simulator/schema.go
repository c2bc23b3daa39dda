package simulator

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// Limits for recursive schemas: below shallowDepth only required members are set, and below maxDepth values are null.
const (
	shallowDepth = 3
	maxDepth     = 16
)

// sampler generates values for one schema document.
type sampler struct{ root node }

// Sample returns JSON that satisfies a schema, as far as it uses common keywords. Regular expressions are ignored.
func Sample(schema json.RawMessage) json.RawMessage {
	root := parseNode(schema)
	if !root.exists() {
		return json.RawMessage("{}")
	}
	return Encode(sampler{root}.value(root, "value", 0))
}

func (g sampler) value(s node, name string, depth int) any {
	if depth > maxDepth {
		return nil
	}
	s = g.resolve(s, depth, 0)
	if constant := s.get("const"); constant.exists() {
		return constant.value
	}
	if options := s.get("enum").list(); len(options) > 0 {
		return options[0].value
	}
	switch g.kind(s, depth) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, name, depth)
	case "integer":
		return int(math.Ceil(g.number(s, 1)))
	case "number":
		return g.number(s, 0.5)
	case "boolean":
		return true
	case "null":
		return nil
	}
	return g.text(s, name)
}

// kind returns the type of the value to generate. Of several types it is the first one that is not null.
func (g sampler) kind(s node, depth int) string {
	for _, kind := range s.get("type").texts() {
		if kind != "null" || len(s.get("type").list()) == 1 {
			return kind
		}
	}
	switch {
	case s.get("properties").exists() || s.get("required").exists() || depth == 0:
		return "object"
	case s.get("items").exists() || s.get("prefixItems").exists():
		return "array"
	case s.get("minimum").exists() || s.get("maximum").exists():
		return "number"
	}
	return "string"
}

func (g sampler) object(s node, depth int) Object {
	members, _ := s.get("properties").value.(map[string]any)
	names := s.get("required").texts()
	if names == nil && depth <= shallowDepth {
		names = slices.Collect(maps.Keys(members))
	}
	o := Object{}
	for _, name := range names {
		o[name] = g.value(node{members[name]}, name, depth+1)
	}
	return o
}

func (g sampler) array(s node, name string, depth int) []any {
	first := s.get("prefixItems").list()
	n := max(s.get("minItems").number(), len(first))
	if n == 0 && depth <= shallowDepth && s.get("maxItems").raw() == nil {
		n = 1
	}
	list := []any{}
	for i := range min(n, 100) {
		item := s.get("items")
		if i < len(first) {
			item = first[i]
		}
		list = append(list, g.value(item, name, depth+1))
	}
	return list
}

// number moves a small number into the allowed range. step keeps a distance to exclusive bounds.
func (g sampler) number(s node, step float64) float64 {
	bound := func(name string) (float64, bool) {
		v, ok := s.get(name).value.(json.Number)
		f, err := v.Float64()
		return f, ok && err == nil
	}
	v := 1.0
	if low, ok := bound("minimum"); ok {
		v = max(v, low)
	}
	if low, ok := bound("exclusiveMinimum"); ok {
		v = max(v, low+step)
	}
	if high, ok := bound("maximum"); ok {
		v = min(v, high)
	}
	if high, ok := bound("exclusiveMaximum"); ok {
		v = min(v, high-step)
	}
	if unit, ok := bound("multipleOf"); ok && unit > 0 {
		v = math.Ceil(v/unit) * unit
	}
	return v
}

func (g sampler) text(s node, name string) string {
	formats := map[string]string{
		"date-time": "2026-01-01T12:00:00Z", "date": "2026-01-01", "time": "12:00:00Z", "duration": "PT1H", "email": "simulated@example.com",
		"hostname": "simulated.example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uuid": "00000000-0000-4000-8000-000000000000",
		"uri": "https://example.com/simulated",
	}
	if value, ok := formats[s.get("format").text()]; ok {
		return value
	}
	value := "simulated " + name
	if missing := s.get("minLength").number() - len(value); missing > 0 {
		value += strings.Repeat(".", min(missing, 10_000))
	}
	if limit := s.get("maxLength"); limit.exists() && len(value) > limit.number() {
		value = strings.ToValidUTF8(value[:max(limit.number(), 0)], "")
	}
	return value
}

// resolve joins a schema with its reference, its allOf schemas and the first branch of its anyOf or oneOf that is not null.
func (g sampler) resolve(s node, depth, hops int) node {
	object, ok := s.value.(map[string]any)
	if !ok || hops > maxDepth {
		return node{}
	}
	parts := s.get("allOf").list()
	if ref, found := strings.CutPrefix(s.get("$ref").text(), "#"); found {
		path := strings.FieldsFunc(ref, func(r rune) bool { return r == '/' })
		parts = append(parts, g.root.get(path...))
	}
	if branches := append(s.get("anyOf").list(), s.get("oneOf").list()...); len(branches) > 0 {
		i := slices.IndexFunc(branches, func(b node) bool { return (b.get("type").text() == "null") == (depth > shallowDepth) })
		parts = append(parts, branches[max(i, 0)])
	}
	if len(parts) == 0 {
		return s
	}
	joined := maps.Clone(object)
	for _, part := range parts {
		more, _ := g.resolve(part, depth, hops+1).value.(map[string]any)
		for name, value := range more {
			switch old := joined[name].(type) {
			case nil:
				joined[name] = value
			case []any:
				if list, ok := value.([]any); ok && name == "required" {
					joined[name] = append(slices.Clone(old), list...)
				}
			case map[string]any:
				if members, ok := value.(map[string]any); ok && name == "properties" {
					both := maps.Clone(members)
					maps.Copy(both, old)
					joined[name] = both
				}
			}
		}
	}
	for _, name := range []string{"allOf", "$ref", "anyOf", "oneOf"} {
		delete(joined, name)
	}
	return node{joined}
}
