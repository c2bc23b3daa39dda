package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"fairlead/internal/spelling"
)

// complaint is a problem of a condition, at a character of it.
type complaint struct {
	code    Code
	offset  int // in characters
	width   int
	message string
	hint    string
}

// inspector reads one condition and collects what is wrong with it.
type inspector struct {
	*language
	source     string
	zone       func(name string) (*time.Location, error)
	open       bool                      // names that do not exist are no problem
	zones      map[string]*time.Location // that conditions name
	complaints []complaint
	info       *ast.SourceInfo
	cost       uint64 // estimated maximum
}

// compile makes conjuncts of a condition, or says what is wrong with it.
func (c *inspector) compile() ([]conjunct, error) {
	parsed, issues := c.env.Parse(c.source)
	if len(issues.Errors()) > 0 {
		c.syntax(issues.Errors())
		return nil, nil
	}
	c.info = parsed.NativeRep().SourceInfo()
	if c.look(parsed.NativeRep().Expr(), nil); len(c.complaints) > 0 {
		return nil, nil
	}
	checked, issues := c.env.Check(parsed)
	if len(issues.Errors()) > 0 {
		c.types(issues.Errors())
		return nil, nil
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		c.complain(WrongCondition, 0, len([]rune(strings.TrimSpace(c.source))),
			"the condition must be true or false, but this is a "+typeName(checked.OutputType()), "compare it with something: ==, <, in")
		return nil, nil
	}
	cost, err := c.env.EstimateCost(checked, sizes{})
	if err != nil {
		return nil, fmt.Errorf("estimate a condition: %w", err)
	}
	if c.cost = cost.Max; c.cost > maxWork && !c.open { // the evaluation of saved policies is bounded while it runs
		c.complain(TooCostly, 0, len([]rune(strings.TrimSpace(c.source))),
			fmt.Sprintf("the condition could take %d steps; at most %d are allowed", cost.Max, maxWork), "go through fewer things at once")
		return nil, nil
	}
	return c.plan(checked)
}

func (c *inspector) complain(code Code, offset, width int, message, hint string) {
	c.complaints = append(c.complaints, complaint{code, offset, max(1, width), message, hint})
}

// start is where an expression stands in the text: a selection at its dot, a call at its bracket.
func (c *inspector) start(e ast.Expr) int {
	r, _ := c.info.GetOffsetRange(e.ID())
	return int(r.Start)
}

// look finds names, functions, zones and values that do not exist. CEL would find the first two as well, but does not
// say which field is wrong or what was meant.
func (c *inspector) look(e ast.Expr, bound []string) {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		if path, fields := pathOf(e); path != nil {
			c.name(path, fields, bound)
			return
		}
	case ast.CallKind:
		if !c.call(e) {
			return
		}
	case ast.ComprehensionKind:
		of := e.AsComprehension()
		c.look(of.IterRange(), bound)
		within := append(slices.Clip(bound), of.IterVar(), of.IterVar2(), of.AccuVar())
		for _, part := range []ast.Expr{of.AccuInit(), of.LoopCondition(), of.LoopStep(), of.Result()} {
			c.look(part, within)
		}
		return
	default: // what is within may name something
	}
	for _, child := range children(e) {
		c.look(child, bound)
	}
}

// pathOf takes request.task apart into its words, with the expression that each one ends.
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

// name makes sure that a path begins with a variable.
func (c *inspector) name(path []string, ends []ast.Expr, bound []string) {
	root := strings.TrimPrefix(path[0], ".")
	if slices.Contains(bound, root) || strings.HasPrefix(root, "@") {
		return
	}
	if len(path) > 1 {
		if _, ok := c.slots[root+"."+path[1]]; ok {
			return
		}
	}
	fields, groups := c.fieldsOf(root)
	at := c.start(ends[0])
	switch {
	case len(fields) == 0:
		c.complain(UnknownVariable, at, len([]rune(path[0])), fmt.Sprintf("nothing is called %s here", quote(path[0])), c.meant(root, path, groups))
	case len(path) == 1:
		c.complain(UnknownVariable, at, len([]rune(path[0])), root+" is a group of fields, not a value", "write one of "+strings.Join(fields, ", "))
	default:
		hint := didYouMean(spelling.Closest(path[1], fields))
		if hint == "" {
			hint = "its fields are " + strings.Join(fields, ", ")
		}
		c.complain(UnknownVariable, c.start(ends[1])+1, len([]rune(path[1])), fmt.Sprintf("%s has no field %s", root, quote(path[1])), hint)
	}
}

// fieldsOf lists the fields of a group, and all groups.
func (c *inspector) fieldsOf(group string) (fields, groups []string) {
	for _, v := range c.list {
		of, field, _ := strings.Cut(v.name, ".")
		if v.hidden() {
			continue
		}
		if of == group {
			fields = append(fields, field)
		}
		if !slices.Contains(groups, of) {
			groups = append(groups, of)
		}
	}
	return fields, groups
}

// meant guesses what an unknown first word was to be: a group, or a field whose group was left out.
func (c *inspector) meant(root string, path, groups []string) string {
	if group := spelling.Closest(root, groups); group != "" && len(path) > 1 {
		return didYouMean(strings.Join(append([]string{group}, path[1:]...), "."))
	}
	for _, v := range c.list {
		if _, field, _ := strings.Cut(v.name, "."); field == root {
			return didYouMean(v.name)
		}
	}
	if strings.EqualFold(root, "true") || strings.EqualFold(root, "false") {
		return didYouMean(strings.ToLower(root))
	}
	return "texts are written in quotation marks; fields begin with " + strings.Join(groups, ", ")
}

// call looks at a function, and reports whether its arguments are worth looking at.
func (c *inspector) call(e ast.Expr) bool {
	call := e.AsCall()
	name := call.FunctionName()
	if slices.Contains(symbols(), name) {
		c.clock(call)
		c.values(call)
		return true
	}
	if slices.Contains(functions(), name) {
		return true
	}
	known := append(functions(), append(iterations(), "has")...)
	if call.IsMemberFunction() && call.Target().Kind() == ast.IdentKind && call.Target().AsIdent() == "time" {
		known = []string{"hour", "weekday", "date"}
	}
	hint := didYouMean(spelling.Closest(name, known))
	if hint == "" {
		hint = "there are " + strings.Join(known, ", ")
	}
	width := len([]rune(name))
	c.complain(UnknownVariable, max(0, c.start(e)-width), width, fmt.Sprintf("no function is called %s", quote(name)), hint)
	return false
}

// clock makes sure that the zone of time.hour("Europe/Berlin") exists.
func (c *inspector) clock(call ast.CallExpr) {
	if call.FunctionName() != operators.Index || call.Args()[0].Kind() != ast.IdentKind || !strings.HasPrefix(call.Args()[0].AsIdent(), "@") {
		return
	}
	name, _ := textLiteral(call.Args()[1])
	zone, err := c.zone(name)
	if err != nil && c.open {
		return // then the condition does not hold
	}
	if err != nil || name == "" || name == "Local" { // where Fairlead runs is no fact of the request
		c.complain(UnknownName, c.start(call.Args()[1]), len([]rune(name))+2, fmt.Sprintf("no time zone is called %s", quote(name)), "write a name such as Europe/Berlin, America/New_York or UTC")
		return
	}
	c.zones[name] = zone
}

// values makes sure that a variable with a closed list of values is compared with one of them.
func (c *inspector) values(call ast.CallExpr) {
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
			hint := didYouMean(spelling.Closest(text, v.values))
			if hint == "" {
				hint = "it is one of " + strings.Join(v.values, ", ")
			}
			c.complain(UnknownName, c.start(e), len([]rune(text))+2, fmt.Sprintf("%s is never %s", v.name, quote(text)), hint)
		}
	}
}

// comparison returns the variable with a closed list that one side is, and what the other side lists.
func (c *inspector) comparison(one, other ast.Expr) (*variable, []ast.Expr) {
	path, _ := pathOf(one)
	slot, ok := c.slots[strings.Join(path, ".")]
	if clock, is := c.reading(one); !ok && is && clock.keyed {
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
