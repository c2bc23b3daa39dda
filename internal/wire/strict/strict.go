// Package strict accepts only request bodies that every later parser reads in the same way: one JSON object in valid UTF-8, without
// duplicate keys and without data after it. It also defines the form of validation errors.
package strict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// maxKey is the maximum length of a key in an error message, in bytes.
const maxKey = 512

// Object parses the body and returns its top-level members in order. The error is an *llm.Error of kind InvalidJSON or InvalidRequest, or
// of kind ClientCancelled when ctx is cancelled first.
func Object(ctx context.Context, body []byte) ([]llm.Field, error) {
	s := rawjson.NewStrict(ctx, body)
	defer s.Release()
	fields, top := make([]llm.Field, 0, 16), ""
	err := Members(&s, func(key []byte) {
		top = string(key)
		field := llm.Field{Name: top, KeyStart: s.KeyStart, Value: s.Pos}
		s.Skip()
		field.End = s.Pos
		fields = append(fields, field)
	})
	if err == nil && s.Err != nil {
		err = Error(&s, top)
	}
	if err != nil {
		return nil, err
	}
	return fields, nil
}

// Members calls read for every member of a document, which must be one object. During the call, the scanner is at the value of the member.
// Syntax errors are recorded in the scanner; Members returns an error if the document is not an object.
func Members(s *rawjson.Scanner, read func(key []byte)) error {
	switch first := s.Peek(); {
	case first == '{':
		for key := range s.Members {
			read(key)
		}
		s.End()
	case s.Pos == len(s.Data):
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
