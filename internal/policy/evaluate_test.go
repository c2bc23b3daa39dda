package policy

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		condition string
		want      bool
	}{
		{`request.model == "auto" && request.auto`, true},
		{`request.op == "chat" && request.format == "chat" && request.source == "key"`, true},
		{`request.task == "code" && request.language == "en"`, true},
		{`request.task in ["maths", "code"]`, true},
		{`request.tokens > 1000 && request.tokens < 1e4`, true},
		{`request.tokens > 1200.5`, false},
		{`request.max_output == 0 && request.messages == 3 && request.images == 0 && request.choices == 1`, true},
		{`request.stream && request.tools && !request.vision && !request.audio && !request.files && !request.json && !request.reasoning`, true},
		{`request.objective == "auto" && request.end_user.startsWith("a") && request.session == ""`, true},
		{`request.metadata["app"] == "ide" && request.tags.stage == "test"`, true},
		{`request.model.matches("^(auto|gpt-.*)$")`, true},
		{`key.id == "key_1" && key.name == "ci"`, true},
		{`workspace.id == "ws_1" && workspace.name.contains("bour")`, true},
		{`key.tags["team"] == "infra"`, true},
		{`key.tags["absent"] == ""`, true},
		{`key.tags.absent != "x"`, true},
		{`"team" in key.tags && !("absent" in key.tags)`, true},
		{`has(key.tags.team)`, true},
		{`has(key.tags.absent)`, false},
		{`size(key.tags) == 2`, true},
		{`key.tags == {"team": "infra", "cost": "7"}`, true},
		{`{"team": "web"} == key.tags`, false},
		{`request.tags == request.tags && request.tags != key.tags`, true},
		{`key.tags.exists(k, key.tags[k].startsWith("x"))`, false},
		{`key.tags.exists(k, k.startsWith("te"))`, true},
		{`key.tags.all(k, key.tags[k] != "")`, true},
		{`key.tags.exists_one(k, key.tags[k] == "7")`, true},
		{`["a", "b"].exists(x, x == request.model)`, false},
		{`int(key.tags["cost"]) > 5`, true},
		{`time.hour == 23 && time.weekday == "friday" && time.date == "2026-11-06"`, true},
		{`time.hour("Europe/Berlin") == 1 && time.weekday("Europe/Berlin") == "saturday" && time.date("Europe/Berlin") == "2026-11-07"`, true},
		{`time.at > timestamp("2026-11-01T00:00:00Z")`, true},
		{`time.at - timestamp("2026-11-06T23:00:00Z") == duration("30m")`, true},
		{`(request.stream ? request.tokens : 0) > 1000`, true},
		{"request.stream\n&& request.tools // as agents do", true},
		{`true`, true},
		{`false`, false},
	} {
		t.Run(c.condition, func(t *testing.T) {
			t.Parallel()
			o := when(t, c.condition).Evaluate(facts())
			if got := o.Hits[0].Matched; got != c.want {
				t.Errorf("%s = %t, want %t: %s", c.condition, got, c.want, o.Hits[0].Reason(facts()))
			}
		})
	}
}

func TestReasonNamesFailingConditionAndValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ condition, want string }{
		{`request.task == "chat"`, `request.task == "chat" is false (request.task is "code")`},
		{`request.stream && request.tokens > 2000 && request.task == "chat"`, `request.tokens > 2000 is false (request.tokens is 1200)`},
		{`key.tags["team"] == "web"`, `key.tags["team"] == "web" is false (key.tags["team"] is "infra")`},
		{`key.tags.absent == "web"`, `key.tags.absent == "web" is false (key.tags["absent"] is "")`},
		{`request.vision`, `request.vision is false`},
		{`!request.stream`, `!request.stream is false (request.stream is true)`},
		{`request.vision || request.tokens < 5`, `request.vision || request.tokens < 5 is false (request.vision is false, request.tokens is 1200)`},
		{`"absent" in key.tags`, `"absent" in key.tags is false (key.tags is cost=7 team=infra)`},
		{`has(request.metadata.user)`, `has(request.metadata.user) is false (request.metadata is app=ide)`},
		{`key.tags.exists(k, k == "x")`, `key.tags.exists(k, k == "x") is false (key.tags is cost=7 team=infra)`},
		{`time.hour("Europe/Berlin") > 8`, `time.hour("Europe/Berlin") > 8 is false (time.hour("Europe/Berlin") is 1)`},
		{`time.at < timestamp("2026-01-01T00:00:00Z")`, `time.at < timestamp("2026-01-01T00:00:00Z") is false (time.at is 2026-11-06T23:30:00Z)`},
		{`int(key.tags["team"]) > 5`, `int(key.tags["team"]) > 5 cannot be evaluated: type conversion error from 'string' to 'int' (key.tags["team"] is "infra")`},
		{`100 / request.images > 5`, `100 / request.images > 5 cannot be evaluated: division by zero (request.images is 0)`},
		{`false`, `false is false`},
	} {
		t.Run(c.condition, func(t *testing.T) {
			t.Parallel()
			f := facts()
			o := when(t, c.condition).Evaluate(f)
			if diff := cmp.Diff(c.want, o.Hits[0].Reason(f)); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
			if o.Hits[0].Effect() != "" {
				t.Error("a skipped policy has an effect")
			}
		})
	}
}

func TestReasonTruncatesLongValues(t *testing.T) {
	t.Parallel()
	f := facts()
	for range 20 {
		f.Request.EndUser += "0123456789"
	}
	o := when(t, `request.end_user == "x"`).Evaluate(f)
	if got := o.Hits[0].Reason(f); len(got) > 150 {
		t.Errorf("reason has %d bytes, want at most 150: %s", len(got), got)
	}
}

func TestFirstPinObjectiveAndBaselineWin(t *testing.T) {
	t.Parallel()
	o := parse(t, `
policies:
  - {name: a, pin: sonnet, objective: cost}
  - {name: b, pin: gpt-4.1, baseline: gpt-4.1}
  - {name: c, objective: 0.25, baseline: sonnet, log_bodies: false}
  - {name: d, log_bodies: false}
`).Evaluate(facts())
	got := []any{o.Pin, o.Objective, o.Baseline, o.LogBodies}
	want := []any{
		Setting[string]{"claude-sonnet", "a"},
		Setting[Objective]{Objective{Name: "cost"}, "a"},
		Setting[string]{"gpt-4.1", "b"},
		Setting[bool]{false, "c"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	var words []string
	for _, hit := range o.Hits {
		words = append(words, hit.Effect())
	}
	wantWords := []string{
		"pin sonnet; objective cost",
		"pin gpt-4.1 (overruled by an earlier policy); baseline gpt-4.1",
		"objective 0.25 (overruled by an earlier policy); baseline sonnet (overruled by an earlier policy); no bodies in the log",
		"no bodies in the log",
	}
	if diff := cmp.Diff(wantWords, words); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

func TestLowestLimitWins(t *testing.T) {
	t.Parallel()
	o := parse(t, `
policies:
  - {name: a, max_cost_usd: 0.5, max_output_tokens: 100}
  - {name: b, max_cost_usd: 0.02, max_output_tokens: 2000}
`).Evaluate(facts())
	if want := (Setting[money.Amount]{20_000_000, "b"}); o.MaxCost != want {
		t.Errorf("cost %v, want %v", o.MaxCost, want)
	}
	if want := (Setting[int64]{100, "a"}); o.MaxOutput != want {
		t.Errorf("output %v, want %v", o.MaxOutput, want)
	}
	if got := o.Hits[1].Effect(); got != "at most $0.02000; at most 2000 output tokens (overruled by an earlier policy)" {
		t.Errorf("effect of the second policy: %s", got)
	}
}

func TestLowestCacheAgeWins(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]Setting[CacheAge]{
		"[{name: a, response_cache: 1h}]":                                 {CacheAge(time.Hour), "a"},
		"[{name: a, response_cache: 1h}, {name: b, response_cache: 90s}]": {CacheAge(90 * time.Second), "b"},
		"[{name: a, response_cache: 1h}, {name: b, response_cache: off}]": {0, "b"},
		"[{name: a, response_cache: off}, {name: b, response_cache: 1s}]": {0, "a"},
		"[{name: a, response_cache: false}]":                              {0, "a"},
		"[{name: a, pin: gpt-4.1}]":                                       {},
	} {
		if o := parse(t, "policies: "+source).Evaluate(facts()); o.ResponseCache != want {
			t.Errorf("%s: %+v, want %+v", source, o.ResponseCache, want)
		}
	}
}

func TestLowestSessionBudgetWins(t *testing.T) {
	t.Parallel()
	o := parse(t, `
policies:
  - {name: all, session_budget: {amount_usd: 5}}
  - {name: strict, session_budget: {amount_usd: 2, warn_percent: 60, downgrade: true}}
  - {name: late, session_budget: {amount_usd: 3}}
`).Evaluate(facts())
	want := Setting[SessionLimit]{SessionLimit{Amount: 2_000_000_000, WarnPercent: 60, Downgrade: true}, "strict"}
	if o.SessionBudget != want {
		t.Errorf("%+v, want %+v", o.SessionBudget, want)
	}
	if effect := o.Hits[2].Effect(); effect != "at most $3.00 per session (overruled by an earlier policy)" {
		t.Errorf("effect of the third policy: %q", effect)
	}
}

func TestDenialEndsEvaluation(t *testing.T) {
	t.Parallel()
	o := parse(t, `
policies:
  - {name: a, when: request.vision, deny: "No pictures."}
  - {name: b, deny: "Closed."}
  - {name: c, pin: gpt-4.1}
`).Evaluate(facts())
	if diff := cmp.Diff(&Denial{"b", "Closed."}, o.Deny); diff != "" {
		t.Errorf("denial (-want +got):\n%s", diff)
	}
	if len(o.Hits) != 2 || o.Pin.IsSet() || o.Hits[1].Effect() != "deny" {
		t.Errorf("hits %v, pin %v; want two hits, the last one a denial, and no pin", o.Hits, o.Pin)
	}
}

func TestRestrictionsAddUp(t *testing.T) {
	t.Parallel()
	o := parse(t, `
policies:
  - {name: vendors, allow: {providers: [openai, anthropic], models: [gpt-*, claude-*]}}
  - {name: small, allow: {models: [gpt-4.1-mini, sonnet, openai/gpt-4.1]}}
  - {name: europe, allow: {tags: [eu, zdr]}}
  - {name: never, exclude: {models: [openai/gpt-4.1], tags: [zdr]}}
`).Evaluate(facts())
	for _, c := range []struct {
		provider, model string
		tags            []string
		want            *Exclusion
	}{
		{"openai", "gpt-4.1-mini", []string{"eu"}, nil},
		{"anthropic", "claude-sonnet", []string{"us", "eu"}, nil},
		{"anthropic", "gpt-4.1", []string{"eu"}, &Exclusion{"small", "the policy allows only models gpt-4.1-mini, claude-sonnet, openai/gpt-4.1"}},
		{"openai", "gpt-4.1", []string{"eu"}, &Exclusion{"never", "the policy excludes models openai/gpt-4.1"}},
		{"openai", "gpt-4.1-mini", []string{"zdr"}, &Exclusion{"never", "the policy excludes targets tagged zdr"}},
		{"openai", "gpt-4.1-mini", nil, &Exclusion{"europe", "the policy allows only targets tagged eu, zdr"}},
		{"openai", "o3", []string{"eu"}, &Exclusion{"vendors", "the policy allows only models gpt-*, claude-*"}},
		{"azure", "gpt-4.1-mini", []string{"eu"}, &Exclusion{"vendors", "the policy allows only providers openai, anthropic"}},
	} {
		if diff := cmp.Diff(c.want, o.Excludes(c.provider, c.model, c.tags)); diff != "" {
			t.Errorf("%s/%s %v (-want +got):\n%s", c.provider, c.model, c.tags, diff)
		}
	}
	if !o.Restricts() {
		t.Error("Restricts = false, want true")
	}
}

func TestPreferencesAreConcatenated(t *testing.T) {
	t.Parallel()
	o := parse(t, `
policies:
  - {name: a, prefer: [sonnet, openai/gpt-4.1-mini]}
  - {name: b, when: request.vision, prefer: [gpt-4.1]}
  - {name: c, prefer: ["openai/*"]}
`).Evaluate(facts())
	for _, c := range []struct {
		provider, model string
		want            int
	}{
		{"anthropic", "claude-sonnet", 0}, {"openai", "gpt-4.1-mini", 1}, {"openai", "gpt-4.1", 2}, {"azure", "gpt-4.1-mini", 3},
	} {
		if got := o.Rank(c.provider, c.model); got != c.want {
			t.Errorf("Rank(%s, %s) = %d, want %d", c.provider, c.model, got, c.want)
		}
	}
	if o.Prefer[2].Policy != "c" || o.Restricts() {
		t.Errorf("preferences %v, restricts %t; want the third from c, false", o.Prefer, o.Restricts())
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, provider, model string
		want                     bool
	}{
		{"gpt-4.1", "openai", "gpt-4.1", true},
		{"gpt-4.1", "openai", "gpt-4.1-mini", false},
		{"gpt-*", "openai", "gpt-4.1", true},
		{"*", "openai", "gpt-4.1", true},
		{"openai/*", "openai", "gpt-4.1", true},
		{"openai*", "openai", "gpt-4.1", true},
		{"open*", "openai", "gpt-4.1", true},
		{"openai/gpt*", "openai", "gpt-4.1", true},
		{"openai/gpt-4.1", "openai", "gpt-4.1", true},
		{"openai/gpt-4.1", "openai-eu", "gpt-4.1", false},
		{"openai-eu/gpt-4.1", "openai", "gpt-4.1", false},
		{"openai", "openai", "gpt-4.1", false},
		{"openai/", "openai", "gpt-4.1", false},
		{"meta/llama-*", "groq", "meta/llama-4", true},
		{"groq/meta/llama-*", "groq", "meta/llama-4", true},
		{"azure/*", "openai", "gpt-4.1", false},
	} {
		if got := Pattern(c.pattern).MatchTarget(c.provider, c.model); got != c.want {
			t.Errorf("%s matches %s/%s = %t, want %t", c.pattern, c.provider, c.model, got, c.want)
		}
	}
}

func TestJoinPutsInstanceFirst(t *testing.T) {
	t.Parallel()
	instance, _ := Parse("instance", []byte(one("pin: gpt-4.1\nmax_cost_usd: 1\nwhen: time.hour(\"UTC\") > 20", "house")), testInventory())
	workspace := parse(t, one("pin: sonnet\nmax_cost_usd: 0.5\nwhen: time.hour(\"Europe/Berlin\") < 6", "house"))
	joined := Join(instance, workspace)
	o := joined.Evaluate(facts())
	if o.Pin.Value != "gpt-4.1" || o.MaxCost.Value != money.Dollar/2 {
		t.Errorf("pin %v, cost %v; want gpt-4.1 and 0.50", o.Pin, o.MaxCost)
	}
	if o.Hits[0].Source != "instance" || o.Hits[1].Source != "workspace" || joined.Len() != 2 || len(joined.Policies()) != 2 {
		t.Errorf("hits %v, %d policies; want one of the instance, then one of the workspace", o.Hits, joined.Len())
	}
	if want := instance.Version() + "+" + workspace.Version(); joined.Version() != want {
		t.Errorf("version %s, want %s", joined.Version(), want)
	}
	if Join(instance, nil) != instance || Join(nil, workspace) != workspace {
		t.Error("Join with nil changed the set")
	}
	if Join(nil, nil) != nil {
		t.Error("Join(nil, nil) is not nil")
	}
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	set := parse(t, benchmarkSource(20))
	want := set.Evaluate(facts())
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := range 40 {
				f := facts()
				if i%2 == 1 {
					f.Key.Tags, f.Request.Needs, f.Time.At = nil, llm.Vision, time.Time{}
				}
				if o := set.Evaluate(f); i%2 == 0 && !same(o, want) {
					t.Error("Evaluate returned a different outcome")
				}
			}
		})
	}
	wait.Wait()
}

// same reports whether the visible parts of two outcomes are equal.
func same(a, b Outcome) bool {
	words := func(o Outcome) []string {
		var all []string
		for _, hit := range o.Hits {
			all = append(all, hit.Name, hit.Source, hit.Effect(), hit.Reason(facts()))
		}
		return all
	}
	return cmp.Equal(words(a), words(b)) && a.Pin == b.Pin && a.Objective == b.Objective && a.MaxCost == b.MaxCost &&
		a.MaxOutput == b.MaxOutput && a.Baseline == b.Baseline && a.LogBodies == b.LogBodies && cmp.Equal(a.Prefer, b.Prefer) &&
		cmp.Equal(a.Deny, b.Deny) && cmp.Equal(allowedTargets(a), allowedTargets(b))
}

// allowedTargets returns, for every possible target, whether the outcome allows it.
func allowedTargets(o Outcome) map[string]bool {
	out := map[string]bool{}
	for _, provider := range []string{"openai", "anthropic", "azure"} {
		for _, model := range []string{"gpt-4.1", "gpt-4.1-mini", "claude-sonnet", "other"} {
			for _, tag := range []string{"eu", "zdr", ""} {
				out[provider+"/"+model+tag] = o.Excludes(provider, model, []string{tag}) != nil
			}
		}
	}
	return out
}
