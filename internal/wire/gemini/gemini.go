// Package gemini implements the wire format of Google's Gemini models at AI Studio and Vertex AI, for clients and for providers. It decodes
// the requests of clients, edits them for providers of the same format or encodes conversations for them, and decodes and encodes responses.
package gemini

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Name is the format's short name.
const Name = "gemini"

// lenient accepts all JSON that other parsers accept, because the arguments and schemas in a request, and responses, are not checked
// strictly. Raw values keep their escapes. U+2028 is escaped, because some clients treat it as the end of a line.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), jsontext.EscapeForJS(true),
)

func encode(value any) (jsontext.Value, error) {
	out, err := json.Marshal(value, lenient)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return out, nil
}

// isObject reports whether raw is one JSON object.
func isObject(raw jsontext.Value) bool { return raw.Kind() == '{' && raw.IsValid(lenient) }

// members holds the members of a JSON object, in order.
type members []member

type member struct {
	name  string
	value jsontext.Value
	start int // position of the value in the object
}

// get returns the value of a member, whose name may be spelled in snake_case.
func (m members) get(name string) jsontext.Value {
	for i := range m {
		if m[i].name == name || camelCase(m[i].name) == name {
			return m[i].value
		}
	}
	return nil
}

// readMembers returns the members of an object, which refer to raw. It returns false for any other value.
func readMembers(raw jsontext.Value) (m members, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient)
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		one := member{name: name.String()}
		if one.value, err = readValue(d, raw); err != nil {
			return nil, false
		}
		one.start = int(d.InputOffset()) - len(one.value)
		m = append(m, one)
	}
	_, err := d.ReadToken()
	return m, err == nil
}

// readList returns the elements of a list, which refer to raw. It returns nil for any other value.
func readList(raw jsontext.Value) (list []jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient)
	if token, err := d.ReadToken(); err != nil || token.Kind() != '[' {
		return nil
	}
	for d.PeekKind() != ']' {
		value, err := readValue(d, raw)
		if err != nil {
			return nil
		}
		list = append(list, value)
	}
	return list
}

// readValue reads the next value of a decoder of raw and returns it as a part of raw, which stays valid.
func readValue(d *jsontext.Decoder, raw jsontext.Value) (jsontext.Value, error) {
	value, err := d.ReadValue()
	end := d.InputOffset()
	return raw[end-int64(len(value)) : end : end], err
}

// isGiven reports whether a member exists and is not null.
func isGiven(raw jsontext.Value) bool { return len(raw) > 0 && raw.Kind() != 'n' }

// ordered is a JSON object whose members keep their order. The order of the properties of a schema matters, because models generate members
// in that order.
type ordered []orderedMember

type orderedMember struct {
	name  string
	value any
}

func (o *ordered) add(name string, value any) { *o = append(*o, orderedMember{name, value}) }

// MarshalJSONTo implements json.MarshalerTo.
func (o ordered) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o {
		if err := e.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, m.value); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}
