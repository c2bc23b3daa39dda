package strict

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// Limits for single fields.
const (
	MaxName   = 256 // maximum length of a model name, a session ID or an end user's name, in bytes
	MaxTokens = 1 << 53

	maxNames  = 64 // maximum number of entries of Names
	maxLabels = 64 // maximum number of entries of Labels
	maxLabel  = 512
)

// Name is a string that the gateway uses as a name: not empty, not too long, without control characters. It does not share memory with the
// body.
type Name string

// Accepts implements Shape.
func (*Name) Accepts(kind byte) bool { return kind == '"' }

// Description implements Shape.
func (*Name) Description() string { return "a string" }

func (n *Name) set(doc *Document, param func() string, raw []byte) {
	*n = Name(doc.readName(param(), unquote(raw)))
}

func (d *Document) readName(param, s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		d.Problem(param, "%s must not be empty.", param)
	case len(s) > MaxName:
		d.Problem(param, "%s is %d bytes long; at most %d are allowed. It begins with %s.", param, len(s), MaxName, show.Quote(s))
	case strings.ContainsFunc(s, show.Harmful) || strings.ContainsRune(s, utf8.RuneError):
		d.Problem(param, "%s has control characters: %s.", param, show.Quote(s))
	default:
		return strings.Clone(s)
	}
	return ""
}

// Names is a list of names.
type Names []string

// Accepts implements Shape.
func (*Names) Accepts(kind byte) bool { return kind == '[' }

// Description implements Shape.
func (*Names) Description() string { return "a list of strings" }

func (n *Names) set(doc *Document, paramOf func() string, raw []byte) {
	param := paramOf()
	for i, element := range rawjson.Parse(raw).List() {
		switch {
		case element.Kind != rawjson.Text:
			doc.WrongType(param, "a list of strings", rawKind(element.Raw[0]))
		case i == maxNames:
			doc.Problem(param, "%s may have at most %d entries.", param, maxNames)
		case i < maxNames:
			if name := doc.readName(param, element.String()); name != "" {
				*n = append(*n, name)
			}
		}
	}
}

// rawKind returns the kind of the value that begins with c, as jsontext.Decoder.PeekKind returns it.
func rawKind(c byte) byte {
	if c == '-' || c >= '0' && c <= '9' {
		return '0'
	}
	return c
}

// Label is a string that is only stored in the log, truncated if necessary. It does not share memory with the body.
type Label string

// Accepts implements Shape.
func (*Label) Accepts(kind byte) bool { return kind == '"' }

// Description implements Shape.
func (*Label) Description() string { return "a string" }

func (l *Label) set(_ *Document, _ func() string, raw []byte) {
	*l = Label(strings.Clone(show.Cut(unquote(raw), MaxName)))
}

// Labels is an object of labels. Members that are not strings are ignored.
type Labels map[string]string

// Accepts implements Shape.
func (*Labels) Accepts(kind byte) bool { return kind == '{' }

// Description implements Shape.
func (*Labels) Description() string { return "an object" }

func (l *Labels) set(_ *Document, _ func() string, raw []byte) {
	rawjson.Parse(raw).ForEach(func(key, value rawjson.Value) bool {
		if value.Kind == rawjson.Text && len(*l) < maxLabels {
			if *l == nil {
				*l = Labels{}
			}
			(*l)[strings.Clone(show.Cut(key.String(), maxLabel))] = strings.Clone(show.Cut(value.String(), maxLabel))
		}
		return true
	})
}

// Number is a number as the client wrote it; empty when not given.
type Number string

// Accepts implements Shape.
func (*Number) Accepts(kind byte) bool { return kind == '0' }

// Description implements Shape.
func (*Number) Description() string { return "a number" }

func (n *Number) set(_ *Document, _ func() string, raw []byte) { *n = Number(raw) }

// MarshalJSONTo implements json.MarshalerTo.
func (n Number) MarshalJSONTo(enc *jsontext.Encoder) error { return enc.WriteValue(jsontext.Value(n)) }

// Whole is a whole number as the client wrote it, in any JSON notation; empty when not given. Document.Int checks its value.
type Whole string

// Accepts implements Shape.
func (*Whole) Accepts(kind byte) bool { return kind == '0' }

// Description implements Shape.
func (*Whole) Description() string { return "a whole number" }

func (w *Whole) set(_ *Document, _ func() string, raw []byte) { *w = Whole(raw) }

// MarshalJSONTo implements json.MarshalerTo.
func (w Whole) MarshalJSONTo(enc *jsontext.Encoder) error { return enc.WriteValue(jsontext.Value(w)) }

// WholeOf returns n as a Whole; empty for 0.
func WholeOf(n int64) Whole {
	if n == 0 {
		return ""
	}
	return Whole(strconv.FormatInt(n, 10))
}

// Int returns the value of a whole number in the range [low, high], or 0 if it is not given. For any other number it records a problem with
// the field param and returns 0.
func (d *Document) Int(param string, w Whole, low, high int64) int64 {
	if w == "" {
		return 0
	}
	n, ok := rawjson.ParseInteger([]byte(w))
	if !ok || n < low || n > high {
		message := param + " must be a whole number from " + strconv.FormatInt(low, 10) + " to " + strconv.FormatInt(high, 10) + "; it is " +
			strings.Trim(show.Quote(string(w)), `"`) + "."
		if d.rules.Lenient != nil && d.rules.Lenient(param) {
			d.Untranslatable(param, "%s", message)
		} else {
			d.Problem(param, "%s", message)
		}
		return 0
	}
	return n
}

// OneOf returns the allowed value that s equals, or "" if s is empty. For any other string it records a problem with the field param and
// returns "". The result does not share memory with the body.
func (d *Document) OneOf(param, s string, allowed ...string) string {
	if i := slices.Index(allowed, s); i >= 0 {
		return allowed[i]
	}
	if s != "" {
		d.Problem(param, "%s must be one of %s; it is %s.", param, strings.Join(allowed, ", "), show.Quote(s))
	}
	return ""
}

// Price is a price in dollars per million tokens, which clients send as a number or as a string; nil when not given.
type Price struct{ Dollars *float64 }

// Accepts implements Shape.
func (*Price) Accepts(kind byte) bool { return kind == '0' || kind == '"' }

// Description implements Shape.
func (*Price) Description() string { return "a number of dollars per million tokens" }

func (p *Price) set(doc *Document, paramOf func() string, raw []byte) {
	text := string(raw)
	if raw[0] == '"' {
		text = unquote(raw)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		param := paramOf()
		doc.Problem(param, "%s must be a number of dollars per million tokens, at least 0; it is %s.", param, show.Quote(text))
		return
	}
	p.Dollars = &f
}

// StringOr is a string or a T, such as the content of a message, which is a text or a list of parts. The zero value is absent.
type StringOr[T any] struct {
	IsString bool
	String   string
	Other    *T
}

// StringOf returns s as a StringOr.
func StringOf[T any](s string) StringOr[T] { return StringOr[T]{IsString: true, String: s} }

// OtherOf returns v as a StringOr.
func OtherOf[T any](v T) StringOr[T] { return StringOr[T]{Other: &v} }

// IsZero reports whether the value is absent.
func (s StringOr[T]) IsZero() bool { return !s.IsString && s.Other == nil }

// Accepts implements Shape.
func (*StringOr[T]) Accepts(kind byte) bool {
	var other T
	_, raw := any(other).(jsontext.Value)
	return raw || kind == '"' || accepts(&other, kind)
}

// Description implements Shape.
func (*StringOr[T]) Description() string {
	var other T
	return "a string or " + describe(&other)
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (s *StringOr[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '"':
		s.IsString = true
		return json.UnmarshalDecode(dec, &s.String)
	default:
		s.Other = new(T)
		return json.UnmarshalDecode(dec, s.Other)
	}
}

// MarshalJSONTo implements json.MarshalerTo. It writes null for an absent value.
func (s StringOr[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if s.IsString {
		return enc.WriteToken(jsontext.String(s.String))
	}
	return json.MarshalEncode(enc, s.Other)
}
