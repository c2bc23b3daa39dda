package condition

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/spelling"
)

// Code identifies a kind of problem.
type Code string

// Codes of problems in a condition.
const (
	UnknownValue    Code = "E2035" // unknown time zone, or a value that a variable never has
	BadSyntax       Code = "E2040" // condition that is not valid CEL
	UnknownVariable Code = "E2041" // unknown variable or function
	WrongType       Code = "E2042" // type mismatch, or a result that is not a boolean
	TooCostly       Code = "E2043" // condition whose evaluation is too expensive
)

// Problem is a problem at an offset in a condition.
type Problem struct {
	Code    Code
	Offset  int // offset of the problem in the condition, in characters
	Width   int
	Message string
	Hint    string
}

// compiler checks one condition and collects problems.
type compiler struct {
	*Language
	source   string
	open     bool // whether unknown values, unknown time zones and any cost are accepted
	problems []Problem
	info     *ast.SourceInfo
	cost     uint64 // estimated maximum cost
}

// Compile compiles a condition or returns its problems. If allowUnknown is set, it accepts unknown values and time zones and any
// cost. This is used for saved conditions, which were checked when they were saved and whose evaluation is limited at run time.
func (l *Language) Compile(source string, allowUnknown bool) (*Condition, []Problem) {
	c := compiler{Language: l, source: source, open: allowUnknown}
	conjuncts, err := c.compile()
	if err != nil {
		c.report(BadSyntax, 0, 1, document.Clean(err.Error()), "")
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return &Condition{conjuncts: conjuncts, cost: c.cost, zones: l.zones, names: l.names}, nil
}

// compile returns the conjuncts. Problems are collected in the compiler.
func (c *compiler) compile() ([]conjunct, error) {
	parsed, issues := c.env.Parse(c.source)
	if len(issues.Errors()) > 0 {
		// Report only the first error, because the first error usually causes the others.
		e := slices.MinFunc(issues.Errors(), func(a, b *cel.Error) int { return c.offsetOf(a.Location) - c.offsetOf(b.Location) })
		message, hint, width := plainSyntax(e.Message)
		c.report(BadSyntax, c.offsetOf(e.Location), width, message, hint)
		return nil, nil
	}
	c.info = parsed.NativeRep().SourceInfo()
	if c.checkNames(parsed.NativeRep().Expr(), nil); len(c.problems) > 0 {
		return nil, nil
	}
	checked, issues := c.env.Check(parsed)
	if len(issues.Errors()) > 0 {
		for _, e := range issues.Errors() {
			message, width := plainType(e.Message)
			c.report(WrongType, c.offsetOf(e.Location), width, message, "")
		}
		return nil, nil
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		c.report(WrongType, 0, len([]rune(strings.TrimSpace(c.source))),
			"the condition must be true or false, but its type is "+typeName(checked.OutputType()), "compare the value: ==, <, in")
		return nil, nil
	}
	cost, err := c.env.EstimateCost(checked, sizes{})
	if err != nil {
		return nil, fmt.Errorf("estimate the cost of a condition: %w", err)
	}
	if c.cost = cost.Max; c.cost > MaxCost && !c.open {
		c.report(TooCostly, 0, len([]rune(strings.TrimSpace(c.source))),
			fmt.Sprintf("the condition could take %d steps; at most %d are allowed", cost.Max, MaxCost), "iterate over fewer items")
		return nil, nil
	}
	return c.plan(checked)
}

func (c *compiler) report(code Code, offset, width int, message, hint string) {
	c.problems = append(c.problems, Problem{code, offset, max(1, width), message, hint})
}

// start returns the offset of an expression. CEL reports a selection at its dot and a call at its bracket.
func (c *compiler) start(e ast.Expr) int {
	r, _ := c.info.GetOffsetRange(e.ID())
	return int(r.Start)
}

// checkNames reports unknown names, functions, time zones and values. CEL would also find unknown names and functions, but it
// does not report which field is wrong or suggest a fix.
func (c *compiler) checkNames(e ast.Expr, bound []string) {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		if path, fields := pathOf(e); path != nil {
			c.checkPath(path, fields, bound)
			return
		}
	case ast.CallKind:
		if !c.checkCall(e) {
			return
		}
	case ast.ComprehensionKind:
		comprehension := e.AsComprehension()
		c.checkNames(comprehension.IterRange(), bound)
		within := append(slices.Clip(bound), comprehension.IterVar(), comprehension.IterVar2(), comprehension.AccuVar())
		for _, part := range []ast.Expr{comprehension.AccuInit(), comprehension.LoopCondition(), comprehension.LoopStep(), comprehension.Result()} {
			c.checkNames(part, within)
		}
		return
	default: // check nested expressions
	}
	for _, child := range children(e) {
		c.checkNames(child, bound)
	}
}

// pathOf splits a selection such as request.task into its words. For each word it also returns the expression that ends there.
func pathOf(e ast.Expr) (words []string, ends []ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{e.AsIdent()}, []ast.Expr{e}
	case ast.SelectKind:
		words, ends = pathOf(e.AsSelect().Operand())
		if words == nil {
			return nil, nil
		}
		return append(words, e.AsSelect().FieldName()), append(ends, e)
	default:
		return nil, nil
	}
}

// checkPath checks that a path starts with a variable.
func (c *compiler) checkPath(path []string, ends []ast.Expr, bound []string) {
	root := strings.TrimPrefix(path[0], ".")
	if slices.Contains(bound, root) || strings.HasPrefix(root, "@") {
		return
	}
	if len(path) > 1 {
		if _, ok := c.slots[root+"."+path[1]]; ok {
			return
		}
	}
	var fields, groups []string // fields of the group, and names of all groups
	for _, v := range c.list {
		group, field, _ := strings.Cut(v.name, ".")
		if v.hidden() {
			continue
		}
		if group == root {
			fields = append(fields, field)
		}
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	at := c.start(ends[0])
	switch {
	case len(fields) == 0:
		c.report(UnknownVariable, at, len([]rune(path[0])), fmt.Sprintf("unknown name %s", document.Quote(path[0])), c.suggestion(root, path, groups))
	case len(path) == 1:
		c.report(UnknownVariable, at, len([]rune(path[0])), root+" is a group of fields, not a value", "write one of "+strings.Join(fields, ", "))
	default:
		hint := document.DidYouMean(spelling.Closest(path[1], fields))
		if hint == "" {
			hint = "its fields are " + strings.Join(fields, ", ")
		}
		c.report(UnknownVariable, c.start(ends[1])+1, len([]rune(path[1])), fmt.Sprintf("%s has no field %s", root, document.Quote(path[1])), hint)
	}
}

// suggestion returns a hint with the name that was probably intended: a group, or a field without its group.
func (c *compiler) suggestion(root string, path, groups []string) string {
	if group := spelling.Closest(root, groups); group != "" && len(path) > 1 {
		return document.DidYouMean(strings.Join(append([]string{group}, path[1:]...), "."))
	}
	for _, v := range c.list {
		if _, field, _ := strings.Cut(v.name, "."); field == root {
			return document.DidYouMean(v.name)
		}
	}
	if strings.EqualFold(root, "true") || strings.EqualFold(root, "false") {
		return document.DidYouMean(strings.ToLower(root))
	}
	return "put text in quotation marks; fields start with " + strings.Join(groups, ", ")
}

// checkCall checks a function call and reports whether its arguments should be checked.
func (c *compiler) checkCall(e ast.Expr) bool {
	call := e.AsCall()
	name := call.FunctionName()
	if slices.Contains(symbols(), name) {
		c.checkZone(call)
		c.checkValues(call)
		return true
	}
	if slices.Contains(Functions(), name) {
		return true
	}
	known := append(Functions(), append(Iterations(), "has")...)
	if call.IsMemberFunction() && call.Target().Kind() == ast.IdentKind && call.Target().AsIdent() == "time" {
		known = []string{"hour", "weekday", "date"}
	}
	hint := document.DidYouMean(spelling.Closest(name, known))
	if hint == "" {
		hint = "the functions are " + strings.Join(known, ", ")
	}
	width := len([]rune(name))
	c.report(UnknownVariable, max(0, c.start(e)-width), width, fmt.Sprintf("unknown function %s", document.Quote(name)), hint)
	return false
}

// checkZone checks that the zone of time.hour("Europe/Berlin") exists.
func (c *compiler) checkZone(call ast.CallExpr) {
	if call.FunctionName() != operators.Index || call.Args()[0].Kind() != ast.IdentKind || !strings.HasPrefix(call.Args()[0].AsIdent(), "@") {
		return
	}
	name, _ := textLiteral(call.Args()[1])
	zone, err := c.zone(name)
	if err != nil && c.open {
		return // accepted: reading the zone fails when the condition is evaluated
	}
	if err != nil || name == "" || name == "Local" { // conditions must not depend on the server's time zone
		c.report(UnknownValue, c.start(call.Args()[1]), len([]rune(name))+2, fmt.Sprintf("unknown time zone %s", document.Quote(name)), "use a name such as Europe/Berlin, America/New_York or UTC")
		return
	}
	c.zones[name] = zone
}

// checkValues reports comparisons with values that an enumerated variable never has.
func (c *compiler) checkValues(call ast.CallExpr) {
	name := call.FunctionName()
	if c.open || name != operators.Equals && name != operators.NotEquals && name != operators.In {
		return
	}
	v, literals := c.comparison(call.Args()[0], call.Args()[1])
	if v == nil {
		v, literals = c.comparison(call.Args()[1], call.Args()[0])
	}
	for _, e := range literals {
		if text, ok := textLiteral(e); ok && text != "" && !slices.Contains(v.values, text) {
			hint := document.DidYouMean(spelling.Closest(text, v.values))
			if hint == "" {
				hint = "use one of " + strings.Join(v.values, ", ")
			}
			c.report(UnknownValue, c.start(e), len([]rune(text))+2, fmt.Sprintf("%s is never %s", v.name, document.Quote(text)), hint)
		}
	}
}

// comparison returns the enumerated variable on one side of a comparison and the values on the other side.
func (c *compiler) comparison(one, other ast.Expr) (*variable, []ast.Expr) {
	path, _ := pathOf(one)
	slot, ok := c.slots[strings.Join(path, ".")]
	if clock, isVariable := c.variableRef(one); !ok && isVariable && clock.keyed {
		name, _, _ := strings.Cut(clock.text, "(")
		slot, ok = c.slots[name]
	}
	if !ok || c.list[slot].values == nil || c.list[slot].typ != types.StringType {
		return nil, nil
	}
	if other.Kind() == ast.ListKind {
		return &c.list[slot], other.AsList().Elements()
	}
	return &c.list[slot], []ast.Expr{other}
}
