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

// Limits of single values.
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

// Problem records a problem of a field. Only the first problems are kept.
func (r *Reader) Problem(param, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, strict.Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
}

// HasProblem reports whether a problem of the field was recorded. It ignores the case of param.
func (r *Reader) HasProblem(param string) bool {
	return slices.ContainsFunc(r.problems, func(p strict.Problem) bool { return strings.EqualFold(p.Param, param) })
}

// Valid reports whether no problem was recorded.
func (r *Reader) Valid() bool { return len(r.problems) == 0 }

// Reject returns an error with every problem for the client, or nil when there is none.
func (r *Reader) Reject() *llm.Error {
	if r.Valid() {
		return nil
	}
	return strict.Reject(r.problems...)
}

// Require records a problem if a field is missing and has no other problem. advice describes what to send.
func (r *Reader) Require(param string, present bool, advice string) {
	if !present && !r.HasProblem(param) {
		r.Problem(param, "The field %q is missing. %s", param, advice)
	}
}

// RejectLookAlikes records a problem for a key that differs from one of names only in case. Some providers ignore the
// case of keys and would use a field that was not validated. path is the path of the object, with a dot at the end.
func (r *Reader) RejectLookAlikes(path, key string, names ...string) {
	if name, found := strict.LookAlike(key, names...); found {
		r.Problem(path+show.Cut(key, maxLabel), "The key %s differs from %q only in letter case. Use %q.", show.Quote(key), name, name)
	}
}

// SkipWrongType skips the next value and records that it has the wrong type.
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

// Is reports whether the next value has the given kind; see rawjson.Scanner.Kind. A null is skipped and counts as
// absent. Any other kind is recorded as a problem.
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

// IsKind reports whether v has an allowed kind, and records a problem otherwise.
func (r *Reader) IsKind(param string, v rawjson.Value, want string, allowed ...rawjson.Kind) bool {
	ok := slices.Contains(allowed, v.Kind)
	if !ok {
		r.Problem(param, "%s must be %s; it is %s.", param, want, kindName(v.Kind))
	}
	return ok
}

// IsKindOrNull is like IsKind, but a null counts as absent: it returns false without a problem.
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

// ReadOptionalBool reads a boolean. It returns nil for null. It also returns nil for any other value, and records a
// problem.
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

// ReadInt reads an integer from low to high. It returns false if the next value is null or not such an integer.
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

// ReadOneOf reads a string that must be one of allowed. It returns "" if the next value is null or not allowed.
func (r *Reader) ReadOneOf(param string, allowed ...string) string {
	s, ok := r.ReadText(param)
	if ok && !slices.Contains(allowed, s) {
		r.Problem(param, "%s must be one of %s; it is %s.", param, strings.Join(allowed, ", "), show.Quote(s))
		return ""
	}
	return s
}
