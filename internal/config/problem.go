package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Code names a kind of problem, so that people can look it up.
type Code string

// The kinds of problems of a configuration.
const (
	Unreadable     Code = "E1001" // the file cannot be read
	TooLarge       Code = "E1002" // the file, or what its aliases stand for, is too large
	Malformed      Code = "E1003" // not YAML
	UnknownField   Code = "E1004" // no such field
	WrongType      Code = "E1005" // a list where text is wanted, and the like
	Repeated       Code = "E1006" // the same key or name twice
	NotAllowed     Code = "E1007" // not one of the values that the field may have
	MissingEnv     Code = "E1008" // ${NAME} of a variable that is not set
	MissingFile    Code = "E1009" // file:/path that cannot be read
	OutOfRange     Code = "E1010" // too small or too large
	BadValue       Code = "E1011" // an address, URL, name or range that is none
	MissingField   Code = "E1012" // required and absent
	WeakSecret     Code = "E1013" // an empty or short secret
	Contradictory  Code = "E1014" // two settings that exclude each other
	UnknownSetting Code = "E1015" // a flag or variable that stands for no field
)

// Problem is one thing that is wrong with a configuration, and what to do about it. It never holds a secret.
type Problem struct {
	Path       string // of the field, such as providers[0].format
	Source     string // name of the file, variable or flag
	Line       int    // in the file; 0 when there is none
	Column     int    // counted in characters from 1; 0 when not known
	Width      int    // characters to mark from there
	Message    string // one line, no full stop
	Suggestion string // what was probably meant, or ""
	Fix        string // what to do
	Code       Code

	excerpt string // the line of the file, secrets hidden
}

// String is the problem in one line.
func (p Problem) String() string {
	where := p.Source
	if p.Line > 0 {
		where += fmt.Sprintf(" line %d", p.Line)
	}
	text := clean(p.Message)
	if where != "" {
		text = clean(where) + ": " + text
	}
	if p.Suggestion != "" {
		text += fmt.Sprintf(" (did you mean %q?)", p.Suggestion)
	}
	return text
}

// Pretty is the problem for a person at a terminal: what, where with an excerpt, and the fix.
func (p Problem) Pretty() string { return p.pretty("") }

// pretty ends with what to run once the fix is made.
func (p Problem) pretty(then string) string {
	var b strings.Builder
	b.WriteString("error: ")
	if p.Source != "" {
		b.WriteString(clean(p.Source))
		if p.Line > 0 {
			fmt.Fprintf(&b, " line %d", p.Line)
		}
		b.WriteString(": ")
	}
	b.WriteString(clean(p.Message) + "\n")
	hint := ""
	if p.Suggestion != "" {
		hint = fmt.Sprintf("did you mean %q?", p.Suggestion)
	}
	switch {
	case p.Line > 0 && p.excerpt != "":
		p.writeExcerpt(&b, hint)
	case hint != "":
		b.WriteString("  " + hint + "\n")
	}
	fmt.Fprintf(&b, "  fix: %s%s        [%s]\n", clean(p.Fix), then, p.Code)
	return b.String()
}

func (p Problem) writeExcerpt(b *strings.Builder, hint string) {
	number := fmt.Sprintf("%4d", p.Line)
	fmt.Fprintf(b, "%s | %s\n", number, p.excerpt)
	if p.Column == 0 {
		return
	}
	length := len([]rune(p.excerpt))
	width := max(1, min(p.Width, length-p.Column+1))
	marks := strings.Repeat(" ", p.Column-1) + strings.Repeat("^", width)
	fmt.Fprintf(b, "%s | %s\n", strings.Repeat(" ", len(number)), strings.TrimRight(marks+" "+hint, " "))
}

// Problems is everything that is wrong with a configuration, in the order of the file.
type Problems struct { //nolint:errname // people speak of problems; the code that reads them should too
	List    []Problem
	Omitted int // how many more there were

	file string // that some of them are in
}

// mostProblems bounds the report on a file that is wrong throughout.
const mostProblems = 50

// Error is all problems in one line, for logs.
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

// Pretty is all problems for a person at a terminal, with how to see that they are gone.
func (p *Problems) Pretty() string {
	then := ""
	if p.file != "" {
		then = ", then run  fairlead config check --config " + clean(p.file)
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
			return cmp.Compare(b.Line, a.Line) // what has no line comes after the file
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(p.List) > mostProblems {
		p.Omitted = len(p.List) - mostProblems
		p.List = p.List[:mostProblems]
	}
}

// clean makes text from outside fit for one line of a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == '\u2028' || r == '\u2029' || (r >= '\u202a' && r <= '\u202e') {
			return ' '
		}
		return r
	}, text)
}
