package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
	policiesType = reflect.TypeFor[Policies]()
)

// field describes a field of a configuration struct, as given by its tags.
type field struct {
	name   string // field name in the file
	index  int
	typ    reflect.Type
	doc    string
	check  string // key of the validator in checks, or "positive" for a duration; empty for none
	secret string // "true" hides the value, "url" hides the password in it; empty for other fields
	enum   []string
	lowest string // inclusive lower bound of a number; empty for none
	most   string // inclusive upper bound of a number; empty for none
	reload bool
}

// tables holds the fields of every section type.
var tables = addTables(map[reflect.Type][]field{}, reflect.TypeFor[Config]())

// addTables reads the tags of a section and its nested sections. Top-level fields are reloadable only with reload:"true". Fields of
// sections are reloadable unless they have reload:"false".
func addTables(to map[reflect.Type][]field, t reflect.Type) map[reflect.Type][]field {
	inside := t != reflect.TypeFor[Config]()
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		one := field{
			name:   f.Tag.Get("yaml"),
			index:  i,
			typ:    f.Type,
			doc:    f.Tag.Get("doc"),
			check:  f.Tag.Get("check"),
			secret: f.Tag.Get("secret"),
			lowest: f.Tag.Get("min"),
			most:   f.Tag.Get("max"),
			reload: f.Tag.Get("reload") == "true" || inside && f.Tag.Get("reload") != "false",
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			one.enum = strings.Split(enum, ",")
		}
		fields = append(fields, one)
	}
	to[t] = fields
	for _, f := range fields {
		section := f.typ
		if isStructs(section) {
			section = section.Elem()
		}
		if section.Kind() == reflect.Struct && to[section] == nil {
			addTables(to, section)
		}
	}
	return to
}

// isStructs reports whether t is a list of sections.
func isStructs(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// visit calls see for every field of v and its sections, in struct order.
func visit(v reflect.Value, path string, see func(path string, f field, v reflect.Value)) {
	for _, f := range tables[v.Type()] {
		fv, fpath := v.Field(f.index), join(path, f.name)
		switch {
		case f.typ.Kind() == reflect.Struct:
			visit(fv, fpath, see)
		case isStructs(f.typ):
			for i := range fv.Len() {
				visit(fv.Index(i), at(fpath, i), see)
			}
		default:
			see(fpath, f, fv)
		}
	}
}

// setting is a field that can be set by an environment variable or a flag.
type setting struct {
	path     string
	index    []int // index path of the field in Config and its sections
	variable string
	field    field
}

func variableOf(path string) string {
	return "FAIRLEAD_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// settings lists the fields that environment variables and flags can set: all fields outside of lists, and lists as a whole.
func settings(t reflect.Type, path string, index []int) []setting {
	var list []setting
	for _, f := range tables[t] {
		fpath, findex := join(path, f.name), append(slices.Clip(index), f.index)
		if f.typ.Kind() == reflect.Struct {
			list = append(list, settings(f.typ, fpath, findex)...)
			continue
		}
		list = append(list, setting{path: fpath, index: findex, variable: variableOf(fpath), field: f})
	}
	return list
}
