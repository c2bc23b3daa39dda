package strict

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
)

// readSpelled decodes the members of an object below the top level for a format whose members have several spellings. Like json, it collects
// the members that the struct does not have in its field Unknown, if any. null counts as absent.
func (d *decoder) readSpelled(dec *jsontext.Decoder, into reflect.Value) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	known := fieldsOf(into.Type())
	var given []string
	var unknown jsontext.Value
	for dec.PeekKind() != '}' {
		key, err := dec.ReadValue()
		if err != nil {
			return err
		}
		field, found := known[string(key[1:len(key)-1])]
		if !found {
			field, found = known[d.doc.rules.Alias(unquote(key))]
		}
		switch {
		case !found:
			value, err := dec.ReadValue()
			if err != nil {
				return err
			}
			unknown = append(append(append(append(unknown, ','), key...), ':'), value...)
			continue
		case dec.PeekKind() == 'n':
			err = dec.SkipValue()
		case slices.Contains(given, field.name):
			err = d.skipRepeated(dec, unquote(key), field.name)
		default:
			given = append(given, field.name)
			err = json.UnmarshalDecode(dec, into.FieldByIndex(field.path).Addr().Interface())
		}
		if err != nil {
			return err
		}
	}
	if rest := into.FieldByName("Unknown"); rest.IsValid() && unknown != nil {
		unknown[0] = '{'
		rest.SetBytes(append(unknown, '}'))
	}
	_, err := dec.ReadToken()
	return err
}

// skipRepeated skips the value of a key whose member, name, was given before in another spelling. It records a problem, because the gateway and the
// provider might not use the same one.
func (d *decoder) skipRepeated(dec *jsontext.Decoder, key, name string) error {
	param := strings.TrimSuffix(paramOf(dec), key) + name
	d.doc.Problem(param, "%s appears in both camelCase and snake_case. Send it once.", param)
	return dec.SkipValue()
}

// hasField reports whether an earlier top-level member is the field with the given name, in any spelling.
func (d *decoder) hasField(name string) bool {
	return slices.ContainsFunc(d.doc.Fields, func(f llm.Field) bool {
		return d.doc.Body[f.Value] != 'n' && (f.Name == name || d.doc.rules.Alias(f.Name) == name)
	})
}
