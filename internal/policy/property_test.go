package policy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/route/predict"
)

// tasks lists the values of request.task.
var tasks = func() []string {
	fields := condition.Fields()
	return fields[slices.IndexFunc(fields, func(f condition.Field) bool { return f.Name == "request.task" })].Values
}()

func anyFacts() *rapid.Generator[*condition.Facts] {
	return rapid.Custom(func(t *rapid.T) *condition.Facts {
		f := facts()
		f.Request.Stream = rapid.Bool().Draw(t, "stream")
		f.Request.Tokens = rapid.Int64Range(0, 200_000).Draw(t, "tokens")
		f.Request.Task = predict.Family(rapid.SampledFrom(tasks).Draw(t, "task"))
		f.Key.Tags = rapid.MapOf(rapid.SampledFrom([]string{"team", "a", "b"}), rapid.SampledFrom([]string{"infra", "", "x"})).Draw(t, "tags")
		return f
	})
}

func setOf(t *rapid.T, list []Policy) *Set {
	set, problems := Parse("workspace", Format(list), testInventory())
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return set
}

func TestEvaluateDependsOnlyOnFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, f := anyPolicies().Draw(t, "policies"), anyFacts().Draw(t, "facts")
		set := setOf(t, list)
		first := set.Evaluate(f)
		set.Evaluate(anyFacts().Draw(t, "others")) // this evaluation must not affect the next one
		if !same(first, set.Evaluate(f)) || !same(first, setOf(t, list).Evaluate(f)) {
			t.Fatal("a second evaluation returned a different outcome")
		}
	})
}

func TestDisabledPolicyHasNoEffect(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, f := anyPolicies().Draw(t, "policies"), anyFacts().Draw(t, "facts")
		off := anyPolicy().Draw(t, "disabled")
		off.Name, off.Enabled = "zz-disabled", new(bool)
		with := slices.Insert(slices.Clone(list), rapid.IntRange(0, len(list)).Draw(t, "place"), off)
		if !same(setOf(t, list).Evaluate(f), setOf(t, with).Evaluate(f)) {
			t.Fatal("a disabled policy changed the outcome")
		}
	})
}

func TestRestrictionsDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, f := anyPolicies().Draw(t, "policies"), anyFacts().Draw(t, "facts")
		list = slices.DeleteFunc(list, func(p Policy) bool { return p.Deny != "" })
		moved := rapid.Permutation(list).Draw(t, "moved")
		a, b := setOf(t, list).Evaluate(f), setOf(t, moved).Evaluate(f)
		if diff := cmp.Diff(allowedTargets(a), allowedTargets(b)); diff != "" {
			t.Fatalf("the order of policies changed the allowed targets:\n%s", diff)
		}
		if a.MaxCost.Value != b.MaxCost.Value || a.MaxOutput.Value != b.MaxOutput.Value || a.LogBodies.IsSet() != b.LogBodies.IsSet() {
			t.Fatalf("limits depend on the order: cost %v and %v, output %v and %v, log bodies set %t and %t",
				a.MaxCost.Value, b.MaxCost.Value, a.MaxOutput.Value, b.MaxOutput.Value, a.LogBodies.IsSet(), b.LogBodies.IsSet())
		}
	})
}

// A workspace can only exclude more targets. It cannot add targets or change a setting of the instance.
func TestWorkspaceCannotUndoInstance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		house, own, f := anyPolicies().Draw(t, "instance"), anyPolicies().Draw(t, "workspace"), anyFacts().Draw(t, "facts")
		alone := setOf(t, house).Evaluate(f)
		joined := Join(setOf(t, house), setOf(t, own)).Evaluate(f)
		for target, out := range allowedTargets(alone) {
			if out && !allowedTargets(joined)[target] {
				t.Fatalf("the workspace allowed %s, which the instance excludes", target)
			}
		}
		switch {
		case alone.Deny != nil && !cmp.Equal(alone.Deny, joined.Deny):
			t.Fatalf("the workspace changed the denial from %+v to %+v", alone.Deny, joined.Deny)
		case alone.Pin.IsSet() && alone.Pin != joined.Pin, alone.Objective.IsSet() && alone.Objective != joined.Objective, alone.Baseline.IsSet() && alone.Baseline != joined.Baseline:
			t.Fatalf("the workspace changed a setting: pin %v to %v, objective %v to %v, baseline %v to %v",
				alone.Pin, joined.Pin, alone.Objective, joined.Objective, alone.Baseline, joined.Baseline)
		case alone.MaxCost.IsSet() && joined.MaxCost.Value > alone.MaxCost.Value, alone.MaxOutput.IsSet() && joined.MaxOutput.Value > alone.MaxOutput.Value:
			t.Fatalf("the workspace raised a limit: cost %v to %v, output %v to %v",
				alone.MaxCost, joined.MaxCost, alone.MaxOutput, joined.MaxOutput)
		case alone.LogBodies.IsSet() != joined.LogBodies.IsSet() && alone.LogBodies.IsSet():
			t.Fatal("the workspace enabled body logging again")
		}
	})
}

// Splitting a condition at && does not change its result.
func TestConjunctsMatchWholeCondition(t *testing.T) {
	t.Parallel()
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"request.stream", "!request.stream", "request.tokens > 1000", `key.tags["team"] == "infra"`, "(request.tools || 1 / request.images > 0)",
		"1 / request.images > 0", `request.task in ["code", "chat"]`, "(request.stream && request.tools)", "true",
	}), 1, 6)
	rapid.Check(t, func(t *rapid.T) {
		all, f := parts.Draw(t, "parts"), anyFacts().Draw(t, "facts")
		policies := []Policy{{Name: "all", When: all[0], Pin: "gpt-4.1"}, {Name: "whole", When: "(" + all[0], Pin: "gpt-4.1"}}
		for _, part := range all[1:] {
			policies[0].When += " && " + part
			policies[1].When += " && " + part
		}
		policies[1].When += ") ? true : false" // a single conjunct that CEL evaluates as a whole
		o := setOf(t, policies).Evaluate(f)
		if o.Hits[0].Matched != o.Hits[1].Matched {
			t.Fatalf("%s: matched %t, as one condition %t", policies[0].When, o.Hits[0].Matched, o.Hits[1].Matched)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("policies:\n  - name: a\n    when: request.task == \"code\"\n    pin: gpt-4.1\n")
	f.Add("policies: [{name: a, allow: &x {models: [gpt-*]}}, {name: b, exclude: *x, when: 'time.hour(\"UTC\") > 1'}]")
	f.Add("policies:\n  - &a [*a]\n")
	f.Add("policies:\n - name: a\n   when: |2\n      has(key.tags.x) &&\n\n      '\n   deny: >\n     x\n")
	f.Add(one("pin: gpt-4.1\nwhen: \"\\u00e4\\\n  == \\\"\"", "a"))
	f.Add(benchmarkSource(3))
	f.Fuzz(func(t *testing.T, source string) {
		set, problems := Parse("workspace", []byte(source), testInventory())
		if (set == nil) != (len(problems) > 0) {
			t.Fatalf("set %v with %d problems", set, len(problems))
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Width < 1 || p.Message == "" || p.Code == "" {
				t.Errorf("incomplete problem %+v", p)
			}
		}
		Pretty("f", []byte(source), problems)
		if set == nil {
			return
		}
		o := set.Evaluate(facts())
		for _, hit := range o.Hits {
			if hit.Reason(facts()) == "" && hit.Effect() == "" {
				t.Errorf("%s has no reason or effect", hit.Name)
			}
		}
		again, problems := Parse("workspace", Format(set.Policies()), testInventory())
		if len(problems) > 0 || again.Version() != set.Version() {
			t.Errorf("formatting changed the set: %v\n%s", problems, Format(set.Policies()))
		}
	})
}
