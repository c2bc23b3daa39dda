package vendors

import (
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed shapes/*.txt
var shapeFiles embed.FS

// shapes describes the objects of one vendor's API by name. The files in shapes/ describe each object:
//
//	struct NAME            an object with exactly these members
//	one NAME               an object with exactly one of these members; + marks members that may be added to it
//	union NAME MEMBER      an object whose MEMBER names the struct that describes it; _ is for objects without MEMBER
//	  member! TYPE         ! marks a required member
//
// A TYPE is string, filled (a non-empty string), int, number, bool, object, any, blob (base64), a name, [TYPE], {TYPE} for
// a map, =a,b,c for an enumeration, or /expression/ for a string that matches. (1..5) limits the value, ? allows null, and
// | separates alternatives. The tables written by generate.py contain every member in the vendor's own package. The other
// tables contain the part that the simulator reads, with limits.
type shapes map[string]*shape

type shape struct {
	kind   string // "struct", "one" or "union"
	tag    string // tag member of a union
	fields map[string]field
}

type field struct {
	required, beside bool
	types            []typ
}

type typ struct {
	base     string // a word, a name, "[]", "{}", "=" or "/"
	elem     []typ
	enum     []string
	match    *regexp.Regexp
	min, max *float64
	nullable bool
}

// loadShapes parses the embedded shapes of a vendor. It panics if the vendor has none.
func loadShapes(name string) shapes {
	text, err := shapeFiles.ReadFile("shapes/" + name + ".txt")
	if err != nil {
		panic(err) // unreachable: the files are embedded
	}
	s := shapes{}
	var current *shape
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case line[0] != ' ':
			current = &shape{kind: words[0], fields: map[string]field{}}
			if len(words) > 2 {
				current.tag = words[2]
			}
			s[words[1]] = current
		default:
			name, beside := strings.CutPrefix(words[0], "+")
			name, required := strings.CutSuffix(name, "!")
			current.fields[name] = field{required: required, beside: beside, types: parseTypes(strings.Join(words[1:], " "))}
		}
	}
	return s
}

var bounds = regexp.MustCompile(`\((-?[\d.]+?)?\.\.(-?[\d.]+)?\)$`)

// parseTypes parses alternatives. An expression in slashes is always a single type, because it may contain any
// character.
func parseTypes(text string) []typ {
	if strings.HasPrefix(text, "/") {
		return []typ{{base: "/", match: regexp.MustCompile("^(?:" + strings.Trim(text, "/") + ")$")}}
	}
	var list []typ
	for _, word := range splitOutside(text, '|') {
		t := typ{}
		word, t.nullable = strings.CutSuffix(word, "?")
		if found := bounds.FindStringSubmatch(word); found != nil {
			t.min, t.max = bound(found[1]), bound(found[2])
			word = strings.TrimSuffix(word, found[0])
		}
		switch word[0] {
		case '[':
			t.base, t.elem = "[]", parseTypes(word[1:len(word)-1])
		case '{':
			t.base, t.elem = "{}", parseTypes(word[1:len(word)-1])
		case '=':
			t.base, t.enum = "=", strings.Split(word[1:], ",")
		default:
			t.base = word
		}
		list = append(list, t)
	}
	return list
}

func bound(text string) *float64 {
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err) // unreachable: the embedded files are valid
	}
	return &v
}

// splitOutside splits a text at a character outside brackets.
func splitOutside(text string, sign rune) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		return r == sign && depth == 0
	})
}

// check returns every problem of a JSON value according to the named shape, sorted by member name.
func (s shapes) check(name string, value any) []string {
	return s.checkShape(name, "", value)
}

func (s shapes) checkShape(name, path string, value any) []string {
	shape, ok := s[name]
	if !ok {
		panic("vendors: no shape " + name) // unreachable: the embedded files are valid
	}
	object, ok := value.(map[string]any)
	if !ok {
		return []string{path + ": want " + "object"}
	}
	if shape.kind == "union" {
		return s.checkUnion(shape, path, object)
	}
	var found []string
	main := 0
	for _, member := range slices.Sorted(maps.Keys(object)) {
		field, known := shape.fields[member]
		if !known {
			found = append(found, path+": unknown member "+member)
			continue
		}
		if !field.beside {
			main++
		}
		found = append(found, s.checkTypes(field.types, join(path, member), object[member])...)
	}
	if shape.kind == "one" && main != 1 {
		found = append(found, path+": must have exactly one member of "+name)
	}
	for _, member := range slices.Sorted(maps.Keys(shape.fields)) {
		if _, given := object[member]; shape.fields[member].required && !given {
			found = append(found, join(path, member)+": missing")
		}
	}
	return found
}

func (s shapes) checkUnion(shape *shape, path string, object map[string]any) []string {
	tag, given := object[shape.tag].(string)
	if !given {
		tag = untagged
	}
	field, known := shape.fields[tag]
	if !given && !known {
		return []string{join(path, shape.tag) + ": missing"}
	}
	if !known {
		return []string{join(path, shape.tag) + ": want one of " + strings.Join(slices.Sorted(maps.Keys(shape.fields)), ", ")}
	}
	return s.checkTypes(field.types, path, object)
}

// untagged is the row of a union for objects without the tag member.
const untagged = "_"

// checkTypes returns the problems of the best alternative: of the alternatives with the value's JSON type, the one with the fewest
// problems.
func (s shapes) checkTypes(types []typ, path string, value any) []string {
	wants, accepted := []string{}, false
	var best []string
	for _, t := range types {
		if value == nil && t.nullable {
			return nil
		}
		if !t.accepts(value) {
			wants = append(wants, t.word())
			continue
		}
		found := s.checkType(t, path, value)
		if len(found) == 0 {
			return nil
		}
		if !accepted || len(found) < len(best) {
			best, accepted = found, true
		}
	}
	if accepted {
		return best
	}
	return []string{path + ": want " + strings.Join(wants, " or ")}
}

func (t typ) word() string {
	switch t.base {
	case "[]":
		return "list"
	case "=", "/", "filled", "blob":
		return "string"
	case "string", "int", "number", "bool":
		return t.base
	}
	return "object"
}

func (t typ) accepts(value any) bool {
	if t.base == "any" {
		return true
	}
	switch v := value.(type) {
	case string:
		return t.word() == "string"
	case bool:
		return t.base == "bool"
	case []any:
		return t.base == "[]"
	case map[string]any:
		return t.word() == "object"
	case json.Number:
		if t.base == "int" {
			_, err := v.Int64()
			return err == nil
		}
		return t.base == "number"
	}
	return false
}

func (s shapes) checkType(t typ, path string, value any) []string {
	if t.base == "any" {
		return nil
	}
	switch v := value.(type) {
	case string:
		return t.checkString(path, v)
	case json.Number:
		n, err := v.Float64()
		return t.checkRange(path, n, err == nil)
	case []any:
		found := t.checkRange(path, float64(len(v)), true)
		for i, item := range v {
			found = append(found, s.checkTypes(t.elem, join(path, strconv.Itoa(i)), item)...)
		}
		return found
	case map[string]any:
		if t.base == "{}" {
			var found []string
			for _, name := range slices.Sorted(maps.Keys(v)) {
				found = append(found, s.checkTypes(t.elem, join(path, name), v[name])...)
			}
			return found
		}
		if t.base != "object" {
			return s.checkShape(t.base, path, value)
		}
	}
	return nil
}

func (t typ) checkString(path, v string) []string {
	switch {
	case t.base == "=" && !slices.Contains(t.enum, v):
		return []string{path + ": want one of " + strings.Join(t.enum, ", ")}
	case t.base == "/" && !t.match.MatchString(v):
		return []string{path + ": must match " + strings.TrimSuffix(strings.TrimPrefix(t.match.String(), "^(?:"), ")$")}
	case t.base == "filled" && v == "":
		return []string{path + ": must be " + "at least 1 character"}
	case t.base == "blob":
		if raw, err := base64.StdEncoding.DecodeString(v); err != nil || len(raw) == 0 {
			return []string{path + ": must match " + "base64"}
		}
	}
	return t.checkRange(path, float64(len(v)), true)
}

func (t typ) checkRange(path string, v float64, ok bool) []string {
	switch {
	case !ok:
		return []string{path + ": want " + t.base}
	case t.min != nil && v < *t.min:
		return []string{path + ": must be " + fmt.Sprintf("greater than or equal to %v", *t.min)}
	case t.max != nil && v > *t.max:
		return []string{path + ": must be " + fmt.Sprintf("less than or equal to %v", *t.max)}
	}
	return nil
}

// join appends a member to a path such as messages.0.
func join(path, member string) string {
	if path == "" {
		return member
	}
	return path + "." + member
}

// camel renames members that are spelled with underscores, for a vendor that accepts both spellings. Members that no shape describes have
// names that the caller chose, and keep them.
func (s shapes) camel(name string, object map[string]any) {
	if s[name] == nil {
		return
	}
	for _, member := range slices.Collect(maps.Keys(object)) {
		value := object[member]
		spelled := underscore.ReplaceAllStringFunc(member, func(s string) string { return strings.ToUpper(s[1:]) })
		if _, known := s[name].fields[spelled]; known && spelled != member {
			delete(object, member)
			object[spelled], member = value, spelled
		}
		s.camelTypes(s[name].fields[member].types, value)
	}
}

var underscore = regexp.MustCompile(`_[a-z]`)

func (s shapes) camelTypes(types []typ, value any) {
	for _, t := range types {
		if !t.accepts(value) {
			continue
		}
		switch v := value.(type) {
		case []any:
			for _, element := range v {
				s.camelTypes(t.elem, element)
			}
		case map[string]any:
			if t.base != "{}" {
				s.camel(t.base, v)
				continue
			}
			for _, element := range v {
				s.camelTypes(t.elem, element)
			}
		}
	}
}
