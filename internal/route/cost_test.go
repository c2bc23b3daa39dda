package route_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// busy is a routing decision in a large installation, with candidates from the catalog, a prompt of two kilobytes, and policies, some of
// which match.
type busy struct {
	predictor *predict.Predictor
	prompt    predict.Prompt
	in        route.Input
	snap      *route.Snapshot
	c         route.Conditions
}

func newBusy(t testing.TB, candidates, policies int) *busy {
	t.Helper()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	predictor, err := predict.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	p := &provider.Provider{Name: "p"}
	for _, m := range cat.Models() {
		if m.Op == llm.Chat && !m.Deprecated && cat.ListPrice(m.Name) != nil && len(p.Targets) < candidates {
			p.Targets = append(p.Targets, &provider.Target{Provider: "p", Model: m, Upstream: m.Name, Price: cat.ListPrice(m.Name), Tags: []string{"eu"}})
		}
	}
	b := &busy{
		predictor: predictor, snap: route.NewSnapshot(cat, []*provider.Provider{p}, learned{ability.New(predictor)}),
		prompt: predict.Prompt{Text: strings.Repeat("How many of the 12 boxes hold more than 3 red balls if each was filled at random? ", 25)[:2000], Messages: 3, Tokens: 600},
	}
	b.in = route.Input{
		Op: llm.Chat, Model: "auto", Objective: route.Objective{Name: "auto", Tradeoff: 0.5}, PromptSize: route.PromptSize{InputTokens: 600}, ResponseOptions: route.ResponseOptions{Choices: 1}, PromptParts: route.PromptParts{Messages: 3},
		Caller: route.Caller{Key: condition.Key{ID: "key_1", Name: "ci", Tags: map[string]string{"team": "infra"}}}, At: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC),
	}
	b.in.Text.Add(b.prompt.Text)
	b.c = route.Conditions{
		State: func(string) route.State { return route.State{Latency: 400 * time.Millisecond, TokensPS: 80} },
		CacheHit: func(_ *provider.Target, prompt int64, _ bool) route.CacheHit {
			return route.CacheHit{Read: prompt / 2, Caches: true}
		},
		Policies: rulesOf(t, policies),
	}
	return b
}

type learned struct{ fitter *ability.Fitter }

func (l learned) Ability(m *catalog.Model) predict.Ability { return l.fitter.Of(m) }

func rulesOf(t testing.TB, n int) *policy.Set {
	t.Helper()
	var b strings.Builder
	b.WriteString("policies:\n")
	for i := range n {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "  - {name: r%d, when: 'request.task == \"code\" && request.tokens > %d', objective: quality}\n", i, i*1000)
		case 1:
			fmt.Fprintf(&b, "  - {name: r%d, when: 'key.tags[\"team\"] == \"team%d\"', deny: \"No.\"}\n", i, i)
		case 2:
			fmt.Fprintf(&b, "  - {name: r%d, when: 'time.hour < 6', max_cost_usd: 0.%d}\n", i, i+1)
		case 3:
			fmt.Fprintf(&b, "  - {name: r%d, when: 'key.name == \"ci\"', exclude: {models: [no-such-%d*]}}\n", i, i)
		default:
			fmt.Fprintf(&b, "  - {name: r%d, when: 'request.stream', prefer: [p/*]}\n", i)
		}
	}
	if n == 0 {
		return nil
	}
	set, problems := policy.Parse("workspace", []byte(b.String()), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set
}

func (b *busy) decide(t testing.TB) *route.Decision {
	in := b.in
	in.Features, in.Predictor = b.predictor.Features(b.prompt), b.predictor.Version()
	d, err := route.Decide(&in, b.snap, b.c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// maxAllocations is the maximum number of allocations for a decision with 60 candidates and 20 policies, including feature extraction.
const maxAllocations = 40

func TestDecisionAllocationsAreBounded(t *testing.T) {
	b := newBusy(t, 60, 20)
	if d := b.decide(t); len(d.Candidates) != 60 || len(d.Policies) != 20 {
		t.Fatalf("%d candidates, %d policies; want 60 and 20", len(d.Candidates), len(d.Policies))
	}
	if got := testing.AllocsPerRun(200, func() { b.decide(t) }); got > maxAllocations+slack {
		t.Errorf("%v allocations, want at most %d", got, maxAllocations+slack)
	}
}

// BenchmarkDecide reports the p50 and p99 latency of a decision by number of candidates and policies.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []struct{ candidates, policies int }{{60, 0}, {60, 20}, {60, 50}, {200, 20}} {
		b.Run(fmt.Sprintf("candidates=%d/policies=%d", size.candidates, size.policies), func(b *testing.B) {
			x := newBusy(b, size.candidates, size.policies)
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				x.decide(b)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
		})
	}
}
