package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Limits for recursive schemas. At levels deeper than shallowDepth, only required members are set. At levels deeper than
// maxDepth or after maxNodes values, no members are set, because no finite value satisfies such a schema.
const (
	shallowDepth = 3
	maxDepth     = 32
	maxNodes     = 5000
)

// schema is the supported part of JSON Schema.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        json.RawMessage   `json:"type"`
	Nullable    bool              `json:"nullable"`
	Const       json.RawMessage   `json:"const"`
	Enum        []json.RawMessage `json:"enum"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       []json.RawMessage `json:"oneOf"`
	AllOf       []json.RawMessage `json:"allOf"`
	Properties  properties        `json:"properties"`
	Required    []string          `json:"required"`
	Items       json.RawMessage   `json:"items"`
	PrefixItems []json.RawMessage `json:"prefixItems"`
	MinItems    int               `json:"minItems"`
	MaxItems    *int              `json:"maxItems"`
	text
	numeric
}

type text struct {
	Pattern   string `json:"pattern"`
	Format    string `json:"format"`
	MinLength int    `json:"minLength"`
	MaxLength *int   `json:"maxLength"`
}

type numeric struct {
	Minimum          *float64 `json:"minimum"`
	Maximum          *float64 `json:"maximum"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64 `json:"exclusiveMaximum"`
	MultipleOf       float64  `json:"multipleOf"`
}

// properties preserves the schema's property order, because models write members in that order.
type properties struct {
	names  []string
	values map[string]json.RawMessage
}

// UnmarshalJSON reads an object and keeps the order of its members.
func (p *properties) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return err
	}
	p.values = map[string]json.RawMessage{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		p.names = append(p.names, name.(string))
		p.values[name.(string)] = value
	}
	return nil
}

// sampler generates values for one schema document.
type sampler struct {
	root  json.RawMessage
	draws Rand
	nodes int
}

// spot is a position in the value.
type spot struct {
	name  string // name of the member
	nth   int    // index of the value in its list
	depth int
}

// Instance returns JSON that satisfies the schema, as far as the schema uses the supported keywords. The same schema
// and seed give the same JSON.
func Instance(raw json.RawMessage, seed uint64) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	g := &sampler{root: raw, draws: Rand{State: seed}}
	return g.value(raw, spot{})
}

func (g *sampler) value(raw json.RawMessage, at spot) json.RawMessage {
	g.nodes++
	if at.depth > maxDepth || g.nodes > maxNodes {
		return json.RawMessage("null")
	}
	s := g.resolve(raw, at, 0)
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[(g.draws.IntN(len(s.Enum))+at.nth)%len(s.Enum)]
	}
	switch s.kind(at) {
	case "object":
		return g.object(s, at)
	case "array":
		return g.array(s, at)
	case "integer":
		return g.number(s.numeric, at, true)
	case "number":
		return g.number(s.numeric, at, false)
	case "boolean":
		return Encode(g.draws.IntN(2) == 1)
	case "null":
		return json.RawMessage("null")
	default:
		return Encode(g.text(s.text, at))
	}
}

// resolve joins a schema with its references, its allOf schemas and one branch of its anyOf or oneOf into a single schema.
func (g *sampler) resolve(raw json.RawMessage, at spot, hops int) schema {
	var s schema
	_ = json.Unmarshal(raw, &s) // keywords of an unexpected type are ignored; true and false are treated as the empty schema
	if hops > maxDepth {
		return s
	}
	if s.Ref != "" {
		s = s.join(g.resolve(g.refer(s.Ref), at, hops+1))
	}
	for _, part := range s.AllOf {
		s = s.join(g.resolve(part, at, hops+1))
	}
	if branches := slices.Concat(s.AnyOf, s.OneOf); len(branches) > 0 {
		s = s.join(g.resolve(g.branch(branches, at), at, hops+1))
	}
	s.Ref, s.AllOf, s.AnyOf, s.OneOf = "", nil, nil, nil
	return s
}

// branch selects an alternative: the first one that is not null. In deep values it selects null or, if null is not allowed, the
// alternative with the fewest references.
func (g *sampler) branch(branches []json.RawMessage, at spot) json.RawMessage {
	isNull := func(raw json.RawMessage) bool {
		var s schema
		_ = json.Unmarshal(raw, &s)
		return string(s.Type) == `"null"`
	}
	if at.depth > shallowDepth {
		if i := slices.IndexFunc(branches, isNull); i >= 0 {
			return branches[i]
		}
		return slices.MinFunc(branches, func(a, b json.RawMessage) int {
			return strings.Count(string(a), "$ref") - strings.Count(string(b), "$ref")
		})
	}
	if i := slices.IndexFunc(branches, func(raw json.RawMessage) bool { return !isNull(raw) }); i >= 0 {
		return branches[i]
	}
	return branches[0]
}

// refer resolves a reference inside the document, such as #/$defs/step.
func (g *sampler) refer(ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return json.RawMessage("true")
	}
	found := g.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if name == "" {
			continue
		}
		var object map[string]json.RawMessage
		_ = json.Unmarshal(found, &object)
		found = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	if found == nil {
		return json.RawMessage("true")
	}
	return found
}

// join adds the constraints of t to s.
func (s schema) join(t schema) schema {
	if s.Properties.values == nil {
		s.Properties = t.Properties
	} else {
		s.Properties = properties{names: slices.Clone(s.Properties.names), values: maps.Clone(s.Properties.values)}
		for _, name := range t.Properties.names {
			if _, ok := s.Properties.values[name]; !ok {
				s.Properties.names = append(s.Properties.names, name)
				s.Properties.values[name] = t.Properties.values[name]
			}
		}
	}
	s.Required = slices.Concat(s.Required, t.Required)
	s.Nullable = s.Nullable || t.Nullable
	if s.Type == nil {
		s.Type = t.Type
	}
	if s.Const == nil {
		s.Const = t.Const
	}
	if s.Enum == nil {
		s.Enum = t.Enum
	}
	if s.Items == nil && s.PrefixItems == nil {
		s.Items, s.PrefixItems, s.MinItems, s.MaxItems = t.Items, t.PrefixItems, t.MinItems, t.MaxItems
	}
	if s.text == (text{}) {
		s.text = t.text
	}
	if s.numeric == (numeric{}) {
		s.numeric = t.numeric
	}
	return s
}

// kind returns the type of the value to generate.
func (s schema) kind(at spot) string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return one
	}
	var several []string
	if json.Unmarshal(s.Type, &several) == nil && len(several) > 0 {
		if at.depth > shallowDepth && slices.Contains(several, "null") {
			return "null"
		}
		if i := slices.IndexFunc(several, func(t string) bool { return t != "null" }); i >= 0 {
			return several[i]
		}
		return "null"
	}
	switch {
	case s.Properties.values != nil || len(s.Required) > 0 || at.depth == 0:
		return "object"
	case s.Items != nil || s.PrefixItems != nil:
		return "array"
	case s.numeric != (numeric{}):
		return "number"
	}
	return "string"
}
