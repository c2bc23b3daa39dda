// Package scribe writes values as JSON, as encoding/json does but for a fraction of its cost: how a type is written is
// worked out once. It is for records that we write ourselves, thousands a second; for everything else there is encoding/json,
// which also reads what this writes. Characters that matter to HTML are not escaped.
package scribe

import (
	"fmt"
	"reflect"
)

// Scribe writes values of one type.
type Scribe[T any] struct {
	write   encoder
	members []member // of a struct
}

// For works out how the type is written. Types that contain themselves are not for it.
func For[T any]() Scribe[T] {
	t := reflect.TypeFor[T]()
	s := Scribe[T]{write: encoderOf(t)}
	if t.Kind() == reflect.Struct {
		s.members = membersOf(t)
	}
	return s
}

// Append appends the JSON of a value. An error is a number that JSON has no word for, or a part that cannot write itself.
func (s Scribe[T]) Append(to []byte, v *T) ([]byte, error) {
	var w writer
	out := s.write(&w, to, pointer(v))
	return out, w.err
}

// AppendNoting is Append for a struct, and tells where in the text the value of one of its members lies; nowhere when that is
// left out.
func (s Scribe[T]) AppendNoting(to []byte, v *T, name string) (out []byte, from, end int, err error) {
	var w writer
	out, from, end = w.object(to, s.members, pointer(v), name)
	return out, from, end, w.err
}

// writer keeps what went wrong with a text under way.
type writer struct{ err error }

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}
