package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
)

// largest returns facts with the largest values that a request can have.
func largest() *Facts {
	f := facts()
	labels := func(n, size int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("%0*d", size, i)] = strings.Repeat("a", size)
		}
		return m
	}
	f.Request.Metadata, f.Request.Tags, f.Key.Tags = labels(maxMetadata, maxLabel), labels(maxTags, maxLabel), labels(maxTags, maxLabel)
	f.Request.Model, f.Request.EndUser, f.Request.Session = strings.Repeat("m", maxText), strings.Repeat("u", maxText), strings.Repeat("s", maxText)
	return f
}

// expensive are conditions that iterate over everything in a request.
var expensive = []string{
	`request.metadata.exists(k, request.metadata[k].contains("b"))`,
	`request.metadata.all(k, k != "x" && request.metadata[k] != "y")`,
	`request.metadata.exists(k, request.metadata[k].endsWith("b"))`,
	`request.tags.exists(k, request.tags[k] == request.metadata[k])`,
	`key.tags.all(k, request.tags[k].matches("^a+$"))`,
	`request.model.contains(request.end_user)`,
	`request.end_user.matches("(a|b)*c")`,
}

// workOf evaluates a condition and returns its cost in CEL's unit and its estimated maximum.
func workOf(t *testing.T, condition string, f *Facts) (actual, estimated uint64) {
	t.Helper()
	l, err := newLanguage()
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
			t.Errorf("%s costs %d steps, but was estimated to cost at most %d", condition, actual, estimated)
		}
	}
}

// repeated returns n policies with one condition.
func repeated(n int, effect, condition string) string {
	var b strings.Builder
	b.WriteString("policies:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: policy-%d\n    when: '%s'\n    %s\n", i, condition, effect)
	}
	return b.String()
}

func TestParseLimitsTotalCost(t *testing.T) {
	t.Parallel()
	for _, condition := range expensive {
		_, estimated := workOf(t, condition, facts())
		if estimated > maxWork {
			continue // exceeds the limit on its own
		}
		fits := int(maxDocumentWork / estimated)
		if _, problems := Parse("workspace", []byte(repeated(min(fits, MaxPolicies), "objective: cost", condition)), world()); len(problems) > 0 {
			t.Errorf("%d times %s: %v", fits, condition, problems)
		}
		if fits >= MaxPolicies {
			continue
		}
		_, problems := Parse("workspace", []byte(repeated(fits+1, "objective: cost", condition)), world())
		if len(problems) != 1 || problems[0].Code != TooCostly || problems[0].Line != 2+3*fits {
			t.Errorf("%d times %s: %v", fits+1, condition, problems)
		}
	}
}

// The evaluation of saved policies stays within the cost limit for every request.
func TestEvaluationIsBoundedWhileItRuns(t *testing.T) {
	t.Parallel()
	open := world()
	open.AllowUnknown = true
	for _, condition := range expensive {
		condition = strings.ReplaceAll(condition, `"b"`, `"`+strings.Repeat("b", 90)+`"`)
		set, problems := Parse("workspace", []byte(repeated(MaxPolicies, "objective: cost", condition)), open)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		f := largest()
		run := set.start(f)
		for _, r := range set.rules {
			run.evaluate(r)
		}
		_, details, err := set.rules[0].when[0].program.Eval(run.frame)
		if cost := *details.ActualCost(); cost > maxRunWork+maxWork || cost > maxRunWork && !exceeded(err) {
			t.Errorf("%s: cost %d steps, %v", condition, cost, err)
		}
		set.finish(run)
	}
}

func TestRestrictionsApplyWhenCostLimitIsExceeded(t *testing.T) {
	t.Parallel()
	open := world()
	open.AllowUnknown = true
	heavy := `request.metadata.exists(k, request.metadata.exists(v, request.metadata[v].contains("b")))`
	source := func(effect string) []byte { return []byte(repeated(1, effect, heavy)) }
	for effect, check := range map[string]func(Outcome) bool{
		`deny: "No."`:                    func(o Outcome) bool { return o.Denies() && o.Deny.Message == "No." },
		"allow: {models: [gpt-4.1]}":     func(o Outcome) bool { return o.Excludes("anthropic", "claude-sonnet", nil) != nil },
		"exclude: {providers: [openai]}": func(o Outcome) bool { return o.Excludes("openai", "gpt-4.1", nil) != nil },
		"max_cost_usd: 0.01":             func(o Outcome) bool { return o.MaxCost.IsSet() },
		"max_output_tokens: 10":          func(o Outcome) bool { return o.MaxOutput.IsSet() },
		"log_bodies: false":              func(o Outcome) bool { return o.LogBodies.IsSet() },
		"pin: gpt-4.1":                   func(o Outcome) bool { return !o.Pin.IsSet() },
		"prefer: [gpt-4.1]":              func(o Outcome) bool { return len(o.Prefer) == 0 },
		"objective: cost":                func(o Outcome) bool { return !o.Objective.IsSet() },
		"baseline: gpt-4.1":              func(o Outcome) bool { return !o.Baseline.IsSet() },
	} {
		set, problems := Parse("workspace", source(effect), open)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		o := set.Evaluate(largest())
		hit := o.Hits[0]
		if !check(o) || !strings.Contains(hit.Effect()+hit.Reason(largest()), "exceeded their cost limit") {
			t.Errorf("%s: effect %q, reason %q", effect, hit.Effect(), hit.Reason(largest()))
		}
		if o := set.Evaluate(facts()); o.Denies() || strings.Contains(o.Hits[0].Effect()+o.Hits[0].Reason(facts()), "exceeded") {
			t.Errorf("%s: a small request exceeds the bound", effect)
		}
	}
	if exceeded(errors.New("other")) || exceeded(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled}) {
		t.Error("other errors are taken for the bound")
	}
}
