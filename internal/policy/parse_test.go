package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every problem is reported at the exact word that is wrong.
func TestParseMarksProblems(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 501)
	for _, c := range []struct {
		name, source string
		want         []string // line:column+width code message | hint
	}{
		{"not YAML", "policies: [", []string{`1:1+1 E2002 not YAML: did not find expected node content | `}},
		{"two documents", "policies: []\n---\npolicies: []", []string{`2:1+3 E2002 there is more than one document | write one list of policies`}},
		{"a list at the top", "- name: a", []string{`1:1+1 E2030 the document must have fields, such as policies: [...] | `}},
		{"unknown field at the top", "polices: []", []string{`1:1+7 E2031 unknown field "polices" | did you mean "policies"?`}},
		{"policies by name", "policies: {a: {pin: gpt-4.1}}", []string{`1:11+1 E2030 policies must be a list | start each policy with a dash: - name: …`}},
		{"a policy that is a word", "policies: [deny]", []string{`1:12+4 E2030 policies[0] must have fields, such as name: my-policy | `}},
		{"no name", one("pin: gpt-4.1", ""), []string{`2:5+1 E2033 the policy has no name | add name: my-policy`}},
		{"a name with blanks", one("pin: gpt-4.1\nname: My Policy", ""), []string{`3:11+9 E2034 invalid policy name "My Policy" | did you mean "my-policy"?`}},
		{"a name twice", "policies:\n  - {name: a, pin: gpt-4.1}\n  - {name: a, pin: gpt-4.1}", []string{`3:12+1 E2032 duplicate policy name "a", first used on line 2 | give each policy a unique name`}},
		{"a field twice", one("pin: gpt-4.1\npin: gpt-4.1", "a"), []string{`4:5+3 E2032 the field "pin" is already on line 3 | keep one of the two`}},
		{"unknown field", one("modle: gpt-4.1\npin: gpt-4.1", "a"), []string{`3:5+5 E2031 unknown field "modle" | the fields of a policy are name, description, enabled, when, deny, pin, allow, exclude, prefer, objective, max_cost_usd, max_output_tokens, max_escalation, session_budget, baseline, response_cache, cache_marks, log_bodies`}},
		{"misspelt field", one("prefers: gpt-4.1\npin: gpt-4.1", "a"), []string{`3:5+7 E2031 unknown field "prefers" | did you mean "prefer"?`}},
		{"merge key", one("<<: {pin: gpt-4.1}\npin: gpt-4.1", "a"), []string{`3:5+2 E2030 a field's name must be plain text | merge keys are not supported`}},
		{"no effect", one("when: request.stream", "a"), []string{`2:5+1 E2036 the policy has no effect | add one of deny, pin, allow, exclude, prefer, objective, max_cost_usd, max_output_tokens, max_escalation, session_budget, baseline, response_cache, cache_marks, log_bodies`}},
		{"an effect beside deny", one("deny: No.\npin: gpt-4.1", "a"), []string{`4:5+3 E2036 pin has no effect with deny, which rejects the request | remove one of the two`}},
		{"deny without a message", one("deny: true", "a"), []string{`3:11+4 E2030 deny must be the message returned to the caller | write deny: "Why the request is rejected."`}},
		{"a long message", one("deny: "+long, "a"), []string{`3:11+501 E2034 deny has 501 characters; at most 500 are allowed | `}},
		{"an empty message", one(`deny: ""`, "a"), []string{`3:11+3 E2034 deny is empty | `}},
		{"a message with control characters", one(`deny: "\a"`, "a"), []string{`3:11+3 E2034 deny has control characters | `}},
		{"no value", one("pin:", "a"), []string{`3:9+1 E2030 pin must be a single value, not nothing | `}},
		{"a list of pins", one("pin: [gpt-4.1]", "a"), []string{`3:10+1 E2030 pin must be a single value, not a list | `}},
		{"a pattern as a pin", one("pin: gpt-*", "a"), []string{`3:10+5 E2034 pin must be a single model or provider/model | to allow several, use allow or prefer`}},
		{"unknown model", one("pin: gpt-4.2", "a"), []string{`3:10+7 E2035 unknown model "gpt-4.2" | did you mean "gpt-4.1"?`}},
		{"auto as a pin", one("pin: auto", "a"), []string{`3:10+4 E2035 "auto" selects automatic routing and is not a model | name a model`}},
		{"a target that is not on offer", one("pin: anthropic/gpt-4.1", "a"), []string{`3:10+17 E2035 provider "anthropic" does not offer model "gpt-4.1" | available: openai/gpt-4.1`}},
		{"unknown provider of a target", one("pin: opnai/gpt-4.1", "a"), []string{`3:10+13 E2035 unknown model "opnai/gpt-4.1" | did you mean "openai/gpt-4.1"?`}},
		{"a baseline at a provider", one("baseline: openai/gpt-4.1", "a"), []string{`3:15+14 E2034 baseline must be a model without a provider | did you mean "gpt-4.1"?`}},
		{"a pattern without a match", one("allow: {models: [gpt-*, gtp-*]}", "a"), []string{`3:29+5 E2035 no model matches "gtp-*" | `}},
		{"unknown provider", one("exclude: {providers: [openai, antropic]}", "a"), []string{`3:35+8 E2035 unknown provider "antropic" | did you mean "anthropic"?`}},
		{"unknown tag", one("allow:\n  tags:\n    - us", "a"), []string{`5:11+2 E2035 unknown tag "us" | known: eu, zdr`}},
		{"unknown preference", one("prefer: [claude-*, gpt-5]", "a"), []string{`3:24+5 E2035 unknown model "gpt-5" | `}},
		{"a star in the middle", one("allow: {models: [g*t]}", "a"), []string{`3:22+3 E2034 a star is only allowed at the end | use a prefix and a star: gpt-*`}},
		{"an empty selector", one("allow: {}", "a"), []string{`3:12+1 E2033 the selector is empty | list models, providers or tags`}},
		{"an empty list", one("allow: {models: []}", "a"), []string{`3:21+1 E2030 models must be a list of names | write [one, two]`}},
		{"a selector that is a word", one("allow: gpt-4.1", "a"), []string{`3:12+7 E2030 allow must have fields, such as models: [...] | `}},
		{"unknown list", one("allow: {model: [gpt-4.1]}", "a"), []string{`3:13+5 E2031 unknown field "model" | did you mean "models"?`}},
		{"unknown objective", one("objective: cheap", "a"), []string{`3:16+5 E2034 unknown objective "cheap" | write cost, quality, speed, or a number from 0 (cheapest) to 1 (best)`}},
		{"misspelt objective", one("objective: costs", "a"), []string{`3:16+5 E2034 unknown objective "costs" | did you mean "cost"?`}},
		{"an objective out of range", one("objective: 1.5", "a"), []string{`3:16+3 E2034 objective must be from 0 (cheapest) to 1 (best) | `}},
		{"an objective that is NaN", one("objective: nan", "a"), []string{`3:16+3 E2034 objective must be from 0 (cheapest) to 1 (best) | `}},
		{"a cost of zero", one("max_cost_usd: 0", "a"), []string{`3:19+1 E2034 "0" is not a dollar amount above 0 | write a number such as 0.02, with at most nine decimals`}},
		{"a cost with an exponent", one("max_cost_usd: 1e-3", "a"), []string{`3:19+4 E2034 "1e-3" is not a dollar amount above 0 | write a number such as 0.02, with at most nine decimals`}},
		{"no output", one("max_output_tokens: 0", "a"), []string{`3:24+1 E2034 "0" is not a number of tokens | write a whole number from 1 to 10000000`}},
		{"a session budget without an amount", one("session_budget: {downgrade: true}", "a"), []string{`3:21+1 E2033 the session budget has no amount | add amount_usd: 5`}},
		{"a session budget of zero", one("session_budget: {amount_usd: 0}", "a"), []string{`3:34+1 E2034 "0" is not a dollar amount above 0 | write a number such as 0.02, with at most nine decimals`}},
		{"a warning after the budget", one("session_budget: {amount_usd: 5, warn_percent: 100}", "a"), []string{`3:51+3 E2034 "100" is not a percentage | write a whole number from 1 to 99`}},
		{"unknown field of a session budget", one("session_budget: {amount: 5}", "a"), []string{`3:22+6 E2031 unknown field "amount" | did you mean "amount_usd"?`}},
		{"a cache age that is a word", one("response_cache: often", "a"), []string{`3:21+5 E2034 "often" is not a duration | write the maximum age of a cached response, such as 10m or 24h, or off`}},
		{"a cache age of months", one("response_cache: 1000h", "a"), []string{`3:21+5 E2034 "1000h" is not between 1s and 720h | write the maximum age of a cached response, such as 10m or 24h, or off`}},
		{"body logging enabled", one("log_bodies: true", "a"), []string{`3:17+4 E2034 a policy can only disable body logging | write false, or remove the field`}},
		{"enabled is a word", one("enabled: perhaps\npin: gpt-4.1", "a"), []string{`3:14+7 E2030 enabled must be true or false | `}},
		{"a disabled policy is checked too", one("enabled: false\npin: gpt-4.2", "a"), []string{`4:10+7 E2035 unknown model "gpt-4.2" | did you mean "gpt-4.1"?`}},
		{
			"all problems, in order", "policies:\n  - name: a\n    pin: absent\n    when: request.tsak == 1\n  - name: b\n    objective: best\n  - nane: c\n",
			[]string{
				`3:10+6 E2035 unknown model "absent" | `,
				`4:19+4 E2041 request has no field "tsak" | did you mean "task"?`,
				`6:16+4 E2034 unknown objective "best" | write cost, quality, speed, or a number from 0 (cheapest) to 1 (best)`,
				`7:5+4 E2031 unknown field "nane" | did you mean "name"?`,
				`7:5+1 E2033 the policy has no name | add name: my-policy`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set, problems := Parse("workspace", []byte(c.source), testInventory())
			if set != nil {
				t.Error("Parse returned a set with problems")
			}
			if diff := cmp.Diff(c.want, marks(problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s\nof\n%s", diff, c.source)
			}
		})
	}
}

// one returns a document with one policy that has the given fields.
func one(fields, name string) string {
	if name != "" {
		fields = "name: " + name + "\n" + fields
	}
	return "policies:\n  - " + strings.ReplaceAll(fields, "\n", "\n    ") + "\n"
}

func marks(problems []Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, fmt.Sprintf("%d:%d+%d %s %s | %s", p.Line, p.Column, p.Width, p.Code, p.Message, p.Hint))
	}
	return all
}

func TestProblemsNamePathAndPolicy(t *testing.T) {
	t.Parallel()
	_, problems := Parse("workspace", []byte("policies:\n  - {name: a, pin: gpt-4.1}\n  - {name: b, allow: {models: [gpt-4.1, x]}}\n"), testInventory())
	want := []Problem{{Line: 3, Column: 41, Width: 1, Path: "policies[1].allow.models[1]", Policy: "b", Code: UnknownName, Message: `unknown model "x"`}}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestParseLimitsDocumentSize(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("policies:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {name: p%d, pin: gpt-4.1}\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, source string
		want         []string
	}{
		{"the maximum number of policies", many(MaxPolicies), nil},
		{"too many policies", many(MaxPolicies + 1), []string{"202:5+1 E2001 there are 201 policies; at most 200 are allowed | "}},
		{"the maximum number of bytes", "policies: []\n#" + strings.Repeat("x", MaxBytes-14), nil},
		{"too many bytes", "policies: []\n#" + strings.Repeat("x", MaxBytes-13), []string{"1:1+1 E2001 the document has 65537 bytes; at most 65536 are allowed | "}},
		{"too many names", one("allow: {models: ["+strings.Repeat("gpt-4.1,", 101)+"]}", "a"), []string{"3:21+1 E2001 the list has 101 entries; at most 100 are allowed | use patterns such as gpt-*"}},
		{"a long condition", one("pin: gpt-4.1\nwhen: '"+strings.Repeat(" ", 4090)+"true||true'", "a"), []string{"4:11+4102 E2034 when has 4100 characters; at most 4096 are allowed | "}},
		{"a deep condition", one("pin: gpt-4.1\nwhen: "+strings.Repeat("(", 2000)+"true"+strings.Repeat(")", 2000), "a"), []string{"4:11+1 E2040 the condition is nested too deeply | "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, problems := Parse("workspace", []byte(c.source), testInventory())
			if diff := cmp.Diff(c.want, marks(problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseEmptyDocument(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "\n", "# nothing yet\n", "policies:\n", "policies: []\n", "---\n"} {
		set, problems := Parse("workspace", []byte(source), testInventory())
		if len(problems) > 0 || set.Len() != 0 || set.Version() != "" || len(set.Policies()) != 0 {
			t.Errorf("Parse(%q): problems %v, version %q; want an empty set", source, problems, set.Version())
		}
		if o := set.Evaluate(facts()); len(o.Hits) > 0 {
			t.Errorf("Evaluate of %q has hits %v, want none", source, o.Hits)
		}
	}
}

func TestParseReadsEveryField(t *testing.T) {
	t.Parallel()
	set := parse(t, `
policies:
  - name: everything
    description: As an example.
    enabled: true
    when: request.stream
    pin: sonnet
    allow: {models: [gpt-*, sonnet], providers: openai, tags: [eu]}
    exclude:
      models:
        - openai/gpt-4.1
    prefer: [anthropic/*]
    objective: 0.70
    max_cost_usd: 0.02
    max_output_tokens: 2_000
    baseline: gpt-4.1
    log_bodies: false
  - {name: refusal, deny: "No."}
`)
	yes, no := true, false
	want := []Policy{
		{
			Name: "everything", Description: "As an example.", Enabled: &yes, When: "request.stream", Pin: "sonnet",
			Allow:   &Selector{Models: []string{"gpt-*", "sonnet"}, Providers: []string{"openai"}, Tags: []string{"eu"}},
			Exclude: &Selector{Models: []string{"openai/gpt-4.1"}}, Prefer: []string{"anthropic/*"}, Objective: "0.70",
			MaxCost: 20_000_000, MaxOutput: 2000, Baseline: "gpt-4.1", LogBodies: &no,
		},
		{Name: "refusal", Deny: "No."},
	}
	if diff := cmp.Diff(want, set.Policies()); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

func TestParseFollowsAliases(t *testing.T) {
	t.Parallel()
	set := parse(t, "policies:\n  - name: a\n    allow: &list {models: [gpt-4.1]}\n  - name: b\n    exclude: *list\n")
	if got := set.Policies()[1].Exclude.Models; len(got) != 1 || got[0] != "gpt-4.1" {
		t.Errorf("models of the alias are %v, want [gpt-4.1]", got)
	}
}

// A saved policy keeps working after a model that it refers to was removed.
func TestParseAllowsUnknownNames(t *testing.T) {
	t.Parallel()
	w := testInventory()
	w.AllowUnknown = true
	set, problems := Parse("workspace", []byte(one("pin: gone/model\nallow: {models: [old-*], providers: [gone], tags: [gone]}\nbaseline: lost", "a")), w)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	gone := one("pin: gpt-4.1\nwhen: request.task == \"poetry\" || time.hour(\"Europe/Nowhere\") > 3", "a")
	if set, problems := Parse("workspace", []byte(gone), w); len(problems) > 0 || set.Evaluate(facts()).Hits[0].Matched {
		t.Errorf("unknown time zone: problems %v; want none and no match", problems)
	}
	o := set.Evaluate(facts())
	if o.Pin.Value != "gone/model" || o.Baseline.Value != "lost" {
		t.Errorf("pin %q and baseline %q, want gone/model and lost", o.Pin.Value, o.Baseline.Value)
	}
}
