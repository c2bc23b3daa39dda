package validate

import (
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// Field declares one member of an object that is decoded into a T.
type Field[T any] struct {
	Name string
	// Read reads the next value. param is the path of the field. Read is nil for a field that only the provider
	// interprets.
	Read func(r *Reader, param string, into *T)
}

// Object declares the members of an object.
type Object[T any] struct {
	fields map[string]Field[T]
	names  []string // names of the fields with a Read function
}

// NewObject declares an object with the given fields.
func NewObject[T any](fields ...Field[T]) *Object[T] {
	o := &Object[T]{fields: make(map[string]Field[T], len(fields))}
	for _, f := range fields {
		o.fields[f.Name] = f
		if f.Read != nil {
			o.names = append(o.names, f.Name)
		}
	}
	return o
}

// Names returns the names of the fields with a Read function. Keys that differ from a name only in case are rejected.
func (o *Object[T]) Names() []string { return o.names }

// Read reads the next object. Unknown members are skipped, because the provider may support them.
func (o *Object[T]) Read(r *Reader, param string, into *T) bool {
	if !r.Is('{', param, "an object") {
		return false
	}
	for key := range r.Members {
		if f, known := o.fields[string(key)]; !known {
			r.RejectLookAlikes(param+".", string(key), o.names...)
		} else if f.Read != nil {
			f.Read(r, param+"."+f.Name, into)
		}
	}
	return true
}

// ReadMember reads the value of the top-level member with the given key and returns the member's name. If the member has no Read function,
// its value is not read.
func (o *Object[T]) ReadMember(r *Reader, key []byte, into *T) string {
	f, known := o.fields[string(key)]
	if !known {
		f.Name = string(key)
		r.RejectLookAlikes("", f.Name, o.names...)
	}
	if f.Read != nil {
		f.Read(r, f.Name, into)
	}
	return f.Name
}

// Unvalidated declares fields that only the provider interprets. For a declared field, ReadMember does not need to allocate the name.
func Unvalidated[T any](names ...string) []Field[T] {
	fields := make([]Field[T], len(names))
	for i, name := range names {
		fields[i].Name = name
	}
	return fields
}

// Name declares a field that is read with Reader.ReadName.
func Name[T any](name string, set func(*T, string)) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) {
		if s, ok := r.ReadName(param); ok {
			set(into, s)
		}
	}}
}

// Names declares a field that is a list of names.
func Names[T any](name string, set func(*T, []string)) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) { set(into, r.ReadNames(param)) }}
}

// Text declares a string field.
func Text[T any](name string, set func(*T, string)) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) {
		if s, ok := r.ReadText(param); ok {
			set(into, s)
		}
	}}
}

// Label declares a string field that is only stored in the log, truncated if necessary.
func Label[T any](name string, set func(*T, string)) Field[T] {
	return Text(name, func(into *T, s string) { set(into, show.Cut(s, MaxName)) })
}

// Bool declares a boolean field.
func Bool[T any](name string, set func(*T, bool)) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) { set(into, r.ReadBool(param)) }}
}

// OptionalBool declares an optional boolean field. set is not called for null.
func OptionalBool[T any](name string, set func(*T, *bool)) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) {
		if value := r.ReadOptionalBool(param); value != nil {
			set(into, value)
		}
	}}
}

// Int declares an integer field with values in the range [low, high].
func Int[T any](name string, low, high int64, set func(*T, int64)) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) {
		if n, ok := r.ReadInt(param, low, high); ok {
			set(into, n)
		}
	}}
}

// OneOf declares a string field whose value must be one of the allowed values.
func OneOf[T any](name string, set func(*T, string), allowed ...string) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) { set(into, r.ReadOneOf(param, allowed...)) }}
}

// Value declares a field that the format decodes itself. set is not called for null.
func Value[T any](name string, set func(*T, rawjson.Value)) Field[T] {
	return Field[T]{name, func(r *Reader, _ string, into *T) {
		if raw := r.RawOrNil(); raw != nil {
			set(into, rawjson.Parse(raw))
		}
	}}
}

// Nested declares an object field. get returns the value into which the object is decoded.
func Nested[T, U any](name string, fields *Object[U], get func(*T) *U) Field[T] {
	return Field[T]{name, func(r *Reader, param string, into *T) { fields.Read(r, param, get(into)) }}
}
