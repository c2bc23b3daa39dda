package policy

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"
)

// conjunct is a part of a condition: those that stand between &&. They are evaluated one by one, so that the one that
// failed can be named.
type conjunct struct {
	text    string // as CEL lays it out
	program cel.Program
	reads   []reading
}

// reading is a value that a conjunct looks at.
type reading struct {
	text  string // such as key.tags["team"]
	slot  int
	key   string
	keyed bool
	whole bool // it is all of the conjunct
}

// plan makes the conjuncts of a condition that has been checked.
func (l *language) plan(checked *cel.Ast) ([]conjunct, error) {
	tree := checked.NativeRep()
	var all []conjunct
	for _, e := range split(tree.Expr()) {
		text, err := parser.Unparse(e, tree.SourceInfo())
		if err != nil {
			return nil, fmt.Errorf("write a condition: %w", err)
		}
		part := ast.NewCheckedAST(ast.NewAST(e, tree.SourceInfo()), tree.TypeMap(), tree.ReferenceMap())
		program, err := l.env.PlanProgram(part, cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			return nil, fmt.Errorf("plan a condition: %w", err)
		}
		all = append(all, conjunct{text: text, program: program, reads: l.readings(e)})
	}
	return all, nil
}

// split takes a condition apart at every && that is not within something else.
func split(e ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalAnd {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, arg := range e.AsCall().Args() {
		all = append(all, split(arg)...)
	}
	return all
}

// readings lists the variables of an expression, each once, in the order of the text.
func (l *language) readings(root ast.Expr) []reading {
	var all []reading
	seen := map[string]bool{}
	var walk func(e ast.Expr)
	walk = func(e ast.Expr) {
		if r, ok := l.reading(e); ok {
			r.whole = e == root
			if !seen[r.text] {
				seen[r.text] = true
				all = append(all, r)
			}
			return
		}
		for _, child := range children(e) {
			walk(child)
		}
	}
	walk(root)
	return all
}

// reading is the variable, or the entry of one, that an expression stands for.
func (l *language) reading(e ast.Expr) (reading, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name := strings.TrimPrefix(e.AsIdent(), ".")
		slot, ok := l.slots[name]
		return reading{text: name, slot: slot}, ok
	case ast.SelectKind:
		r, ok := l.reading(e.AsSelect().Operand())
		return entry(r, e.AsSelect().FieldName()), ok && !r.keyed
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || len(call.Args()) != 2 {
			return reading{}, false
		}
		key, isText := textLiteral(call.Args()[1])
		r, ok := l.reading(call.Args()[0])
		return entry(r, key), ok && isText && !r.keyed
	default:
		return reading{}, false
	}
}

func entry(r reading, key string) reading {
	r.key, r.keyed = key, true
	if name, clock := strings.CutPrefix(r.text, "@"); clock {
		r.text = fmt.Sprintf("time.%s(%q)", name, key)
	} else {
		r.text = fmt.Sprintf("%s[%q]", r.text, key)
	}
	return r
}

// children are the expressions within an expression, in the order of the text.
func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return call.Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}
	case ast.MapKind:
		var all []ast.Expr
		for _, one := range e.AsMap().Entries() {
			all = append(all, one.AsMapEntry().Key(), one.AsMapEntry().Value())
		}
		return all
	default:
		return nil
	}
}

// reason says that a conjunct does not hold, and what it saw.
func (r *rule) reason(failed int, f *Facts) string {
	c := r.when[failed]
	a := newActivation(r.names)
	a.reset(scope{f, r.zones})
	text := c.text + " is false"
	if value, _, err := c.program.Eval(a); err != nil {
		text = c.text + " cannot be computed: " + strings.TrimSpace(err.Error())
	} else if value == types.True {
		text = c.text + " is true" // these are not the facts of the evaluation
	}
	var seen []string
	for _, read := range c.reads {
		if !read.whole {
			seen = append(seen, read.text+" is "+show(read.value(a)))
		}
	}
	if len(seen) > 0 {
		text += " (" + strings.Join(seen, ", ") + ")"
	}
	return text
}

func (r reading) value(a *activation) ref.Val {
	value := a.value(r.slot)
	if m, ok := value.(interface{ Get(ref.Val) ref.Val }); ok && r.keyed {
		return m.Get(types.String(r.key))
	}
	return value
}

// longestShown is how much of a value a reason quotes.
const longestShown = 60

// show writes a value for people.
func show(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return fmt.Sprintf("%q", shorten(string(v)))
	case types.Timestamp:
		return v.UTC().Format("2006-01-02T15:04:05Z")
	case *labels:
		if len(v.texts) == 0 {
			return "empty"
		}
		var pairs []string
		for keys := v.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			pairs = append(pairs, fmt.Sprintf("%s=%s", key.Value(), v.Get(key).Value()))
		}
		return shorten(strings.Join(pairs, " "))
	default:
		return fmt.Sprint(v.Value())
	}
}

func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= longestShown {
		return text
	}
	return string(runes[:longestShown]) + "…"
}
