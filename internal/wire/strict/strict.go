// Package strict accepts only request bodies that every later parser reads in the same way: one JSON object in valid UTF-8, without
// duplicate keys and without data after it. It also defines the form of validation errors.
package strict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/turncache"
	"fairlead.dev/internal/wire/show"
)

// maxKey is the maximum length of a key in an error message, in bytes.
const maxKey = 512

// Object parses the body and returns its top-level members in order. The error is an *llm.Error of kind InvalidJSON or InvalidRequest, or
// of kind ClientCancelled when ctx is cancelled first.
func Object(ctx context.Context, body []byte) ([]llm.Field, error) {
	return ObjectAfter(ctx, body, nil, "", nil)
}

// Prefix holds the state of the parser after an element of a list that is a top-level member. ObjectAfter can continue from this state. A
// Prefix does not refer to the body.
type Prefix struct {
	scanner rawjson.Checkpoint
	Fields  []llm.Field // members before the list
	List    llm.Field   // position of the list in the body; its end is not known yet
	Next    int         // index of the next element
}

// End returns the position in the body at which the parser stopped.
func (p *Prefix) End() int { return p.scanner.Pos }

// Bytes returns the approximate memory size of p.
func (p *Prefix) Bytes() int { return 128 + p.scanner.Bytes() + 48*len(p.Fields) }

// ObjectAfter is like Object, but continues from the state in the given Prefix. A nil Prefix means the start of the body. After every
// element of the named list that ends at position turncache.MinPrefix or later, ObjectAfter calls mark and stores its state in the Prefix
// that mark returns.
func ObjectAfter(ctx context.Context, body []byte, from *Prefix, list string, mark func() *Prefix) ([]llm.Field, error) {
	s := rawjson.NewStrict(ctx, body)
	defer s.Release()
	o := objectReader{Scanner: &s, fields: make([]llm.Field, 0, 16), list: list, mark: mark}
	var err error
	if from == nil {
		err = Members(&s, o.member)
	} else {
		o.resume(from)
	}
	if err == nil && s.Err != nil {
		err = Error(&s, o.top)
	}
	if err != nil {
		return nil, err
	}
	return o.fields, nil
}

// objectReader reads the members of an object.
type objectReader struct {
	*rawjson.Scanner
	fields []llm.Field
	top    string // name of the current member
	list   string
	mark   func() *Prefix
}

func (o *objectReader) member(key []byte) {
	o.top = string(key)
	field := llm.Field{Name: o.top, KeyStart: o.KeyStart, Value: o.Pos}
	if o.mark != nil && o.top == o.list && o.Kind() == '[' {
		for n := range o.Elements {
			o.element(n, field)
		}
	} else {
		o.Skip()
	}
	field.End = o.Pos
	o.fields = append(o.fields, field)
}

func (o *objectReader) element(n int, list llm.Field) {
	if o.Skip(); o.Err == nil && o.mark != nil && o.Pos >= turncache.MinPrefix {
		*o.mark() = Prefix{scanner: o.Checkpoint(), Fields: slices.Clone(o.fields), List: list, Next: n + 1}
	}
}

// resume continues from the given state: it reads the rest of the list and the members after it.
func (o *objectReader) resume(from *Prefix) {
	o.fields = append(o.fields, from.Fields...)
	o.Resume(from.scanner)
	field := from.List
	o.top = field.Name
	for n := range func(yield func(int) bool) { o.ElementsAfter(from.Next, yield) } {
		o.element(n, from.List)
	}
	field.End = o.Pos
	o.fields = append(o.fields, field)
	for key := range o.MembersAfter {
		o.member(key)
	}
	if o.Err == nil {
		o.End()
	}
}

// Members calls read for every member of a document, which must be one object. During the call, the scanner is at the value of the member.
// Syntax errors are recorded in the scanner; Members returns an error if the document is not an object.
func Members(s *rawjson.Scanner, read func(key []byte)) error {
	switch s.Peek() {
	case '{':
		for key := range s.Members {
			read(key)
		}
		s.End()
	case 0:
		s.Fail("the body is empty")
	default:
		if s.Skip(); s.Err == nil {
			s.End()
		}
		if s.Err == nil {
			return Reject(Problem{"", "The body must be a JSON object."})
		}
	}
	return nil
}

// Error converts a scanner error to an error for the client. top is the name of the top-level member that was read last.
func Error(s *rawjson.Scanner, top string) *llm.Error {
	if s.Context != nil && errors.Is(s.Err, s.Context.Err()) {
		return llm.AsError(llm.Cancelled(s.Context))
	}
	if repeated, ok := errors.AsType[*rawjson.RepeatedKeyError](s.Err); ok {
		return Reject(Problem{
			show.Cut(repeated.Key, maxKey),
			fmt.Sprintf("The key %s appears twice in the same object, and parsers differ in which value they use. Send each key once.", show.Quote(repeated.Key)),
		})
	}
	if over, ok := errors.AsType[*rawjson.LimitError](s.Err); ok {
		return rejectLimit(over, top)
	}
	message := "The body is not valid JSON: " + s.Err.Error() + "."
	if bytes.HasPrefix(s.Data, []byte("\xef\xbb\xbf")) {
		message = "The body begins with a byte order mark. Send UTF-8 without it."
	} else if s.Pos < len(s.Data) && s.Data[s.Pos] >= utf8.RuneSelf && !utf8.Valid(s.Data[s.Pos:min(len(s.Data), s.Pos+utf8.UTFMax)]) {
		message = fmt.Sprintf("The body is not valid UTF-8 at byte %d. Send JSON encoded in UTF-8.", s.Pos)
	}
	e := Reject(Problem{"", message})
	e.Kind = llm.InvalidJSON
	return e
}

// Problem is one validation error: the path of the field and a sentence.
type Problem struct{ Param, Message string }

// Reject returns an error that lists every problem. Its message is the message of the first problem.
func Reject(problems ...Problem) *llm.Error {
	list := make([]map[string]string, len(problems))
	for i, p := range problems {
		list[i] = map[string]string{"param": p.Param, "message": p.Message}
	}
	e := &llm.Error{Kind: llm.InvalidRequest, Message: problems[0].Message, Param: problems[0].Param}
	return e.With("problems", list)
}
