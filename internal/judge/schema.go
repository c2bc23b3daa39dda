package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of one check. Schemas and responses come from clients, and a short schema can demand unlimited work: references visit a value
// exponentially often, and the cost of a pattern is its expanded size times the length of the text.
const (
	maxWork     = 1_000_000 // steps of about 100 ns
	maxTime     = time.Second
	maxDepth    = 500 // nested schemas
	maxNumber   = 40  // characters of a number; exact arithmetic with large exponents takes too long
	maxExponent = 5   // characters of an exponent
)

// checker validates JSON against the JSON schemas of a request. It supports the keywords of structured outputs, because
// no library limits its work. It ends a check with the panic undecided beyond a limit, when ctx is done, and for a schema that is invalid,
// has other keywords or refers to other documents.
type checker struct {
	ctx   context.Context //nolint:containedctx // the context of the check, which is the lifetime of the checker
	root  any             // schema that contains the targets of references
	left  int             // remaining steps
	depth int
}

type undecided struct{}

// spend counts steps before they are made.
func (c *checker) spend(steps int) {
	if c.left -= steps; c.left < 0 || c.ctx.Err() != nil {
		panic(undecided{})
	}
}

// as returns a part of a schema, which must have the given type.
func as[T any](v any) T {
	part, ok := v.(T)
	if !ok {
		panic(undecided{})
	}
	return part
}

// decode parses a JSON document.
func (c *checker) decode(text []byte) (v any, ok bool) {
	c.spend(1 + len(text)/16)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, err == io.EOF
}

// valid reports whether text is JSON that matches the schema. An empty schema accepts any JSON.
func (c *checker) valid(schema []byte, text string) bool {
	c.root = true
	if len(schema) > 0 && string(schema) != "null" {
		var ok bool
		if c.root, ok = c.decode(schema); !ok {
			panic(undecided{})
		}
	}
	value, ok := c.decode([]byte(text))
	return ok && c.matches(c.root, value)
}

// matches reports whether the value matches the schema.
func (c *checker) matches(schema, value any) bool {
	if accepts, ok := schema.(bool); ok {
		return accepts
	}
	keywords := as[map[string]any](schema)
	c.spend(1 + len(keywords))
	if c.depth++; c.depth > maxDepth {
		panic(undecided{})
	}
	defer func() { c.depth-- }()
	for _, keyword := range slices.Sorted(maps.Keys(keywords)) { // sorted, so that the result does not depend on the order of a map
		if !c.matchesKeyword(keywords, keyword, value) {
			return false
		}
	}
	return true
}

func (c *checker) matchesKeyword(schema map[string]any, keyword string, value any) bool {
	arg := schema[keyword]
	matches := func(schema any) bool { return c.matches(schema, value) }
	fails := func(schema any) bool { return !c.matches(schema, value) }
	object, _ := value.(map[string]any)
	list, isList := value.([]any)
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch keyword {
	case "$schema", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly":
		return true
	case "$ref":
		return matches(c.resolve(as[string](arg)))
	case "type":
		if names, ok := arg.([]any); ok {
			return slices.ContainsFunc(names, func(name any) bool { return hasType(value, as[string](name)) })
		}
		return hasType(value, as[string](arg))
	case "const":
		return c.equal(arg, value)
	case "enum":
		return slices.ContainsFunc(as[[]any](arg), func(v any) bool { return c.equal(v, value) })
	case "not":
		return fails(arg)
	case "allOf":
		return !slices.ContainsFunc(as[[]any](arg), fails)
	case "anyOf":
		return slices.ContainsFunc(as[[]any](arg), matches)
	case "oneOf":
		return len(slices.DeleteFunc(slices.Clone(as[[]any](arg)), fails)) == 1
	case "properties":
		for name, schema := range as[map[string]any](arg) {
			if member, ok := object[name]; ok && !c.matches(schema, member) {
				return false
			}
		}
		return true
	case "additionalProperties":
		listed, _ := schema["properties"].(map[string]any)
		for name, member := range object {
			if _, ok := listed[name]; !ok && !c.matches(arg, member) {
				return false
			}
		}
		return true
	case "required":
		return object == nil || !slices.ContainsFunc(as[[]any](arg), func(name any) bool { _, ok := object[as[string](name)]; return !ok })
	case "items":
		return !slices.ContainsFunc(list, func(item any) bool { return !c.matches(arg, item) })
	case "pattern":
		return !isText || c.find(as[string](arg), text)
	case "minimum":
		return !isNumber || compare(number, arg) >= 0
	case "maximum":
		return !isNumber || compare(number, arg) <= 0
	case "exclusiveMinimum":
		return !isNumber || compare(number, arg) > 0
	case "exclusiveMaximum":
		return !isNumber || compare(number, arg) < 0
	case "minLength":
		return !isText || compare(c.length(text), arg) >= 0
	case "maxLength":
		return !isText || compare(c.length(text), arg) <= 0
	case "minItems":
		return !isList || compare(json.Number(strconv.Itoa(len(list))), arg) >= 0
	case "maxItems":
		return !isList || compare(json.Number(strconv.Itoa(len(list))), arg) <= 0
	}
	panic(undecided{})
}

// resolve returns the part of the schema to which a reference such as #/$defs/name points.
func (c *checker) resolve(ref string) any {
	c.spend(len(ref))
	part := c.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		panic(undecided{})
	}
	for _, name := range strings.Split(path, "/")[1:] {
		if part, ok = as[map[string]any](part)[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok {
			panic(undecided{})
		}
	}
	return part
}

func hasType(value any, name string) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "number" || name == "integer" && rational(value).IsInt()
	case []any:
		return name == "array"
	}
	return name == "object"
}

// find reports whether text contains a match of a pattern.
func (c *checker) find(pattern, text string) bool {
	c.spend(len(pattern) * 100)
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(undecided{})
	}
	c.spend(patternSize(tree) * (1 + len(text)))
	return regexp.MustCompile(pattern).MatchString(text)
}

// patternSize returns the approximate size of a compiled pattern. The parser limits nested repetitions to 1,000.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}

// length returns the number of characters in text.
func (c *checker) length(text string) json.Number {
	c.spend(len(text) / 16)
	return json.Number(strconv.Itoa(utf8.RuneCountInString(text)))
}

func compare(n json.Number, limit any) int { return rational(n).Cmp(rational(as[json.Number](limit))) }

// rational returns the exact value of a number.
func rational(n json.Number) *big.Rat {
	e := strings.IndexAny(n.String(), "eE")
	if len(n) > maxNumber || e >= 0 && len(n)-e > maxExponent {
		panic(undecided{})
	}
	value, _ := new(big.Rat).SetString(n.String()) // a JSON number always has a value
	return value
}

// equalJSON reports whether two documents have the same meaning. It ignores the order of members and the notation of numbers and strings.
func (c *checker) equalJSON(a, b string) bool {
	x, ok := c.decode([]byte(a))
	if !ok {
		return false
	}
	y, ok := c.decode([]byte(b))
	return ok && c.equal(x, y)
}

func (c *checker) equal(x, y any) bool {
	c.spend(1)
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, value := range x {
			other, ok := y[name]
			if !ok || !c.equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := y.([]any)
		return ok && slices.EqualFunc(x, y, c.equal)
	case string:
		c.spend(len(x) / 16)
		return x == y
	case json.Number:
		y, ok := y.(json.Number)
		return ok && (x == y || rational(x).Cmp(rational(y)) == 0)
	default:
		return x == y
	}
}
