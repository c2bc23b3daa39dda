package gemini

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/upstream"
)

// Limits for one schema, with its references resolved.
const (
	maxNodes     = 3000
	maxDepth     = 40
	maxWork      = 8 << 20 // maximum number of bytes read
	maxRecursion = 2       // maximum depth to which a recursive reference is resolved
)

// schema is the subset of OpenAPI's schema object that the API supports.
type schema struct {
	Type        string         `json:"type,omitzero"`
	Format      string         `json:"format,omitzero"`
	Title       string         `json:"title,omitzero"`
	Description string         `json:"description,omitzero"`
	Nullable    bool           `json:"nullable,omitzero"`
	Enum        []string       `json:"enum,omitzero"`
	Pattern     string         `json:"pattern,omitzero"`
	MinLength   jsontext.Value `json:"minLength,omitzero"`
	MaxLength   jsontext.Value `json:"maxLength,omitzero"`
	Minimum     jsontext.Value `json:"minimum,omitzero"`
	Maximum     jsontext.Value `json:"maximum,omitzero"`
	MinItems    jsontext.Value `json:"minItems,omitzero"`
	MaxItems    jsontext.Value `json:"maxItems,omitzero"`
	Items       *schema        `json:"items,omitzero"`
	Properties  ordered        `json:"properties,omitzero"`
	Required    []string       `json:"required,omitempty"`
	Ordering    []string       `json:"propertyOrdering,omitzero"`
	AnyOf       []*schema      `json:"anyOf,omitzero"`

	at map[string]int // position of each property in Properties, by name; set by merge
}

// noArguments reports whether the schema describes an object without members. The API requires that such a schema is
// omitted.
func noArguments(raw jsontext.Value) bool {
	m, ok := readMembers(raw)
	if !ok {
		return true
	}
	if inner, _ := readMembers(m.get("properties")); len(inner) > 0 {
		return false
	}
	for _, key := range []string{"$ref", "anyOf", "oneOf", "allOf"} {
		if m.get(key) != nil {
			return false
		}
	}
	kind := upstream.Text(m.get("type"))
	return kind == "" || kind == "object"
}

// convertSchema converts JSON Schema to the OpenAPI subset: references are resolved, type lists become nullable or alternatives, constants
// become enums, and unsupported keywords are dropped. lost lists significant changes. If ordered is true, the result includes the order of
// the members, which response schemas need.
func convertSchema(raw jsontext.Value, ordered bool, left *schemaBudget) (out jsontext.Value, lost []string, err error) {
	c := converter{root: raw, ordered: ordered, left: left, found: map[string]map[string]jsontext.Value{}}
	s := c.convert(raw, nil)
	if c.err != nil {
		return nil, nil, c.err
	}
	out, err = encode(s)
	return out, c.lost, err
}

// schemaBudget limits the total size of all schemas of a request. Resolving references can make a small schema large, so many small tools
// could otherwise use any amount of memory.
type schemaBudget struct{ nodes, work int }

// newSchemaBudget returns a budget that grows with the size of the schemas, plus enough for several schemas that each reach the limits for
// one schema.
func newSchemaBudget(conv *llm.Conversation) *schemaBudget {
	size := len(conv.Output.Schema)
	for i := range conv.Tools {
		size += len(conv.Tools[i].Schema)
	}
	return &schemaBudget{nodes: 10*maxNodes + size/8, work: 2*maxWork + 16*size}
}

type converter struct {
	left    *schemaBudget
	root    jsontext.Value
	ordered bool
	nodes   int
	work    int
	found   map[string]map[string]jsontext.Value // members of the objects that contain the targets of references, by JSON pointer
	lost    show.Warnings
	err     error
}

// convert converts one schema. trail has one entry per enclosing level: the reference that was resolved at that level, or an empty string.
func (c *converter) convert(raw jsontext.Value, trail []string) *schema {
	c.nodes++
	c.work += len(raw)
	c.left.nodes--
	c.left.work -= len(raw)
	if c.nodes > maxNodes || c.work > maxWork || len(trail) > maxDepth || c.left.nodes < 0 || c.left.work < 0 {
		c.err = errors.New("the schema is too large after its references are resolved")
	}
	if c.err != nil {
		return &schema{}
	}
	m, ok := readMembers(raw)
	if !ok || len(m) == 0 {
		return &schema{Type: "string"} // the subset cannot express "any value"
	}
	s := &schema{}
	if ref := upstream.Text(m.get("$ref")); ref != "" {
		s = c.refer(ref, trail)
	}
	down := append(slices.Clip(trail), "")
	for _, raw := range readList(m.get("allOf")) {
		s.merge(c.convert(raw, down))
	}
	switch kinds := c.kinds(s, m); len(kinds) {
	case 0:
	case 1:
		c.constrain(s, kinds[0], m, down)
	default:
		for _, kind := range kinds {
			one := &schema{}
			c.constrain(one, kind, m, down)
			s.AnyOf = append(s.AnyOf, c.finished(one))
		}
	}
	c.enumerate(s, m)
	c.alternatives(s, m, down)
	// The schema's own title and description take precedence over those of a referenced schema.
	if title := upstream.Text(m.get("title")); title != "" {
		s.Title = title
	}
	if description := upstream.Text(m.get("description")); description != "" {
		if strings.HasPrefix(s.Description, "One of: ") {
			description += " " + s.Description
		}
		s.Description = description
	}
	return c.finished(s)
}

// refer resolves a reference, up to the maximum recursion depth.
func (c *converter) refer(ref string, trail []string) *schema {
	met := 0
	for _, r := range trail {
		if r == ref {
			met++
		}
	}
	if met >= maxRecursion {
		c.lost.Add("a recursive schema was truncated")
		return &schema{Type: "object"}
	}
	target, ok := c.resolve(ref)
	if !ok {
		c.lost.Add("the reference %s cannot be resolved", show.Name(ref))
		return &schema{Type: "string"}
	}
	return c.convert(target, append(slices.Clip(trail), ref))
}

// kinds returns the types that the schema declares or implies.
func (c *converter) kinds(s *schema, m members) []string {
	var kinds []string
	if kind := upstream.Text(m.get("type")); kind != "" {
		kinds = []string{kind}
	}
	for _, raw := range readList(m.get("type")) {
		kinds = append(kinds, upstream.Text(raw))
	}
	if slices.Contains(kinds, "null") {
		s.Nullable = true
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "null" })
		if len(kinds) == 0 && len(s.AnyOf) == 0 {
			kinds = []string{"string"}
		}
	}
	if len(kinds) == 0 {
		switch {
		case m.get("properties") != nil:
			kinds = []string{"object"}
		case m.get("items") != nil || m.get("prefixItems") != nil:
			kinds = []string{"array"}
		}
	}
	return kinds
}

func (c *converter) constrain(s *schema, kind string, m members, trail []string) {
	s.Type = kind
	switch format := upstream.Text(m.get("format")); format {
	case "enum", "date-time", "float", "double", "int32", "int64":
		s.Format = format
	}
	switch kind {
	case "object":
		inner, _ := readMembers(m.get("properties"))
		for _, p := range inner {
			s.Properties = append(s.Properties, orderedMember{p.name, c.convert(p.value, trail)})
		}
		for _, raw := range readList(m.get("required")) {
			s.Required = append(s.Required, upstream.Text(raw))
		}
	case "array":
		s.MinItems, s.MaxItems = number(m.get("minItems")), number(m.get("maxItems"))
		places := append(readList(m.get("prefixItems")), readList(m.get("items"))...)
		if len(places) == 0 {
			s.Items = c.convert(m.get("items"), trail)
			break
		}
		c.lost.Add("a tuple became a list of alternatives") // the subset requires that all elements have the same type
		one := &schema{}
		for _, place := range places {
			one.AnyOf = append(one.AnyOf, c.convert(place, trail))
		}
		s.Items = c.finished(one)
	case "string":
		s.MinLength, s.MaxLength = number(m.get("minLength")), number(m.get("maxLength"))
		s.Pattern = upstream.Text(m.get("pattern"))
	case "integer", "number":
		s.Minimum, s.Maximum = number(m.get("minimum")), number(m.get("maximum"))
	}
}

// enumerate converts enum and const. The subset supports only strings.
func (c *converter) enumerate(s *schema, m members) {
	values := readList(m.get("enum"))
	if value := m.get("const"); value != nil {
		values = []jsontext.Value{value}
	}
	var texts, others []string
	for _, raw := range values {
		switch {
		case string(raw) == "null":
			s.Nullable = true
		case raw[0] == '"':
			texts = append(texts, upstream.Text(raw))
		default:
			others = append(others, string(raw))
		}
	}
	if len(others) > 0 {
		s.Description = strings.TrimSpace("One of: " + strings.Join(append(texts, others...), ", ") + ". " + s.Description)
		if s.Type == "" && len(s.AnyOf) == 0 {
			switch first := others[0]; {
			case first == "true" || first == "false":
				s.Type = "boolean"
			case strings.ContainsAny(first, ".eE"):
				s.Type = "number"
			case first[0] == '{':
				s.Type = "object"
			default:
				s.Type = "integer"
			}
		}
		return
	}
	if len(texts) > 0 && (s.Type == "" || s.Type == "string") {
		s.Type, s.Enum = "string", texts
	}
}

// alternatives converts anyOf and oneOf. If null is an alternative, the schema becomes nullable.
func (c *converter) alternatives(s *schema, m members, trail []string) {
	list := append(readList(m.get("anyOf")), readList(m.get("oneOf"))...)
	var options []*schema
	for _, raw := range list {
		if inner, ok := readMembers(raw); ok && upstream.Text(inner.get("type")) == "null" {
			s.Nullable = true
			continue
		}
		options = append(options, c.convert(raw, trail))
	}
	switch {
	case len(options) == 0:
	case len(options) == 1:
		s.merge(options[0])
	case len(s.Properties) > 0:
		c.lost.Add("alternatives next to properties were dropped")
	default:
		s.Type = ""
		s.AnyOf = options
	}
}

// finished makes the schema valid for the API: it sets a missing type and removes unknown names from required.
func (c *converter) finished(s *schema) *schema {
	if s.Type == "" && len(s.AnyOf) == 0 {
		s.Type = "string"
	}
	if s.Type == "array" && s.Items == nil {
		s.Items = &schema{Type: "string"}
	}
	names, known := make([]string, len(s.Properties)), make(map[string]bool, len(s.Properties))
	for i, p := range s.Properties {
		names[i], known[p.name] = p.name, true
	}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return !known[name] })
	if c.ordered && len(names) > 1 {
		s.Ordering = names
	}
	return s
}

// merge adds the constraints of another schema.
func (s *schema) merge(o *schema) {
	if s.at == nil {
		s.at = make(map[string]int, len(s.Properties)+len(o.Properties))
		for i, p := range s.Properties {
			s.at[p.name] = i
		}
	}
	for _, p := range o.Properties {
		if i, has := s.at[p.name]; has {
			s.Properties[i] = p
			continue
		}
		s.at[p.name] = len(s.Properties)
		s.Properties = append(s.Properties, p)
	}
	s.Required = append(s.Required, o.Required...)
	rest := *o
	rest.Properties, rest.Required, rest.at = s.Properties, s.Required, s.at
	rest.Nullable = s.Nullable || o.Nullable
	if o.Type == "" || o.Type == "string" && s.Type != "" {
		rest.Type = s.Type // keep the type, because the other schema has no type or only the default type
	}
	if len(s.Properties) > 0 {
		rest.AnyOf = nil
	}
	if rest.Items == nil {
		rest.Items = s.Items
	}
	if rest.Enum == nil {
		rest.Enum = s.Enum
	}
	if rest.Description == "" {
		rest.Description = s.Description
	}
	*s = rest
}

// resolve returns the target of a reference inside the document.
func (c *converter) resolve(ref string) (jsontext.Value, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return nil, false
	}
	at, pointer := c.root, ""
	for _, step := range strings.Split(rest, "/")[1:] {
		byName, known := c.found[pointer]
		if !known {
			m, _ := readMembers(at)
			byName = make(map[string]jsontext.Value, len(m))
			for _, one := range m {
				byName[one.name] = one.value
			}
			c.found[pointer] = byName
		}
		if at = byName[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]; at == nil {
			return nil, false
		}
		pointer += "/" + step
	}
	return at, true
}

// number returns raw if it is a JSON number, otherwise nil.
func number(raw jsontext.Value) jsontext.Value {
	if raw.Kind() != '0' {
		return nil
	}
	return raw
}
