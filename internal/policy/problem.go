package policy

import (
	"fmt"
	"strings"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/policy/condition"
)

// Code identifies a kind of problem.
type Code string

// Codes of problems in a policy document.
const (
	TooLarge        Code = "E2001" // too many bytes or policies
	Malformed       Code = "E2002" // document that is not valid YAML
	WrongType       Code = "E2030" // wrong type, such as a list instead of text
	UnknownField    Code = "E2031" // unknown field
	Repeated        Code = "E2032" // duplicate field or name
	MissingField    Code = "E2033" // missing required field
	BadValue        Code = "E2034" // too long, out of range or malformed
	UnknownName     Code = "E2035" // unknown model, provider, tag, zone or value
	NoEffect        Code = "E2036" // policy without an effect
	BadSyntax            = Code(condition.BadSyntax)
	UnknownVariable      = Code(condition.UnknownVariable)
	WrongCondition       = Code(condition.WrongType)
	TooCostly            = Code(condition.TooCostly)
)

// Problem describes a problem in a document and its location.
type Problem struct {
	Line    int    `json:"line"`   // line number, starting at 1
	Column  int    `json:"column"` // column in characters, starting at 1
	Width   int    `json:"width"`  // number of characters to mark, at least 1
	Path    string `json:"path"`   // path of the field, such as policies[2].when
	Policy  string `json:"policy,omitempty"`
	Code    Code   `json:"code"`
	Message string `json:"message"`        // description in one line, without a full stop
	Hint    string `json:"hint,omitempty"` // suggested fix
}

// String formats the problem on one line.
func (p Problem) String() string {
	text := fmt.Sprintf("line %d:%d: %s", p.Line, p.Column, p.Message)
	if p.Policy != "" {
		text = fmt.Sprintf("policy %q ", p.Policy) + text
	}
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return document.Clean(text)
}

// Pretty formats the problems of a document for a terminal: message, location and fix.
func Pretty(file string, source []byte, problems []Problem) string {
	lines := strings.Split(string(source), "\n")
	var b strings.Builder
	for i, p := range problems {
		if i > 0 {
			b.WriteString("\n")
		}
		where := fmt.Sprintf("line %d", p.Line)
		if p.Policy != "" {
			where = fmt.Sprintf("policy %q %s", p.Policy, where)
		}
		fmt.Fprintf(&b, "error: %s: %s\n", document.Clean(where), document.Clean(p.Message))
		if p.Line >= 1 && p.Line <= len(lines) {
			line, column := document.Window(lines[p.Line-1], p.Column)
			b.WriteString(document.Excerpt(p.Line, line, max(1, column), p.Width, p.Hint))
		}
		fix := "correct it" // the hint contains the details
		switch p.Code {
		case UnknownField:
			fix = "correct the field"
		case UnknownName:
			fix = "correct the name"
		case BadSyntax, UnknownVariable, WrongCondition, TooCostly:
			fix = "correct the condition"
		case NoEffect:
			fix = "give the policy an effect"
		default:
		}
		fmt.Fprintf(&b, "  fix: %s, then run  fairlead policies validate %s        [%s]\n", fix, document.Clean(file), p.Code)
	}
	return b.String()
}
