package condition

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/interpreter"
)

// largest returns facts with the largest values that a request can have.
func largest() *Facts {
	labels := func(n, size int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("%0*d", size, i)] = strings.Repeat("a", size)
		}
		return m
	}
	f := &Facts{Time: Time{At: time.Date(2026, 11, 6, 23, 30, 0, 0, time.UTC)}}
	f.Request.Metadata, f.Request.Tags, f.Key.Tags = labels(maxMetadata, maxLabel), labels(maxTags, maxLabel), labels(maxTags, maxLabel)
	f.Request.Model, f.Request.EndUser, f.Request.Session = strings.Repeat("m", maxText), strings.Repeat("u", maxText), strings.Repeat("s", maxText)
	return f
}

// expensive lists conditions that iterate over all values of a request.
var expensive = []string{
	`request.metadata.exists(k, request.metadata[k].contains("b"))`,
	`request.metadata.all(k, k != "x" && request.metadata[k] != "y")`,
	`request.metadata.exists(k, request.metadata[k].endsWith("b"))`,
	`request.tags.exists(k, request.tags[k] == request.metadata[k])`,
	`key.tags.all(k, request.tags[k].matches("^a+$"))`,
	`request.model.contains(request.end_user)`,
	`request.end_user.matches("(a|b)*c")`,
}

// workOf evaluates a condition. It returns the actual cost in CEL's unit and the estimated maximum.
func workOf(t *testing.T, condition string, f *Facts) (actual, estimated uint64) {
	t.Helper()
	l, err := NewLanguage(time.LoadLocation)
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := l.env.Compile(condition)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	estimate, err := l.env.EstimateCost(checked, sizes{})
	if err != nil {
		t.Fatal(err)
	}
	program, err := l.env.Program(checked, cel.EvalOptions(cel.OptTrackCost))
	if err != nil {
		t.Fatal(err)
	}
	a := newActivation(l.names)
	a.reset(scope{facts: f})
	_, details, err := program.Eval(a)
	if err != nil {
		t.Fatal(err)
	}
	return *details.ActualCost(), estimate.Max
}

func TestCostEstimateCoversLargestRequest(t *testing.T) {
	t.Parallel()
	for _, condition := range expensive {
		if actual, estimated := workOf(t, condition, largest()); actual > estimated {
			t.Errorf("%s costs %d steps, want at most the estimated %d", condition, actual, estimated)
		}
	}
}

// Evaluating saved conditions stays within the cost limit for every request.
func TestEvaluationIsBoundedWhileItRuns(t *testing.T) {
	t.Parallel()
	const conditions = 200 // conditions in a document
	for _, source := range expensive {
		source = strings.ReplaceAll(source, `"b"`, `"`+strings.Repeat("b", 90)+`"`)
		l, err := NewLanguage(time.LoadLocation)
		if err != nil {
			t.Fatal(err)
		}
		c, problems := l.Compile(source, true)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		run := NewEvaluator(l.Zones()).Start(largest())
		for range conditions {
			run.Evaluate(c)
		}
		_, details, err := c.conjuncts[0].program.Eval(run.frame)
		cost := c.Cost() * (conditions + 1)
		if details != nil { // nil if the condition costs at most trackedCost
			cost = *details.ActualCost()
		}
		if cost > maxRunCost+MaxCost || cost > maxRunCost && !costLimitExceeded(err) {
			t.Errorf("%s: cost %d steps, %v; want at most the limit, or the cost limit error", source, cost, err)
		}
		run.End()
	}
}

func TestOtherErrorsAreNotTheCostLimit(t *testing.T) {
	t.Parallel()
	if costLimitExceeded(errors.New("other")) || costLimitExceeded(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled}) {
		t.Error("costLimitExceeded = true for another error")
	}
}
