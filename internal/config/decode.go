package config

import (
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/spelling"
)

// mostNodes is the maximum number of nodes after alias expansion. Without a limit, a small file could expand to a huge one.
const mostNodes = 50_000

// decoder decodes the YAML nodes of one source.
type decoder struct {
	*loader
	source Origin // origin of all values, without the position in a file
	text   string // content of the file
	root   *yaml.Node
	nodes  int
}

// value decodes n into v. An empty node keeps the previous value.
func (d *decoder) value(n *yaml.Node, v reflect.Value, f field, path string) {
	if !d.count(n, path) {
		return
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if v.Kind() != reflect.Struct || strings.HasSuffix(path, "]") {
		d.origins[path] = d.place(n) // a section has no origin unless it is an element of a list
	}
	switch {
	case v.Type() == policiesType:
		d.policies(n, v, f, path)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.scalar(n, v.Elem(), f, path)
	case v.Kind() == reflect.Struct:
		d.section(n, v, f.name, path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, f, path)
	case v.Kind() == reflect.Map:
		d.texts(n, v, f, path)
	default:
		d.scalar(n, v, f, path)
	}
}

// count counts a node and reports whether the number of nodes is within the limit.
func (d *decoder) count(n *yaml.Node, path string) bool {
	d.nodes++
	if d.nodes == mostNodes+1 {
		d.report(path, d.place(n), fault{code: TooLarge, message: "the file is too large after expanding aliases", fix: "use fewer aliases"})
	}
	return d.nodes <= mostNodes
}

func (d *decoder) section(n *yaml.Node, v reflect.Value, name, path string) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, name, "a section of fields")
		return
	}
	fields := tables[v.Type()]
	d.pairs(n, path, func(key, value *yaml.Node) {
		for _, f := range fields {
			if f.name == key.Value {
				d.value(value, v.Field(f.index), f, join(path, f.name))
				return
			}
		}
		d.unknown(key, value, fields, path)
	})
}

// pairs calls each(key, value) for the entries of a mapping. It reports and skips duplicate keys, merge keys and keys that are not scalars.
func (d *decoder) pairs(n *yaml.Node, path string, each func(key, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			d.report(path, d.place(key), fault{code: WrongType, message: "a key must be a plain string", fix: "write the fields explicitly; merge keys are not supported"})
			continue
		}
		if line, twice := seen[key.Value]; twice {
			if secretName.MatchString(key.Value) {
				d.hide(value)
			}
			d.report(join(path, key.Value), d.place(key), fault{code: Repeated, message: fmt.Sprintf("duplicate key %s, already on line %d", document.Quote(key.Value), line), fix: "keep one of the two"})
			continue
		}
		seen[key.Value] = key.Line
		each(key, value)
	}
}

func (d *decoder) unknown(key, value *yaml.Node, fields []field, path string) {
	if secretName.MatchString(key.Value) {
		d.hide(value)
	}
	d.damaged[path] = true
	if d.full() {
		d.problems.Omitted++ // beyond the maximum, problems are only counted, without a message or suggestion
		return
	}
	if wrong, ok := removedSetting(join(path, key.Value)); ok {
		d.report(join(path, key.Value), d.place(key), wrong)
		return
	}
	message := fmt.Sprintf("unknown field %s", document.Quote(key.Value))
	if path != "" {
		message += " in " + path
	}
	valid := make([]string, 0, len(fields))
	for _, f := range fields {
		valid = append(valid, f.name)
	}
	suggestion := spelling.Closest(key.Value, valid)
	fix := "correct the field"
	if suggestion == "" {
		fix = "remove it; the valid fields are " + strings.Join(valid, ", ")
	}
	if secretName.MatchString(suggestion) {
		d.hide(value)
	}
	d.report(join(path, key.Value), d.place(key), fault{code: UnknownField, message: message, suggestion: suggestion, fix: fix})
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, f field, path string) {
	if n.Kind != yaml.SequenceNode {
		wanted := "a list of strings"
		if isStructs(f.typ) {
			wanted = "a list of sections"
		}
		if f.secret == "true" {
			d.hide(n)
		}
		d.wrongType(n, path, f.name, wanted)
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, one := range n.Content {
		d.value(one, list.Index(i), elementOf(f), at(path, i))
	}
	v.Set(list)
}

// elementOf returns a field that describes the elements of the list f.
func elementOf(f field) field {
	f.typ = f.typ.Elem()
	return f
}

// texts decodes a map of strings, such as headers.
func (d *decoder) texts(n *yaml.Node, v reflect.Value, f field, path string) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, f.name, "a section of names and values")
		return
	}
	m := reflect.MakeMap(v.Type())
	d.pairs(n, path, func(key, value *yaml.Node) {
		text := reflect.New(v.Type().Elem()).Elem()
		d.value(value, text, elementOf(f), join(path, key.Value))
		m.SetMapIndex(reflect.ValueOf(key.Value), text)
	})
	v.Set(m)
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, f field, path string) {
	if f.secret == "true" {
		d.hide(n)
	}
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, path, f.name, wanted(v.Type()))
		return
	}
	text := n.Value
	if d.source.Kind == FromFile {
		expanded, wrong := d.expand(text)
		if wrong != nil {
			d.damaged[path] = true
			d.report(path, d.place(n), *wrong)
			return
		}
		text = expanded
	}
	d.set(v, f, text, path, d.place(n))
}

// set parses text into v.
func (l *loader) set(v reflect.Value, f field, text, path string, o Origin) {
	text, wrong := l.secret(f, text)
	if wrong == nil && f.secret == "true" && text == "" {
		wrong = &fault{code: WeakSecret, message: f.name + " is empty", fix: "set a value, or remove it"}
	}
	if wrong == nil {
		wrong = setScalar(v, f, text)
	}
	if wrong != nil {
		l.damaged[path] = true
		l.report(path, o, *wrong)
	}
}

func (d *decoder) wrongType(n *yaml.Node, path, name, want string) {
	actual := map[yaml.Kind]string{yaml.MappingNode: "a section", yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value"}[n.Kind]
	switch {
	case name == "":
		name = "the file"
	case strings.HasSuffix(path, "]"):
		name = "each of " + name
	}
	d.damaged[path] = true
	d.report(path, d.place(n), fault{code: WrongType, message: fmt.Sprintf("%s must be %s, not %s", name, want, actual), fix: "write " + want})
}

func wanted(t reflect.Type) string {
	switch {
	case t == durationType:
		return "a duration"
	case t == sizeType:
		return "a size"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "text"
	}
	return "a number"
}

// place returns the origin of a node, with its line and column in a file.
func (d *decoder) place(n *yaml.Node) Origin {
	o := d.source
	if o.Kind != FromFile {
		return o
	}
	o.Line, o.Column, o.width = n.Line, n.Column, len([]rune(n.Value))
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		o.width += 2
	}
	return o
}
