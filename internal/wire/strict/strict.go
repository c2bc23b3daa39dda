// Package strict reads a request body the way every parser must: one JSON object in valid UTF-8, no key twice, nothing
// behind it. What it lets pass means the same to whoever reads it next.
package strict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// maxKey bounds what a refusal repeats of a key.
const maxKey = 512

// Object checks the body against the limits and returns its top-level members in order. The error is an *llm.Error of kind InvalidJSON or
// InvalidRequest that says what is wrong and where, or of kind ClientCancelled when ctx ends before the body is read.
func Object(ctx context.Context, body []byte) ([]llm.Field, error) {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return nil, unreadable("The body begins with a byte order mark. Send plain UTF-8 without it.")
	}
	if _, err := Measure(body); err != nil {
		return nil, err
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body)) // a Buffer is read in place
	switch kind := d.PeekKind(); kind {
	case '{':
	case 0:
		_, err := d.ReadToken()
		return nil, rejectSyntax(err)
	default:
		if _, err := d.ReadValue(); err != nil {
			return nil, rejectSyntax(err)
		}
		return nil, Reject(Problem{"", "The body must be a JSON object."})
	}
	fields, err := members(ctx, d)
	if err != nil {
		return nil, rejectSyntax(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, unreadable(fmt.Sprintf("There is data after the JSON document, at byte %d. Send one JSON object.", d.InputOffset()))
	}
	return fields, nil
}

func members(ctx context.Context, d *jsontext.Decoder) ([]llm.Field, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	fields := make([]llm.Field, 0, 16)
	for d.PeekKind() != '}' {
		key, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		field := llm.Field{KeyStart: int(d.InputOffset()) - len(key)}
		name, err := jsontext.AppendUnquote(nil, key)
		if err != nil {
			return nil, err
		}
		field.Name = string(name)
		if field.Value, err = readValue(ctx, d); err != nil {
			return nil, err
		}
		field.End = int(d.InputOffset())
		fields = append(fields, field)
	}
	_, err := d.ReadToken()
	return fields, err
}

// PollBytes is how much of a body is read between two checks of its context: a few milliseconds of work at most.
const PollBytes = 64 << 10

// readValue reads a value and returns the offset of its first byte. It reads lists and objects token by token to check the
// context meanwhile.
func readValue(ctx context.Context, d *jsontext.Decoder) (start int, err error) {
	if kind := d.PeekKind(); kind != '{' && kind != '[' {
		value, err := d.ReadValue()
		return int(d.InputOffset()) - len(value), err
	}
	depth := d.StackDepth()
	if _, err := d.ReadToken(); err != nil {
		return 0, err
	}
	start = int(d.InputOffset()) - 1
	polled := d.InputOffset()
	for d.StackDepth() > depth {
		if _, err := d.ReadToken(); err != nil {
			return 0, err
		}
		if at := d.InputOffset(); at-polled >= PollBytes {
			polled = at
			if err := llm.Cancelled(ctx); err != nil {
				return 0, err
			}
		}
	}
	return start, nil
}

// rejectSyntax says in a sentence what the parser found.
func rejectSyntax(err error) error {
	if cancelled, ok := errors.AsType[*llm.Error](err); ok {
		return cancelled
	}
	if errors.Is(err, io.EOF) {
		return unreadable("The body is empty. Send a JSON object.")
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return unreadable("The body is not valid JSON: " + show.Cut(show.OneLine(err.Error()), 200) + ".")
	}
	if errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
		key := syntax.JSONPointer.LastToken()
		return Reject(Problem{
			show.Cut(key, maxKey),
			fmt.Sprintf("The key %s appears twice in the same object, and different readers would take different values. Send each key once.", show.Quote(key)),
		})
	}
	return unreadable(fmt.Sprintf("The body is not valid JSON: %v at byte %d.", syntax.Err, syntax.ByteOffset))
}

func unreadable(message string) *llm.Error {
	e := Reject(Problem{"", message})
	e.Kind = llm.InvalidJSON
	return e
}

// Problem is one thing that is wrong with a request: the field, and a sentence.
type Problem struct{ Param, Message string }

// Reject lists every problem; the first one is the sentence that people see.
func Reject(problems ...Problem) *llm.Error {
	list := make([]map[string]string, len(problems))
	for i, p := range problems {
		list[i] = map[string]string{"param": p.Param, "message": p.Message}
	}
	e := &llm.Error{Kind: llm.InvalidRequest, Message: problems[0].Message, Param: problems[0].Param}
	return e.With("problems", list)
}
