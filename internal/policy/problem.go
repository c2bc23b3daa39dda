package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Code identifies a kind of problem.
type Code string

// The kinds of problems in a policy document.
const (
	TooLarge        Code = "E2001" // too many bytes or policies
	Malformed       Code = "E2002" // not YAML
	WrongType       Code = "E2030" // such as a list instead of text
	UnknownField    Code = "E2031" // unknown field
	Repeated        Code = "E2032" // duplicate field or name
	MissingField    Code = "E2033" // missing required field
	BadValue        Code = "E2034" // too long, out of range or malformed
	UnknownName     Code = "E2035" // unknown model, provider, tag, zone or value
	NoEffect        Code = "E2036" // policy without an effect
	BadSyntax       Code = "E2040" // condition is not valid CEL
	UnknownVariable Code = "E2041" // condition uses an unknown variable or function
	WrongCondition  Code = "E2042" // type mismatch, or a result that is not a boolean
	TooCostly       Code = "E2043" // condition is too expensive
)

// Problem is one error in a document, with its location.
type Problem struct {
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // in characters, from 1
	Width   int    `json:"width"`  // characters to mark, at least 1
	Path    string `json:"path"`   // such as policies[2].when
	Policy  string `json:"policy,omitempty"`
	Code    Code   `json:"code"`
	Message string `json:"message"`        // one line, no full stop
	Hint    string `json:"hint,omitempty"` // suggestion
}

// String formats the problem in one line.
func (p Problem) String() string {
	text := fmt.Sprintf("line %d:%d: %s", p.Line, p.Column, p.Message)
	if p.Policy != "" {
		text = fmt.Sprintf("policy %q ", p.Policy) + text
	}
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return clean(text)
}

// maxExcerpt bounds how much of a line Pretty shows.
const maxExcerpt = 120

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
		fmt.Fprintf(&b, "error: %s: %s\n", clean(where), clean(p.Message))
		if p.Line >= 1 && p.Line <= len(lines) {
			p.excerpt(&b, lines[p.Line-1])
		}
		fmt.Fprintf(&b, "  fix: %s, then run  fairlead policies validate %s        [%s]\n", p.fix(), clean(file), p.Code)
	}
	return b.String()
}

func (p Problem) excerpt(b *strings.Builder, line string) {
	runes := []rune(clean(line))
	start := 0
	if len(runes) > maxExcerpt {
		start = max(0, min(p.Column-maxExcerpt/2, len(runes)-maxExcerpt))
		runes = runes[start : start+maxExcerpt]
	}
	number := fmt.Sprintf("%4d", p.Line)
	fmt.Fprintf(b, "%s | %s\n", number, strings.TrimRight(string(runes), " "))
	column := max(1, p.Column-start)
	width := max(1, min(p.Width, len(runes)-column+1))
	marks := strings.Repeat(" ", column-1) + strings.Repeat("^", width)
	fmt.Fprintf(b, "%s | %s\n", strings.Repeat(" ", len(number)), strings.TrimRight(marks+" "+clean(p.Hint), " "))
}

// fix returns the kind of change needed; the hint has the details.
func (p Problem) fix() string {
	switch p.Code {
	case UnknownField:
		return "correct the field"
	case UnknownName:
		return "correct the name"
	case BadSyntax, UnknownVariable, WrongCondition, TooCostly:
		return "correct the condition"
	case NoEffect:
		return "give the policy an effect"
	default:
		return "correct it"
	}
}

// inOrder sorts problems by their location.
func inOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

// clean makes external text safe for one line of a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == '\u2028' || r == '\u2029' || (r >= '\u202a' && r <= '\u202e') || (r >= '\u2066' && r <= '\u2069') {
			return ' '
		}
		return r
	}, text)
}

// quote quotes external text and truncates it.
func quote(text string) string { return fmt.Sprintf("%q", shorten(text)) }

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", word)
}
