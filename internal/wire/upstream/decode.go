package upstream

import (
	"errors"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode decodes a JSON object from a provider into the struct that into points to. Values of the wrong type are skipped, because providers
// that imitate a format deviate from it in members that do not matter.
func Decode(data []byte, into any) error {
	if jsontext.Value(data).Kind() != '{' {
		return errNoObject
	}
	err := json.Unmarshal(data, into, loose)
	if _, wrongType := errors.AsType[*json.SemanticError](err); !wrongType {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero()
	return json.Unmarshal(data, into, loose, skipWrongTypes)
}

var errNoObject = errors.New("the document is not an object")

// loose accepts what common JSON parsers accept.
var loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// skipWrongTypes is separate from loose, because a function that runs for every value makes decoding slower.
var skipWrongTypes = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v any) error {
	switch v.(type) {
	case *jsontext.Value, json.UnmarshalerFrom:
		return errors.ErrUnsupported // json decodes the value
	}
	if accepts(reflect.TypeOf(v).Elem().Kind(), dec.PeekKind()) {
		return errors.ErrUnsupported
	}
	return dec.SkipValue()
}))

// accepts reports whether a JSON value of the given kind can be decoded into a Go value of kind into.
func accepts(into reflect.Kind, value jsontext.Kind) bool {
	switch into { //nolint:exhaustive // responses have no fields of the other kinds
	case reflect.String:
		return value == '"' || value == 'n'
	case reflect.Bool:
		return value == 't' || value == 'f' || value == 'n'
	case reflect.Int, reflect.Int64, reflect.Float64:
		return value == '0' || value == 'n'
	case reflect.Struct, reflect.Map:
		return value == '{' || value == 'n'
	case reflect.Slice:
		return value == '[' || value == 'n'
	}
	return true
}
