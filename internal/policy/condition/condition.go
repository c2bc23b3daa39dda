package condition

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/parser"

	"fairlead.dev/internal/document"
)

// Condition is a compiled condition. It is safe for concurrent use.
type Condition struct {
	conjuncts []conjunct
	cost      uint64
	zones     map[string]*time.Location
	names     *names
}

// Cost returns the estimated maximum cost of an evaluation.
func (c *Condition) Cost() uint64 { return c.cost }

// conjunct is an operand of && in a condition. Conjuncts are evaluated separately, so that an explanation can name the false conjunct.
type conjunct struct {
	text    string // text of the conjunct, formatted by CEL
	program cel.Program
	reads   []variableRef
}

// variableRef is a variable that a conjunct reads.
type variableRef struct {
	text  string // variable as written in a condition, such as key.tags["team"]
	slot  int
	key   string
	keyed bool
	whole bool // whether the conjunct consists only of this variable
}

// plan compiles the conjuncts of a checked condition.
func (l *Language) plan(checked *cel.Ast) ([]conjunct, error) {
	tree := checked.NativeRep()
	var all []conjunct
	for _, e := range split(tree.Expr()) {
		text, err := parser.Unparse(e, tree.SourceInfo())
		if err != nil {
			return nil, fmt.Errorf("format a condition: %w", err)
		}
		part := ast.NewCheckedAST(ast.NewAST(e, tree.SourceInfo()), tree.TypeMap(), tree.ReferenceMap())
		estimate, err := cost.Cost(part, sizes{})
		if err != nil {
			return nil, fmt.Errorf("estimate the cost of a condition: %w", err)
		}
		options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
		if estimate.Max > trackedCost {
			options = []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(maxRunCost)}
		}
		program, err := l.env.PlanProgram(part, options...)
		if err != nil {
			return nil, fmt.Errorf("plan a condition: %w", err)
		}
		all = append(all, conjunct{text: text, program: program, reads: l.variableRefs(e)})
	}
	return all, nil
}

// split splits a condition at its top-level && operators.
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

// variableRefs lists the variables of an expression in the order in which they appear. Each variable is listed once.
func (l *Language) variableRefs(root ast.Expr) []variableRef {
	var all []variableRef
	seen := map[string]bool{}
	var walk func(e ast.Expr)
	walk = func(e ast.Expr) {
		if r, ok := l.variableRef(e); ok {
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

// variableRef returns the variable, or the map entry, that an expression refers to.
func (l *Language) variableRef(e ast.Expr) (variableRef, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name := strings.TrimPrefix(e.AsIdent(), ".")
		slot, ok := l.slots[name]
		return variableRef{text: name, slot: slot}, ok
	case ast.SelectKind:
		r, ok := l.variableRef(e.AsSelect().Operand())
		return entry(r, e.AsSelect().FieldName()), ok && !r.keyed
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || len(call.Args()) != 2 {
			return variableRef{}, false
		}
		key, isText := textLiteral(call.Args()[1])
		r, ok := l.variableRef(call.Args()[0])
		return entry(r, key), ok && isText && !r.keyed
	default:
		return variableRef{}, false
	}
}

func entry(r variableRef, key string) variableRef {
	r.key, r.keyed = key, true
	if name, clock := strings.CutPrefix(r.text, "@"); clock {
		r.text = fmt.Sprintf("time.%s(%q)", name, key)
	} else {
		r.text = fmt.Sprintf("%s[%q]", r.text, key)
	}
	return r
}

// children returns the operands of an expression in the order in which they appear.
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

// appendShown appends a value in a readable form.
func appendShown(to []byte, v ref.Val) []byte {
	switch v := v.(type) {
	case types.String:
		return strconv.AppendQuote(to, document.Shorten(string(v)))
	case types.Timestamp:
		return v.UTC().AppendFormat(to, "2006-01-02T15:04:05Z")
	case types.Int:
		return strconv.AppendInt(to, int64(v), 10)
	case *labels:
		if len(v.texts) == 0 {
			return append(to, "empty"...)
		}
		var pairs []string
		for keys := v.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			pairs = append(pairs, fmt.Sprintf("%s=%s", key.Value(), v.Get(key).Value()))
		}
		return append(to, document.Shorten(strings.Join(pairs, " "))...)
	default:
		return fmt.Append(to, v.Value())
	}
}
