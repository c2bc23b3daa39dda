package redact

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Limits for custom rules. Matching time is proportional to the size of the compiled pattern, so this size is limited in addition to the
// pattern's length: x{1000} is short but compiles to a large program.
const (
	MaxCustom  = 20
	MaxName    = 40
	MaxPattern = 300
	maxProgram = 200 // maximum number of instructions in one compiled pattern
)

// Problem is one error in the rules.
type Problem struct {
	Param   string // parameter with the error, such as custom[2].pattern
	Message string // error message that includes the name of the rule
	Unknown string // unknown name of a built-in rule; empty for other problems
}

var ruleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _-]*$`)

// Check returns all problems in the rules.
func (r Rules) Check() []Problem {
	var problems []Problem
	add := func(param, format string, args ...any) {
		problems = append(problems, Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
	for i, name := range r.Builtin {
		at := fmt.Sprintf("builtin[%d]", i)
		switch {
		case !Known(name):
			add(at, "unknown built-in rule %q; the built-in rules are %s", truncate(name), strings.Join(Names(), ", "))
			problems[len(problems)-1].Unknown = truncate(name)
		case slices.Index(r.Builtin, name) < i:
			add(at, "rule %q is listed twice", name)
		}
	}
	if len(r.Custom) > MaxCustom {
		add("custom", "there are %d rules; the maximum is %d", len(r.Custom), MaxCustom)
	}
	seen := map[string]bool{}
	for i, c := range r.Custom[:min(len(r.Custom), MaxCustom)] {
		at := fmt.Sprintf("custom[%d]", i)
		if wrong := checkName(c.Name, seen); wrong != "" {
			add(at+".name", "rule %q: %s", truncate(c.Name), wrong)
		}
		seen[strings.ToLower(c.Name)] = true
		if wrong := checkPattern(c.Pattern); wrong != "" {
			add(at+".pattern", "rule %q: %s", truncate(c.Name), wrong)
		}
	}
	return problems
}

func checkName(name string, seen map[string]bool) string {
	switch {
	case name == "":
		return "the name is missing"
	case len(name) > MaxName:
		return fmt.Sprintf("the name is longer than %d characters", MaxName)
	case !ruleName.MatchString(name) || strings.HasSuffix(name, " "):
		return "a name starts with a letter and has only letters, digits, spaces, dashes and underscores"
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
		return "the pattern is missing"
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
		return fmt.Sprintf("the pattern is too complex: it has %d steps; the maximum is %d", len(program.Inst), maxProgram)
	}
	if compiled, err := regexp.Compile(pattern); err != nil || compiled.MatchString("") {
		return "the pattern matches the empty string"
	}
	return ""
}

// truncate truncates a rule name for use in a message.
func truncate(s string) string {
	if len(s) <= MaxName {
		return s
	}
	return strings.ToValidUTF8(s[:MaxName], "") + "…"
}
