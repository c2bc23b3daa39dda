package upstream

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Text returns the value of a JSON string, or an empty string for any other value.
func Text(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, v) // the error is for invalid UTF-8, which AppendUnquote replaces
	return string(text)
}

// Placed is a JSON value with its position in the decoded document, in which another value can replace it. It is zero if absent.
type Placed struct {
	Value      jsontext.Value
	start, end int64
}

// PlacedText returns text as a value of a document that the gateway creates.
func PlacedText(text string) Placed {
	quoted, _ := jsontext.AppendQuote(nil, text) // the error is for invalid UTF-8, which AppendQuote replaces
	return Placed{Value: quoted}
}

// Text returns the value of a string, or an empty string for any other value.
func (p Placed) Text() string { return Text(p.Value) }

// With returns the value text at the same position.
func (p Placed) With(text string) Placed {
	p.Value = PlacedText(text).Value
	return p
}

// IsZero reports whether the value is absent.
func (p Placed) IsZero() bool { return p.Value == nil }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *Placed) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	*p = Placed{value.Clone(), dec.InputOffset() - int64(len(value)), dec.InputOffset()}
	return err
}

// MarshalJSONTo implements json.MarshalerTo.
func (p Placed) MarshalJSONTo(enc *jsontext.Encoder) error { return enc.WriteValue(p.Value) }

// Splice returns a copy of a document with the given values at their positions. A value that was not decoded from the document is ignored.
func Splice(document []byte, values ...Placed) []byte {
	slices.SortFunc(values, func(a, b Placed) int { return int(a.start - b.start) })
	size := len(document)
	for _, p := range values {
		size += len(p.Value)
	}
	out, from := make([]byte, 0, size), int64(0)
	for _, p := range values {
		if p.end > 0 {
			out = append(append(out, document[from:p.start]...), p.Value...)
			from = p.end
		}
	}
	return append(out, document[from:]...)
}
