// Package validate decodes and checks the fields of a request. A format declares its fields in tables: name, type,
// limits and destination. Every problem is recorded with the path of its field, so that a client gets all problems in
// one response.
package validate

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// Limits for single fields.
const (
	MaxName   = 256 // maximum length of a model name, a session ID or an end user's name, in bytes
	MaxTokens = 1 << 53

	maxProblems = 20
	maxNames    = 64 // maximum number of entries in models, and in each list in provider
	maxLabels   = 64 // maximum number of entries in metadata
	maxLabel    = 512
)

// Reader reads the values of a request and records problems.
type Reader struct {
	rawjson.Scanner
	problems []strict.Problem
}

// Problem records a problem with the field param. It keeps at most maxProblems problems.
func (r *Reader) Problem(param, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, strict.Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
}

// HasProblem reports whether a problem with the field param was recorded. It ignores the case of param.
func (r *Reader) HasProblem(param string) bool {
	return slices.ContainsFunc(r.problems, func(p strict.Problem) bool { return strings.EqualFold(p.Param, param) })
}

// Valid reports whether no problem was recorded.
func (r *Reader) Valid() bool { return len(r.problems) == 0 }

// Reject returns an error for the client that lists every recorded problem, or nil if there are none.
func (r *Reader) Reject() *llm.Error {
	if r.Valid() {
		return nil
	}
	return strict.Reject(r.problems...)
}

// Require records a problem if the field param is not present, unless a problem with this field is already recorded. advice explains to the
// client how to fix the problem.
func (r *Reader) Require(param string, present bool, advice string) {
	if !present && !r.HasProblem(param) {
		r.Problem(param, "The field %q is missing. %s", param, advice)
	}
}

// RejectLookAlikes records a problem if some provider could read key as one of the names, see strict.LookAlike. path is the path of the
// object, with a dot at the end.
func (r *Reader) RejectLookAlikes(path, key string, names ...string) {
	if p, found := strict.LookAlike(path, key, names...); found {
		r.Problem(p.Param, "%s", p.Message)
	}
}

// SkipWrongType skips the next value and records a problem: the value has the wrong type. want describes the expected type.
func (r *Reader) SkipWrongType(param, want string) {
	kind := rawjson.KindOf(r.Kind())
	if r.Skip(); r.Err == nil {
		r.Problem(param, "%s must be %s; it is %s.", param, want, kindName(kind))
	}
}

func kindName(kind rawjson.Kind) string {
	return [...]string{
		rawjson.Null: "null", rawjson.False: "false", rawjson.True: "true", rawjson.Number: "a number",
		rawjson.Text: "a string", rawjson.List: "a list", rawjson.Object: "an object",
	}[kind]
}

// Is reports whether the next value has the given kind; see rawjson.Scanner.Kind. Otherwise it skips the value and, unless the value is
// null, records a problem.
func (r *Reader) Is(kind byte, param, want string) bool {
	switch r.Kind() {
	case kind:
		return true
	case 'n':
		r.SkipNull()
	default:
		r.SkipWrongType(param, want)
	}
	return false
}

// IsKind reports whether the kind of v is one of the allowed kinds. If it is not, IsKind records a problem.
func (r *Reader) IsKind(param string, v rawjson.Value, want string, allowed ...rawjson.Kind) bool {
	ok := slices.Contains(allowed, v.Kind)
	if !ok {
		r.Problem(param, "%s must be %s; it is %s.", param, want, kindName(v.Kind))
	}
	return ok
}

// IsKindOrNull is like IsKind, but does not record a problem for null. If null is not an allowed kind, it still returns false for null.
func (r *Reader) IsKindOrNull(param string, v rawjson.Value, want string, allowed ...rawjson.Kind) bool {
	if v.Kind == rawjson.Null && !slices.Contains(allowed, rawjson.Null) {
		return false
	}
	return r.IsKind(param, v, want, allowed...)
}

// ReadText reads a string. It returns false if the next value is null or not a string.
func (r *Reader) ReadText(param string) (string, bool) {
	if !r.Is('"', param, "a string") {
		return "", false
	}
	s := r.ReadString()
	return string(r.Unquote(s)), r.Err == nil
}

// ReadName reads a string that the gateway uses as a name: not empty, not too long, without control characters.
func (r *Reader) ReadName(param string) (string, bool) {
	s, ok := r.ReadText(param)
	switch {
	case !ok:
	case strings.TrimSpace(s) == "":
		r.Problem(param, "%s must not be empty.", param)
	case len(s) > MaxName:
		r.Problem(param, "%s is %d bytes long; at most %d are allowed. It begins with %s.", param, len(s), MaxName, show.Quote(s))
	case strings.ContainsFunc(s, show.Harmful) || strings.ContainsRune(s, utf8.RuneError):
		r.Problem(param, "%s has control characters: %s.", param, show.Quote(s))
	default:
		return s, true
	}
	return "", false
}

// ReadNames reads a list of names.
func (r *Reader) ReadNames(param string) []string {
	if !r.Is('[', param, "a list of strings") {
		return nil
	}
	var list []string
	for n := range r.Elements {
		if n == maxNames {
			r.Problem(param, "%s may have at most %d entries.", param, maxNames)
		}
		if r.Kind() != '"' {
			r.SkipWrongType(param, "a list of strings")
		} else if name, ok := r.ReadName(param); ok && n < maxNames {
			list = append(list, name)
		}
	}
	return list
}

// ReadBool reads a boolean. A null is false.
func (r *Reader) ReadBool(param string) bool {
	value := r.ReadOptionalBool(param)
	return value != nil && *value
}

// ReadOptionalBool reads a boolean. It returns nil for null. For any other value, it records a problem and returns nil.
func (r *Reader) ReadOptionalBool(param string) *bool {
	switch kind := r.Kind(); kind {
	case 't', 'f':
		r.Skip()
		value := kind == 't'
		return &value
	case 'n':
		r.SkipNull()
	default:
		r.SkipWrongType(param, "true or false")
	}
	return nil
}

// ReadInt reads an integer in the range [low, high]. It returns false if the next value is null. If the value is not an integer or is out
// of range, ReadInt records a problem and returns false.
func (r *Reader) ReadInt(param string, low, high int64) (int64, bool) {
	if !r.Is('0', param, "a whole number") {
		return 0, false
	}
	raw := r.Number()
	n, ok := rawjson.ParseInteger(raw)
	if r.Err == nil && (!ok || n < low || n > high) {
		r.Problem(param, "%s must be a whole number from %d to %d; it is %s.", param, low, high, strings.Trim(show.Quote(string(raw)), `"`))
		return 0, false
	}
	return n, r.Err == nil
}

// ReadOneOf reads a string that must be one of the allowed values. It returns "" if the next value is null. For any other value, it
// records a problem and returns "".
func (r *Reader) ReadOneOf(param string, allowed ...string) string {
	s, ok := r.ReadText(param)
	if ok && !slices.Contains(allowed, s) {
		r.Problem(param, "%s must be one of %s; it is %s.", param, strings.Join(allowed, ", "), show.Quote(s))
		return ""
	}
	return s
}
