package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
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
		cost, err := checker.Cost(part, sizes{})
		if err != nil {
			return nil, fmt.Errorf("estimate a condition: %w", err)
		}
		options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
		if cost.Max > trackedWork {
			options = []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(maxRunWork)}
		}
		program, err := l.env.PlanProgram(part, options...)
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

// reason says that a conjunct does not hold, or why it cannot be computed, and what it saw.
func (r *rule) reason(v Verdict, f *Facts) string {
	c, from := &r.when[v.failed], scope{f, r.zones}
	text := append(make([]byte, 0, len(c.text)+longestShown), c.text...)
	switch {
	case v.overrun:
		text = append(text, " was not computed: the policies exceeded the bound of their cost"...)
	case v.broken:
		text = append(text, " cannot be computed"+r.failure(c, from)...)
	default:
		text = append(text, " is false"...)
	}
	before, end := " (", ""
	for _, read := range c.reads {
		if !read.whole {
			text = append(append(append(text, before...), read.text...), " is "...)
			text = appendShown(text, read.value(r.names, from))
			before, end = ", ", ")"
		}
	}
	return string(append(text, end...))
}

// failure says why a conjunct cannot be computed.
func (r *rule) failure(c *conjunct, from scope) string {
	a := newActivation(r.names)
	a.reset(from)
	if _, _, err := c.program.Eval(a); err != nil {
		return ": " + strings.TrimSpace(err.Error())
	}
	return ""
}

func (r reading) value(n *names, from scope) ref.Val {
	value := n.list[r.slot].get(from)
	if m, ok := value.(interface{ Get(ref.Val) ref.Val }); ok && r.keyed {
		return m.Get(types.String(r.key))
	}
	return value
}

// longestShown is how much of a value a reason quotes.
const longestShown = 60

// appendShown writes a value for people.
func appendShown(to []byte, v ref.Val) []byte {
	switch v := v.(type) {
	case types.String:
		return strconv.AppendQuote(to, shorten(string(v)))
	case types.Timestamp:
		return v.UTC().AppendFormat(to, "2006-01-02T15:04:05Z")
	case types.Int:
		return strconv.AppendInt(to, int64(v), 10)
	case *labels:
		return append(to, v.shown()...)
	default:
		return fmt.Append(to, v.Value())
	}
}

func (l *labels) shown() string {
	if len(l.texts) == 0 {
		return "empty"
	}
	var pairs []string
	for keys := l.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		pairs = append(pairs, fmt.Sprintf("%s=%s", key.Value(), l.Get(key).Value()))
	}
	return shorten(strings.Join(pairs, " "))
}

func shorten(text string) string {
	if len(text) <= longestShown {
		return text
	}
	runes := []rune(text)
	if len(runes) <= longestShown {
		return text
	}
	return string(runes[:longestShown]) + "…"
}
