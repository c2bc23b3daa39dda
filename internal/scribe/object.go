package scribe

import (
	"reflect"
	"strings"
	"unsafe"
)

// member is one member of an object.
type member struct {
	label  string
	name   []byte // with quotes, colon and the comma before
	offset uintptr
	write  encoder
	absent func(pointer) bool // nil where it is always written
}

func structEncoder(t reflect.Type) encoder {
	members := membersOf(t)
	return func(w *writer, out []byte, p pointer) []byte {
		out, _, _ = w.object(out, members, p, "")
		return out
	}
}

// object writes the members, and tells where the value of the noted one lies.
func (w *writer) object(out []byte, members []member, p pointer, noted string) (text []byte, from, to int) {
	start := len(out)
	for i := range members {
		m := &members[i]
		at := unsafe.Add(p, m.offset)
		if m.absent != nil && m.absent(at) {
			continue
		}
		out = append(out, m.name...)
		value := len(out)
		out = m.write(w, out, at)
		if m.label == noted {
			from, to = value, len(out)
		}
	}
	if len(out) == start {
		return append(out, "{}"...), from, to
	}
	out[start] = '{' // instead of the first comma
	return append(out, '}'), from, to
}

func membersOf(t reflect.Type) []member {
	var all []member
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if !f.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		m := member{label: name, name: []byte(`,"` + name + `":`), offset: f.Offset, write: encoderOf(f.Type)}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty":
				m.absent = emptiness(f.Type)
			case "omitzero":
				m.absent = zeroness(f.Type)
			}
		}
		all = append(all, m)
	}
	return all
}

// emptiness tells whether a value is left out by omitempty.
func emptiness(t reflect.Type) func(pointer) bool {
	switch t.Kind() {
	case reflect.Slice:
		return func(p pointer) bool { return (*sliceHeader)(p).len == 0 }
	case reflect.Map:
		return func(p pointer) bool { return reflect.NewAt(t, p).Elem().Len() == 0 }
	case reflect.Struct:
		return nil // omitempty means nothing to it
	default:
		return zeroness(t)
	}
}

// zeroness tells whether a value is left out by omitzero.
func zeroness(t reflect.Type) func(pointer) bool {
	switch t.Kind() {
	case reflect.String:
		return func(p pointer) bool { return *(*string)(p) == "" }
	case reflect.Bool:
		return func(p pointer) bool { return !*(*bool)(p) }
	case reflect.Int, reflect.Int64:
		return func(p pointer) bool { return *(*int64)(p) == 0 }
	case reflect.Float64:
		return func(p pointer) bool { return *(*float64)(p) == 0 }
	case reflect.Pointer:
		return func(p pointer) bool { return *(*pointer)(p) == nil }
	default:
	}
	if t.Implements(reflect.TypeFor[interface{ IsZero() bool }]()) {
		return func(p pointer) bool { return reflect.NewAt(t, p).Interface().(interface{ IsZero() bool }).IsZero() }
	}
	return func(p pointer) bool { return reflect.NewAt(t, p).Elem().IsZero() }
}
