package policy

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/internal/policy/condition"
)

// largest returns facts with the largest metadata that a request can have.
func largest() *condition.Facts {
	f := facts()
	f.Request.Metadata = map[string]string{}
	for i := range 64 {
		f.Request.Metadata[fmt.Sprintf("%0512d", i)] = strings.Repeat("a", 512)
	}
	return f
}

// expensive lists conditions that iterate over metadata and tags.
var expensive = []string{
	`request.metadata.exists(k, request.metadata[k].contains("b"))`,
	`request.metadata.all(k, k != "x" && request.metadata[k] != "y")`,
	`request.metadata.exists(k, request.metadata[k].endsWith("b"))`,
	`request.tags.exists(k, request.tags[k] == request.metadata[k])`,
	`key.tags.all(k, request.tags[k].matches("^a+$"))`,
	`request.model.contains(request.end_user)`,
	`request.end_user.matches("(a|b)*c")`,
}

// repeated returns n policies with the same condition.
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
	language, err := condition.NewLanguage(zone)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range expensive {
		compiled, wrong := language.Compile(source, true)
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		if compiled.Cost() > condition.MaxCost {
			continue // the condition alone exceeds the limit
		}
		fits := int(condition.MaxTotalCost / compiled.Cost())
		if _, problems := Parse("workspace", []byte(repeated(min(fits, MaxPolicies), "objective: cost", source)), testInventory()); len(problems) > 0 {
			t.Errorf("%d times %s: %v", fits, source, problems)
		}
		if fits >= MaxPolicies {
			continue
		}
		_, problems := Parse("workspace", []byte(repeated(fits+1, "objective: cost", source)), testInventory())
		if len(problems) != 1 || problems[0].Code != TooCostly || problems[0].Line != 2+3*fits {
			t.Errorf("%d times %s: %v", fits+1, source, problems)
		}
	}
}

func TestRestrictionsApplyWhenCostLimitIsExceeded(t *testing.T) {
	t.Parallel()
	open := testInventory()
	open.AllowUnknown = true
	heavy := `request.metadata.exists(k, request.metadata.exists(v, request.metadata[v].contains("b")))`
	source := func(effect string) []byte { return []byte(repeated(1, effect, heavy)) }
	for effect, check := range map[string]func(Outcome) bool{
		`deny: "No."`:                    func(o Outcome) bool { return o.Deny != nil && o.Deny.Message == "No." },
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
		if o := set.Evaluate(facts()); o.Deny != nil || strings.Contains(o.Hits[0].Effect()+o.Hits[0].Reason(facts()), "exceeded") {
			t.Errorf("%s: an ordinary request exceeds the cost limit", effect)
		}
	}
}
