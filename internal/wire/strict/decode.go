package strict

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// maxProblems is the maximum number of problems that an error lists.
const maxProblems = 20

// Rules configures Decode for a format.
type Rules struct {
	// Lenient reports whether only a translation to another format needs the field param to have the declared type. A value of another
	// type does not make the request invalid, because a provider of the same format may accept it.
	Lenient func(param string) bool
	// Messages is the name of the top-level list with at most MaxMessages elements.
	Messages string
	// Alias returns the name of a struct's member for another spelling of it, and any other name unchanged. nil if members have one spelling.
	Alias func(name string) string
	// LongLists allows lists of any length, for token IDs.
	LongLists bool
}

// Document is a decoded request body with the problems found in it. A problem makes the request invalid, or only prevents its translation
// to another format.
type Document struct {
	Body   []byte
	Fields []llm.Field // top-level members in order

	rules                  Rules
	problems, translations []Problem
}

// Decode decodes a body into the struct that into points to. Strings and raw values in the struct share memory with body, which must
// not change. A value of the wrong type is recorded as a problem of the document and leaves its field empty; null counts as absent. The error
// is an *llm.Error of kind InvalidJSON or InvalidRequest for a body that is not exactly one JSON object within the limits, in valid UTF-8
// and without duplicate keys, or of kind ClientCancelled when ctx is cancelled first.
func Decode(ctx context.Context, body []byte, into any, rules Rules) (*Document, error) {
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	if err := checkLimits(body, !rules.LongLists); err != nil {
		return nil, err
	}
	doc := &Document{Body: body, Fields: make([]llm.Field, 0, 12), rules: rules}
	d := decoders.Get().(*decoder)
	defer d.release()
	d.ctx, d.doc, d.root = ctx, doc, into
	err := json.Unmarshal(body, into, d.options)
	switch {
	case d.limit != nil:
		return nil, rejectLimit(d.limit, rules.Messages)
	case ctx.Err() != nil:
		return nil, llm.AsError(llm.Cancelled(ctx))
	case err != nil || !utf8.Valid(body):
		return nil, explain(ctx, body, err)
	}
	return doc, nil
}

// explain returns the error for a body that Decode cannot decode. The scanner describes the position of a syntax error in words.
func explain(ctx context.Context, body []byte, cause error) error {
	if _, err := Object(ctx, body); err != nil {
		return err
	}
	e := Reject(Problem{"", "The body is not valid JSON: " + cause.Error() + "."})
	e.Kind = llm.InvalidJSON
	return e
}

// checkLimits returns an error if the body exceeds one of the limits of package rawjson. Most bodies have so few separators that no limit
// can be exceeded, so they do not have to be measured.
func checkLimits(body []byte, countElements bool) error {
	depth := bytes.Count(body, []byte{'{'}) + bytes.Count(body, []byte{'['})
	if depth <= rawjson.MaxDepth && bytes.Count(body, []byte{':'}) <= rawjson.MaxObjectKeys && bytes.Count(body, []byte{','})+depth <= MaxElements {
		return nil
	}
	if _, member, over := rawjson.Measure(body, countElements); over != nil {
		return rejectLimit(over, string(member))
	}
	return nil
}

// decoder decodes one body. Its function read is called for every value. Decoders are reused, because json caches which types the function
// applies to; without reuse, this cache takes 4 µs per request (BenchmarkDecode).
type decoder struct {
	ctx     context.Context
	doc     *Document
	root    any // struct for the top-level object; nil once its decoding has begun
	polled  int64
	limit   *rawjson.LimitError
	options json.Options
}

var decoders = sync.Pool{New: func() any {
	d := &decoder{}
	// Frequent types have their own functions, because json converts the others to an interface.
	functions := json.JoinUnmarshalers(json.UnmarshalFromFunc(d.readString), json.UnmarshalFromFunc(d.readRaw), json.UnmarshalFromFunc(d.read))
	d.options = json.JoinOptions(json.WithUnmarshalers(functions), jsontext.AllowInvalidUTF8(true)) // a lone surrogate is accepted
	return d
}}

func (d *decoder) release() {
	*d = decoder{options: d.options}
	decoders.Put(d)
}

// Shape is implemented by types whose JSON is not determined by their Go kind.
type Shape interface {
	// Accepts reports whether values that begin with the given byte have the right type. The byte is '0' for every number.
	Accepts(kind byte) bool
	// Description describes the accepted values, such as "a string".
	Description() string
}

// value is implemented by types of this package that are decoded from one value.
type value interface {
	Shape
	set(doc *Document, param func() string, raw []byte)
}

// readString decodes the next value into a string.
func (d *decoder) readString(dec *jsontext.Decoder, s *string) error {
	if dec.PeekKind() != '"' {
		_, err := d.readValue(dec, s)
		return err
	}
	raw, err := dec.ReadValue()
	if err == nil {
		*s = unquote(raw)
	}
	return err
}

// readRaw returns the next value undecoded.
func (d *decoder) readRaw(dec *jsontext.Decoder, v *jsontext.Value) error {
	raw, err := dec.ReadValue()
	*v = raw
	return err
}

// read decodes the next value into v. For a struct, a slice or a map it only checks the type of the value.
func (d *decoder) read(dec *jsontext.Decoder, v any) error {
	if at := dec.InputOffset(); at-d.polled >= PollBytes {
		d.polled = at
		if err := d.ctx.Err(); err != nil {
			return err
		}
	}
	if root := d.root; root != nil {
		d.root = nil
		return d.readMembers(dec, reflect.ValueOf(root).Elem())
	}
	switch v := v.(type) {
	case *bool:
		raw, err := d.readValue(dec, v)
		*v = raw != nil && raw[0] == 't'
		return err
	case value:
		raw, err := d.readValue(dec, v)
		if raw != nil {
			v.set(d.doc, func() string { return paramOf(dec) }, raw)
		}
		return err
	}
	kind := byte(dec.PeekKind())
	if kind != 0 && dec.StackDepth() == 2 && d.doc.current() == d.doc.rules.Messages {
		if _, n := dec.StackIndex(2); n >= MaxMessages {
			d.limit = CheckMessages(int(n) + 1)
			return d.limit
		}
	}
	if kind == '{' && d.doc.rules.Alias != nil && reflect.TypeOf(v).Elem().Kind() == reflect.Struct {
		return d.readSpelled(dec, reflect.ValueOf(v).Elem())
	}
	if p, ok := v.(interface{ place(before int) }); ok && kind == '{' {
		p.place(int(dec.InputOffset()))
	}
	if kind == 0 || kind == 'n' || accepts(v, kind) {
		return errors.ErrUnsupported // json decodes the value by the type's own rules
	}
	return d.skipWrongType(dec, v)
}

// readValue returns the next value, or nil for null. If the value cannot be decoded into the type of the pointer v, readValue records a problem
// and returns nil.
func (d *decoder) readValue(dec *jsontext.Decoder, v any) ([]byte, error) {
	switch kind := byte(dec.PeekKind()); {
	case kind == 0 || kind == 'n':
		return nil, dec.SkipValue()
	case !accepts(v, kind):
		return nil, d.skipWrongType(dec, v)
	}
	return dec.ReadValue()
}

// skipWrongType skips the next value and records that it has the wrong type.
func (d *decoder) skipWrongType(dec *jsontext.Decoder, v any) error {
	kind := dec.PeekKind()
	if err := dec.SkipValue(); err != nil {
		return err
	}
	d.doc.WrongType(paramOf(dec), describe(v), byte(kind))
	return nil
}

// WrongType records that the field param has the wrong type. want describes the expected type; kind is the first byte of the value, '0' for a
// number.
func (d *Document) WrongType(param, want string, kind byte) {
	is := map[byte]string{'n': "null", 'f': "false", 't': "true", '0': "a number", '"': "a string", '[': "a list", '{': "an object"}[kind]
	message := fmt.Sprintf("%s must be %s; it is %s.", param, want, is)
	if d.rules.Lenient != nil && d.rules.Lenient(param) {
		d.Untranslatable(param, "%s", message)
	} else {
		d.Problem(param, "%s", message)
	}
}

// readMembers decodes the members of the top-level object into the fields of a struct and records their positions. It skips unknown members.
func (d *decoder) readMembers(dec *jsontext.Decoder, into reflect.Value) error {
	if kind := dec.PeekKind(); kind != '{' {
		return &jsontext.SyntacticError{Err: errors.New("the body must be a JSON object")}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	known := fieldsOf(into.Type())
	for dec.PeekKind() != '}' {
		key, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(dec.InputOffset())
		field := llm.Field{KeyStart: end - len(key), Value: valueStart(d.doc.Body, end)}
		index, found := known[string(key[1:len(key)-1])]
		if !found {
			index, found = known[unquote(key)]
		}
		if found {
			field.Name = index.name
		} else {
			field.Name = strings.Clone(unquote(key))
		}
		repeated := false
		if alias := d.doc.rules.Alias; alias != nil && dec.PeekKind() != 'n' {
			if !found {
				index, found = known[alias(field.Name)]
			}
			repeated = found && d.hasField(index.name)
		}
		d.doc.Fields = append(d.doc.Fields, field)
		switch {
		case repeated:
			err = d.skipRepeated(dec, field.Name, index.name)
		case found:
			err = json.UnmarshalDecode(dec, into.FieldByIndex(index.path).Addr().Interface())
		default:
			err = dec.SkipValue()
		}
		if err != nil {
			return err
		}
		d.doc.Fields[len(d.doc.Fields)-1].End = int(dec.InputOffset())
	}
	_, err := dec.ReadToken()
	return err
}

// valueStart returns the position of the value of a member whose key ends at position i.
func valueStart(body []byte, i int) int {
	for i < len(body) && (body[i] == ':' || body[i] == ' ' || body[i] == '\n' || body[i] == '\t' || body[i] == '\r') {
		i++
	}
	return i
}

// unquote decodes a JSON string. A string without escapes shares memory with the body.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = rawjson.Unescape(make([]byte, 0, len(inner)), inner, len(inner))
	}
	return unsafe.String(unsafe.SliceData(inner), len(inner)) // neither the body nor the decoded bytes change
}

// paramOf returns the path of the value that was read last, such as messages[3].content.
func paramOf(dec *jsontext.Decoder) string {
	var path strings.Builder
	depth := 0
	for name := range dec.StackPointer().Tokens() {
		depth++
		if kind, _ := dec.StackIndex(depth); kind == '[' {
			path.WriteString("[" + name + "]")
			continue
		}
		if depth > 1 {
			path.WriteByte('.')
		}
		path.WriteString(name)
	}
	return path.String()
}

// accepts reports whether values that begin with the given byte can be decoded into the type of the pointer v.
func accepts(v any, kind byte) bool {
	switch v := v.(type) {
	case Shape:
		return v.Accepts(kind)
	case *string:
		return kind == '"'
	case *bool:
		return kind == 't' || kind == 'f'
	}
	switch reflect.TypeOf(v).Elem().Kind() {
	case reflect.Struct, reflect.Map:
		return kind == '{'
	case reflect.Slice:
		return kind == '['
	default:
		return true // a pointer, whose element decides
	}
}

// describe describes the values that can be decoded into the type of the pointer v.
func describe(v any) string {
	switch v := v.(type) {
	case Shape:
		return v.Description()
	case *string:
		return "a string"
	case *bool:
		return "true or false"
	case *[]string:
		return "a list of strings"
	}
	if reflect.TypeOf(v).Elem().Kind() == reflect.Slice {
		return "a list"
	}
	return "an object"
}

// structField is a field of a struct with its JSON name.
type structField struct {
	name string
	path []int // index sequence for reflect.Value.FieldByIndex
}

var structFields sync.Map // reflect.Type to map[string]structField

// fieldsOf returns the fields of a struct type by their JSON names, including the fields of embedded structs.
func fieldsOf(t reflect.Type) map[string]structField {
	if known, ok := structFields.Load(t); ok {
		return known.(map[string]structField)
	}
	fields := map[string]structField{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = structField{name, f.Index}
		}
	}
	structFields.Store(t, fields)
	return fields
}

// current returns the name of the top-level member that is being decoded.
func (d *Document) current() string { return d.Fields[len(d.Fields)-1].Name }

// Given reports whether the document has the top-level member with the given name, and its value is not null.
func (d *Document) Given(name string) bool {
	raw := d.Raw(name)
	return raw != nil && raw[0] != 'n'
}

// Raw returns the value of a top-level member, or nil.
func (d *Document) Raw(name string) []byte {
	for _, f := range d.Fields {
		if f.Name == name {
			return d.Body[f.Value:f.End]
		}
	}
	return nil
}

// Position is the position of an object in the body. Decode sets it in structs that embed it.
type Position struct {
	before int `json:"-"` // position before the object; json rejects a struct without a tag and exported fields
}

// place records that the object is the next value after the position before.
func (p *Position) place(before int) { p.before = before }

// Given reports whether the value is an object.
func (p Position) Given() bool { return p.before > 0 }

// RawAt returns the JSON of the object at a position.
func (d *Document) RawAt(p Position) []byte {
	s := rawjson.Scanner{Data: d.Body, Pos: p.before + bytes.IndexByte(d.Body[p.before:], '{')}
	return s.Raw()
}

// Problem records that the field param makes the request invalid.
func (d *Document) Problem(param, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
}

// Untranslatable records that the field param prevents the translation of the request to another format.
func (d *Document) Untranslatable(param, format string, args ...any) {
	if len(d.translations) < maxProblems {
		d.translations = append(d.translations, Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
}

// HasProblem reports whether a problem with the field param was recorded. It ignores the case of param.
func (d *Document) HasProblem(param string) bool {
	return slices.ContainsFunc(d.problems, func(p Problem) bool { return strings.EqualFold(p.Param, param) })
}

// Require records a problem if the field param is not present, unless a problem with this field is already recorded. advice explains to the
// client how to fix the problem.
func (d *Document) Require(param string, present bool, advice string) {
	if !present && !d.HasProblem(param) {
		d.Problem(param, "The field %q is missing. %s", param, advice)
	}
}

// RejectLookAlikes records a problem for every member of an object that some provider could read as one of the JSON names of the struct into,
// see LookAlike. unknown holds the members that the struct does not have. path is the path of the object, with a dot at the end.
func (d *Document) RejectLookAlikes(path string, unknown jsontext.Value, into any) {
	if len(unknown) == 0 {
		return
	}
	s := rawjson.Scanner{Data: unknown}
	s.Peek()
	for key := range s.Members {
		d.rejectLookAlike(path, string(key), into)
	}
}

// UnknownFields yields the top-level members that the struct into does not have.
func (d *Document) UnknownFields(into any) iter.Seq[llm.Field] {
	known := fieldsOf(structOf(into))
	return func(yield func(llm.Field) bool) {
		for _, f := range d.Fields {
			_, found := known[f.Name]
			if !found && d.rules.Alias != nil {
				_, found = known[d.rules.Alias(f.Name)]
			}
			if !found && !yield(f) {
				return
			}
		}
	}
}

// RejectUnknownLookAlikes is like RejectLookAlikes for the top-level object.
func (d *Document) RejectUnknownLookAlikes(into any) {
	for f := range d.UnknownFields(into) {
		d.rejectLookAlike("", f.Name, into)
	}
}

func (d *Document) rejectLookAlike(path, key string, into any) {
	for name := range fieldsOf(structOf(into)) {
		p, found := LookAlike(path, key, name)
		if !found && d.rules.Alias != nil {
			p, found = LookAlike(path, strings.ReplaceAll(key, "_", ""), strings.ReplaceAll(name, "_", ""))
		}
		if found {
			d.Problem(p.Param, "%s", p.Message)
			return
		}
	}
}

// structOf returns the type of a struct or of a pointer to a struct.
func structOf(v any) reflect.Type {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Finish completes a request that the document has described: it sets the body, its conversation, which may be nil, and the properties that
// follow from the conversation. It returns the error of Reject for an invalid request.
func (d *Document) Finish(req *llm.Request, conv *llm.Conversation) error {
	if e := d.Reject(); e != nil {
		return e
	}
	req.Body, req.Fields, req.Conversation, req.Untranslatable = d.Body, d.Fields, conv, d.TranslationError()
	if conv != nil {
		req.Describe()
		req.Preview = show.Preview(req.Asked, llm.PreviewBytes)
	}
	return nil
}

// Reject returns an error for the client that lists the problems in the order of the body, or nil if the request is valid.
func (d *Document) Reject() *llm.Error { return d.reject(d.problems) }

// TranslationError returns the error for a provider of another format, or nil if the request can be translated.
func (d *Document) TranslationError() *llm.Error {
	e := d.reject(d.translations)
	if e != nil {
		e.Kind = llm.Untranslatable // a provider of the same format may accept the content
	}
	return e
}

func (d *Document) reject(problems []Problem) *llm.Error {
	if len(problems) == 0 {
		return nil
	}
	positions := make(map[string]int, len(problems))
	for _, p := range problems {
		positions[p.Param] = d.positionOf(p.Param)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(positions[a.Param], positions[b.Param]) })
	return Reject(problems...)
}

// positionOf returns the position of the value with the given path in the body. A missing value follows the other members of its object.
func (d *Document) positionOf(param string) int {
	if i := slices.IndexFunc(d.Fields, func(f llm.Field) bool { return f.Name == param }); i >= 0 {
		return d.Fields[i].Value
	}
	path := strings.NewReplacer("[", ".", "]", "").Replace(param)
	for body, exact := rawjson.Parse(d.Body), true; path != ""; exact = false {
		if v := body.Get(path); v.Exists() && exact {
			return v.Index
		} else if v.Exists() {
			return v.Index + len(v.Raw)
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return len(d.Body)
}
