package redact

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Bounds on custom rules. A text is matched in time proportional to the size of the compiled pattern, so that size is
// bounded and not only the pattern's length: x{1000} is short.
const (
	MaxCustom  = 20
	MaxName    = 40
	MaxPattern = 300
	maxProgram = 200 // instructions of one compiled pattern
)

// Problem is one thing that is wrong with rules.
type Problem struct {
	Param   string // such as custom[2].pattern
	Message string // names the rule
	Unknown string // the name of a built-in rule that there is not; empty for other problems
}

var ruleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _-]*$`)

// Check lists everything that is wrong with the rules.
func (r Rules) Check() []Problem {
	var problems []Problem
	add := func(param, format string, args ...any) {
		problems = append(problems, Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
	for i, name := range r.Builtin {
		at := fmt.Sprintf("builtin[%d]", i)
		switch {
		case !Known(name):
			add(at, "there is no built-in rule %q; there are %s", short(name), strings.Join(Names(), ", "))
			problems[len(problems)-1].Unknown = short(name)
		case slices.Index(r.Builtin, name) < i:
			add(at, "rule %q is named twice", name)
		}
	}
	if len(r.Custom) > MaxCustom {
		add("custom", "there are %d rules, and at most %d are possible", len(r.Custom), MaxCustom)
	}
	seen := map[string]bool{}
	for i, c := range r.Custom[:min(len(r.Custom), MaxCustom)] {
		at := fmt.Sprintf("custom[%d]", i)
		if wrong := checkName(c.Name, seen); wrong != "" {
			add(at+".name", "rule %q: %s", short(c.Name), wrong)
		}
		seen[strings.ToLower(c.Name)] = true
		if wrong := checkPattern(c.Pattern); wrong != "" {
			add(at+".pattern", "rule %q: %s", short(c.Name), wrong)
		}
	}
	return problems
}

func checkName(name string, seen map[string]bool) string {
	switch {
	case name == "":
		return "it needs a name"
	case len(name) > MaxName:
		return fmt.Sprintf("the name is longer than %d characters", MaxName)
	case !ruleName.MatchString(name) || strings.HasSuffix(name, " "):
		return "a name begins with a letter and consists of letters, digits, spaces, dashes and underscores"
	case Known(strings.ToLower(name)):
		return "a built-in rule has this name"
	case seen[strings.ToLower(name)]:
		return "another rule has this name"
	}
	return ""
}

func checkPattern(pattern string) string {
	switch {
	case pattern == "":
		return "it needs a pattern"
	case len(pattern) > MaxPattern:
		return fmt.Sprintf("the pattern is longer than %d bytes", MaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "the pattern is not valid: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return "the pattern is not valid: " + err.Error()
	}
	if len(program.Inst) > maxProgram {
		return fmt.Sprintf("the pattern is too complex: it has %d steps, and at most %d are possible", len(program.Inst), maxProgram)
	}
	if compiled, err := regexp.Compile(pattern); err != nil || compiled.MatchString("") {
		return "the pattern matches an empty text, so it would match everywhere"
	}
	return ""
}

// short keeps a message readable, whatever somebody calls a rule.
func short(s string) string {
	if len(s) <= MaxName {
		return s
	}
	return strings.ToValidUTF8(s[:MaxName], "") + "…"
}
