package api

import (
	"bytes"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// mayBeNull marks a reference in a schema that may be null.
const mayBeNull = "x-may-be-null"

// Field is a member of a change: left out it changes nothing, null clears, and anything else sets.
type Field[T any] struct {
	Given bool
	Value *T // nil when null was given
}

// UnmarshalJSON is called only when the member is there.
func (f *Field[T]) UnmarshalJSON(b []byte) error {
	f.Given, f.Value = true, nil
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		return nil
	}
	f.Value = new(T)
	return json.Unmarshal(b, f.Value, json.RejectUnknownMembers(true))
}

// Schema is that of T, with null allowed.
func (f Field[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref != "" {
		s.Extensions = map[string]any{mayBeNull: true}
		return &s
	}
	s.Nullable = true
	return &s
}

// orZero is nil when nothing was given, and points to the zero value when null was.
func (f Field[T]) OrZero() *T {
	if f.Given && f.Value == nil {
		return new(T)
	}
	return f.Value
}

// apply sets dst when a value was given.
func Apply[T any](dst, given *T) {
	if given != nil {
		*dst = *given
	}
}
