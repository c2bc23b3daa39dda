package condition

import (
	"fmt"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Language is the CEL subset for the conditions of one document.
type Language struct {
	*names
	env   *cel.Env
	zone  func(name string) (*time.Location, error)
	zones map[string]*time.Location // time zones named in conditions
}

// Zones returns the time zones that the compiled conditions name.
func (l *Language) Zones() map[string]*time.Location { return l.zones }

// Functions lists the functions available in conditions, in addition to operators and macros.
func Functions() []string {
	return []string{"size", "startsWith", "endsWith", "contains", "matches", "int", "double", "string", "duration", "timestamp"}
}

// symbols lists the supported CEL operators. Operators whose results cannot be used in conditions are excluded.
func symbols() []string {
	return []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.In, operators.Index,
	}
}

// Iterations lists the macros that iterate over a list or the keys of a map.
func Iterations() []string { return []string{operators.All, operators.Exists, operators.ExistsOne} }

// NewLanguage returns a CEL subset in which outcomes depend only on the facts. It lacks CEL's time zone functions, which load the
// zone from disk on each call; time.hour("...") and the other time fields replace them. zone loads the time zones used in
// conditions.
func NewLanguage(zone func(name string) (*time.Location, error)) (*Language, error) {
	subset := &env.LibrarySubset{IncludeMacros: Iterations()}
	for _, name := range append(Functions(), symbols()...) {
		subset.IncludeFunctions = append(subset.IncludeFunctions, env.NewFunction(name))
	}
	l := &Language{names: newNames(), zone: zone, zones: map[string]*time.Location{}}
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
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.ParserRecursionLimit(100),
	}
	for _, v := range l.list {
		options = append(options, cel.Variable(v.name, v.typ))
	}
	var err error
	if l.env, err = cel.NewCustomEnv(options...); err != nil {
		return nil, fmt.Errorf("create CEL environment: %w", err)
	}
	return l, nil
}

// expandHas replaces has(key.tags.team) with "team" in key.tags. A missing tag reads as "", so the standard macro would always return true.
func expandHas(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if args[0].Kind() != ast.SelectKind {
		return nil, f.NewError(args[0].ID(), "has() takes a tag, such as has(key.tags.team)")
	}
	s := args[0].AsSelect()
	return f.NewCall(operators.In, f.NewLiteral(types.String(s.FieldName())), s.Operand()), nil
}

// expandClock replaces time.hour("Europe/Berlin") with a map lookup, so that the time zone can be checked when the condition is compiled.
func expandClock(variable string) cel.MacroFactory {
	return func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		if target.Kind() != ast.IdentKind || target.AsIdent() != "time" {
			return nil, nil //nolint:nilnil // nil means that the macro does not apply
		}
		if _, ok := textLiteral(args[0]); !ok {
			return nil, f.NewError(args[0].ID(), "the time zone must be a literal, such as \"Europe/Berlin\"")
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

// MaxLength is the maximum length of a condition in characters.
const MaxLength = 4096

// Cost limits for conditions, in CEL's cost unit, which corresponds to about one comparison.
const (
	MaxCost      = 5_000            // maximum cost of one condition
	MaxTotalCost = 20_000           // maximum total cost of the conditions of one document
	maxRunCost   = 2 * MaxTotalCost // maximum cost of evaluating the instance's and the workspace's policies for one request
	trackedCost  = 50               // conditions below this cost are not measured during evaluation
)

// Maximum sizes of request values. The wire formats, the gateway and package account enforce them.
const (
	maxMetadata = 64  // maximum number of entries in request.metadata
	maxTags     = 32  // maximum number of entries in request.tags and in key.tags
	maxLabel    = 512 // maximum length of a key or value in bytes
	maxText     = 256 // maximum length of any other string in bytes, such as a model name
)

// sizes provides the maximum sizes of values to CEL, for estimating the cost of iterations.
type sizes struct{}

// EstimateSize returns the maximum length of a string, map or list.
func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	path := n.Path()
	switch n.Type().Kind() {
	case types.StringKind:
		if len(path) == 1 {
			return &cost.SizeEstimate{Max: maxText}
		}
		return &cost.SizeEstimate{Max: maxLabel}
	case types.MapKind, types.ListKind:
		if len(path) > 0 && strings.HasSuffix(path[0], ".tags") {
			return &cost.SizeEstimate{Max: maxTags}
		}
		return &cost.SizeEstimate{Max: maxMetadata}
	default:
		return nil
	}
}

// EstimateCallCost returns nil, which selects CEL's own estimates.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}
