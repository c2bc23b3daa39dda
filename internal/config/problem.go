package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/document"
)

// Code identifies a kind of problem in the documentation.
type Code string

// Codes of configuration problems.
const (
	Unreadable     Code = "E1001" // the file cannot be read
	TooLarge       Code = "E1002" // the file or its content after alias expansion is too large
	Malformed      Code = "E1003" // the YAML is invalid
	UnknownField   Code = "E1004" // unknown field
	WrongType      Code = "E1005" // wrong type, for example a list instead of a string
	Repeated       Code = "E1006" // duplicate key or name
	NotAllowed     Code = "E1007" // value that is not allowed
	MissingEnv     Code = "E1008" // ${NAME} refers to a variable that is not set
	MissingFile    Code = "E1009" // file:/path cannot be read
	OutOfRange     Code = "E1010" // number, size or duration that is too small or too large
	BadValue       Code = "E1011" // invalid address, URL, name or range
	MissingField   Code = "E1012" // required field is missing
	WeakSecret     Code = "E1013" // an empty or short secret
	Contradictory  Code = "E1014" // conflicting settings
	UnknownSetting Code = "E1015" // unknown flag or variable
)

// Problem describes a configuration problem and its fix. It never contains a secret.
type Problem struct {
	Path       string `json:"path"`                 // path of the field, such as providers[0].format
	Source     string `json:"source"`               // name of the file, variable or flag
	Line       int    `json:"line,omitempty"`       // line in the file; 0 if there is none
	Column     int    `json:"column,omitempty"`     // column in characters, starting at 1; 0 if unknown
	Width      int    `json:"-"`                    // number of characters to highlight, starting at Column
	Message    string `json:"message"`              // description in one line without a full stop
	Suggestion string `json:"suggestion,omitempty"` // closest valid value; empty if there is none
	Fix        string `json:"fix"`                  // instruction that fixes the problem
	Code       Code   `json:"code"`

	excerpt string // line of the file with secrets masked
}

// String formats the problem on one line.
func (p Problem) String() string {
	where := p.Source
	if p.Line > 0 {
		where += fmt.Sprintf(" line %d", p.Line)
	}
	text := document.Clean(p.Message)
	if where != "" {
		text = document.Clean(where) + ": " + text
	}
	if p.Suggestion != "" {
		text += fmt.Sprintf(" (did you mean %q?)", p.Suggestion)
	}
	return text
}

// Pretty formats the problem for a terminal, with an excerpt and the fix.
func (p Problem) Pretty() string { return p.pretty("") }

// pretty is like Pretty, but appends the given text to the fix.
func (p Problem) pretty(then string) string {
	var b strings.Builder
	b.WriteString("error: ")
	if p.Source != "" {
		b.WriteString(document.Clean(p.Source))
		if p.Line > 0 {
			fmt.Fprintf(&b, " line %d", p.Line)
		}
		b.WriteString(": ")
	}
	b.WriteString(document.Clean(p.Message) + "\n")
	hint := document.DidYouMean(p.Suggestion)
	switch {
	case p.Line > 0 && p.excerpt != "":
		b.WriteString(document.Excerpt(p.Line, p.excerpt, p.Column, p.Width, hint))
	case hint != "":
		b.WriteString("  " + hint + "\n")
	}
	fmt.Fprintf(&b, "  fix: %s%s        [%s]\n", document.Clean(p.Fix), then, p.Code)
	return b.String()
}

// Problems lists all problems of a configuration in file order.
type Problems struct { //nolint:errname // a list of problems, not a single error
	List    []Problem
	Omitted int // number of problems beyond the maximum

	file string // path of the file with problems
}

// mostProblems is the maximum number of reported problems.
const mostProblems = 50

// Error formats all problems on one line.
func (p *Problems) Error() string {
	texts := make([]string, 0, len(p.List))
	for _, problem := range p.List {
		texts = append(texts, problem.String())
	}
	if p.Omitted > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", p.Omitted))
	}
	return strings.Join(texts, "; ")
}

// Pretty formats all problems for a terminal, followed by the command that checks the configuration again.
func (p *Problems) Pretty() string {
	then := ""
	if p.file != "" {
		then = ", then run  fairlead config check --config " + document.Clean(p.file)
	}
	total := len(p.List) + p.Omitted
	if total == 1 {
		return p.List[0].pretty(then)
	}
	var b strings.Builder
	for _, problem := range p.List {
		b.WriteString(problem.Pretty() + "\n")
	}
	fmt.Fprintf(&b, "%d problems", total)
	if p.Omitted > 0 {
		fmt.Fprintf(&b, ", the first %d shown", len(p.List))
	}
	if then != "" {
		then = ": correct them" + then
	}
	b.WriteString(then + "\n")
	return b.String()
}

func (p *Problems) sort() {
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line) // problems without a line come last
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(p.List) > mostProblems {
		p.Omitted = len(p.List) - mostProblems
		p.List = p.List[:mostProblems]
	}
}
