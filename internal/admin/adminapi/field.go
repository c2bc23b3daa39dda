package adminapi

import (
	"bytes"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// mayBeNull marks a reference in a schema that can be null.
const mayBeNull = "x-may-be-null"

// Field is an optional field of an update. An omitted field is unchanged, and null clears it.
type Field[T any] struct {
	Given bool
	Value *T // new value; nil for null
}

// UnmarshalJSON implements json.Unmarshaler. It is called only for a field that is present.
func (f *Field[T]) UnmarshalJSON(b []byte) error {
	f.Given, f.Value = true, nil
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		return nil
	}
	f.Value = new(T)
	return json.Unmarshal(b, f.Value, json.RejectUnknownMembers(true))
}

// Schema returns the schema of T with null allowed.
func (f Field[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref != "" {
		s.Extensions = map[string]any{mayBeNull: true}
		return &s
	}
	s.Nullable = true
	return &s
}

// OrZero returns the new value: nil for an omitted field, and a pointer to the zero value for null.
func (f Field[T]) OrZero() *T {
	if f.Given && f.Value == nil {
		return new(T)
	}
	return f.Value
}

// Apply copies *given to *dst unless given is nil.
func Apply[T any](dst, given *T) {
	if given != nil {
		*dst = *given
	}
}
