package policy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/money"
)

// anyPolicies draws valid policies.
func anyPolicies() *rapid.Generator[[]Policy] {
	return rapid.Custom(func(t *rapid.T) []Policy {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,12}`), 0, 6, rapid.ID).Draw(t, "names")
		var list []Policy
		for _, name := range names {
			p := anyPolicy().Draw(t, "policy")
			p.Name = name
			list = append(list, p)
		}
		return list
	})
}

func anyPolicy() *rapid.Generator[Policy] {
	prose := rapid.OneOf(
		rapid.StringMatching(`[ -~]{1,40}`),
		rapid.StringMatching(`[ a-z:#\-\n"'{}\[\]äß€😀&*!|>%@]{1,40}`),
		rapid.SampledFrom([]string{"yes", "null", "~", "1", "0x10", "- a", "a: b", "a #b", "\n x", "x\n\n", "x\n", " x", "x ", "a\n  b\nc", "\ta", "=", "<<", "2026-01-01", "a\u0085b", "🌊"}),
	).Filter(func(s string) bool { return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, isControl) })
	models := rapid.SliceOfN(rapid.SampledFrom([]string{"gpt-4.1", "gpt-*", "*", "sonnet", "openai/gpt-4.1", "openai/*"}), 1, 3)
	conditions := rapid.SampledFrom([]string{
		"", "true", "false", "request.stream", `request.task == "code" && key.tags["team"] == 'infra'`, "request.stream &&\n  request.tools\n",
		"  request.stream", `!request.stream`, `"a" in key.tags`, `{"a": 1}["a"] == 1 ? true : false`, `request.stream // a #b`, `time.hour("UTC") > 3`,
	})
	selector := rapid.Custom(func(t *rapid.T) *Selector {
		return &Selector{
			Models:    models.Draw(t, "models"),
			Providers: rapid.SampledFrom([][]string{nil, {"openai"}, {"open*", "anthropic"}}).Draw(t, "providers"),
			Tags:      rapid.SampledFrom([][]string{nil, {"eu"}, {"*"}}).Draw(t, "tags"),
		}
	})
	truth := rapid.SampledFrom([]*bool{nil, new(bool)})
	return rapid.Custom(func(t *rapid.T) Policy {
		p := Policy{When: conditions.Draw(t, "when"), Enabled: rapid.Ptr(rapid.Bool(), true).Draw(t, "enabled")}
		if rapid.Bool().Draw(t, "described") {
			p.Description = prose.Draw(t, "description")
		}
		if rapid.IntRange(0, 5).Draw(t, "denies") == 0 {
			p.Deny = prose.Draw(t, "deny")
			return p
		}
		p.Allow = rapid.OneOf(rapid.Just[*Selector](nil), selector).Draw(t, "allow")
		p.Exclude = rapid.OneOf(rapid.Just[*Selector](nil), selector).Draw(t, "exclude")
		p.Prefer = rapid.OneOf(rapid.Just[[]string](nil), models).Draw(t, "prefer")
		p.ResponseCache = rapid.SampledFrom([]*CacheAge{nil, new(CacheAge(0)), new(CacheAge(90 * time.Second)), new(CacheAge(24 * time.Hour)), new(CacheAge(1500 * time.Millisecond))}).Draw(t, "response cache")
		p.SessionBudget = rapid.SampledFrom([]*SessionLimit{nil, {Amount: 5}, {Amount: 5_000_000_000, WarnPercent: 70, Downgrade: true}}).Draw(t, "session budget")
		p.Pin = rapid.SampledFrom([]string{"", "gpt-4.1", "openai/gpt-4.1", "sonnet"}).Draw(t, "pin")
		p.Objective = rapid.SampledFrom([]string{"", "cost", "quality", "speed", "0.7", "1", "0", "1e-1", ".5"}).Draw(t, "objective")
		p.Baseline = rapid.SampledFrom([]string{"", "gpt-4.1", "sonnet"}).Draw(t, "baseline")
		p.MaxCost = money.Amount(rapid.Int64Range(0, 5_000_000_000).Draw(t, "cost"))
		p.MaxOutput = rapid.Int64Range(1, maxOutput).Draw(t, "output")
		p.LogBodies = truth.Draw(t, "bodies")
		return p
	})
}

func TestFormatRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyPolicies().Draw(t, "policies")
		source := Format(want)
		set, problems := Parse("workspace", source, testInventory())
		if len(problems) > 0 {
			t.Fatalf("problems:\n%s", Pretty("f", source, problems))
		}
		if diff := cmp.Diff(want, set.Policies()); diff != "" {
			t.Fatalf("policies (-want +got):\n%s\nas\n%s", diff, source)
		}
		if again := Format(set.Policies()); string(again) != string(source) {
			t.Fatalf("formatting the parsed policies again gives a different text:\n%s", Diff(source, again))
		}
	})
}

// The form in the dashboard uses JSON with the same field names as the YAML.
func TestPoliciesRoundTripAsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyPolicies().Draw(t, "policies")
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got []Policy
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if string(Format(want)) != string(Format(got)) {
			t.Fatalf("policies differ after JSON encoding and decoding:\n%s", Diff(Format(want), Format(got)))
		}
	})
}
