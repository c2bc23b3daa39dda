package policy

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// language is the part of CEL that conditions are written in.
type language struct {
	*names
	env *cel.Env
}

// functions lists what conditions can call, besides operators and the macros.
func functions() []string {
	return []string{"size", "startsWith", "endsWith", "contains", "matches", "int", "double", "string", "duration", "timestamp"}
}

// symbols are the operators of CEL. Left out are those that make values of no use here.
func symbols() []string {
	return []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.In, operators.Index,
	}
}

// iterations are the macros that go through a list or the keys of a map.
func iterations() []string { return []string{operators.All, operators.Exists, operators.ExistsOne} }

// newLanguage leaves out of CEL what would make an outcome depend on more than the facts: the functions that read a
// clock's parts in a zone load the zone from the disk each time. There are time.hour("...") and the like instead.
func newLanguage() (*language, error) {
	subset := &env.LibrarySubset{IncludeMacros: iterations()}
	for _, name := range append(functions(), symbols()...) {
		subset.IncludeFunctions = append(subset.IncludeFunctions, env.NewFunction(name))
	}
	l := &language{names: newNames()}
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(subset)),
		cel.Macros(
			cel.GlobalMacro("has", 1, expandHas),
			cel.ReceiverMacro("hour", 1, expandClock("@hour")),
			cel.ReceiverMacro("weekday", 1, expandClock("@weekday")),
			cel.ReceiverMacro("date", 1, expandClock("@date")),
		),
		cel.EnableMacroCallTracking(),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxCondition),
		cel.ParserRecursionLimit(100),
	}
	for _, v := range l.list {
		options = append(options, cel.Variable(v.name, v.typ))
	}
	var err error
	if l.env, err = cel.NewCustomEnv(options...); err != nil {
		return nil, fmt.Errorf("make the language of conditions: %w", err)
	}
	return l, nil
}

// expandHas makes "team" in key.tags of has(key.tags.team): a tag that is not there reads as "", so CEL's own test would
// always hold.
func expandHas(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if args[0].Kind() != ast.SelectKind {
		return nil, f.NewError(args[0].ID(), "has() takes a tag, such as has(key.tags.team)")
	}
	s := args[0].AsSelect()
	return f.NewCall(operators.In, f.NewLiteral(types.String(s.FieldName())), s.Operand()), nil
}

// expandClock makes a lookup of time.hour("Europe/Berlin"), so that parsing can make sure that the zone is known.
func expandClock(variable string) cel.MacroFactory {
	return func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		if target.Kind() != ast.IdentKind || target.AsIdent() != "time" {
			return nil, nil //nolint:nilnil // this is how a macro says that the call is not its own
		}
		if _, ok := textLiteral(args[0]); !ok {
			return nil, f.NewError(args[0].ID(), "the time zone must be written out, such as \"Europe/Berlin\"")
		}
		return f.NewCall(operators.Index, f.NewIdent(variable), args[0]), nil
	}
}

func textLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// Bounds of the cost of conditions in CEL's own unit, about a comparison.
const (
	maxWork         = 5_000               // of one condition
	maxDocumentWork = 20_000              // of all conditions of a document
	maxRunWork      = 2 * maxDocumentWork // of one evaluation: the policies of the instance and of a workspace
	trackedWork     = 50                  // a condition that costs no more is not measured while it is evaluated
)

// The largest values that a request can have. The wire formats, the gateway and package account enforce them.
const (
	maxMetadata = 64  // entries of request.metadata
	maxTags     = 32  // entries of request.tags and key.tags
	maxLabel    = 512 // bytes of a key or value of these
	maxText     = 256 // bytes of any other text, such as a model's name
)

// sizes tells CEL how large values can be, so that it can estimate the cost of iterating over them.
type sizes struct{}

// EstimateSize returns the bound of a text's length or of the number of entries of a map or list.
func (sizes) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	path := n.Path()
	switch n.Type().Kind() {
	case types.StringKind:
		if len(path) == 1 {
			return &checker.SizeEstimate{Max: maxText}
		}
		return &checker.SizeEstimate{Max: maxLabel}
	case types.MapKind, types.ListKind:
		if len(path) > 0 && strings.HasSuffix(path[0], ".tags") {
			return &checker.SizeEstimate{Max: maxTags}
		}
		return &checker.SizeEstimate{Max: maxMetadata}
	default:
		return nil
	}
}

// EstimateCallCost leaves calls to CEL.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
