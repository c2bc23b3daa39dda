package route_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/wire/openai"
)

// prompt is the user's message in requests of about one kilobyte.
var prompt = strings.Repeat("How many of the 12 boxes hold more than 3 red balls if each was filled at random? ", 12)

// newRequest decodes a chat request to auto with the given messages in JSON.
func newRequest(t testing.TB, messages string) *llm.Request {
	t.Helper()
	req, err := openai.Format{}.DecodeRequest(context.Background(), llm.Chat, []byte(`{"model": "auto", "messages": [`+messages+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// toolLoop returns a conversation of an agent with the given size in bytes.
func toolLoop(size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"role": "system", "content": "You are a coding agent."}, {"role": "user", "content": %q}`, prompt)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `, {"role": "assistant", "tool_calls": [{"id": "call_%d", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"box_%d.go\"}"}}]}`, i, i)
		fmt.Fprintf(&b, `, {"role": "tool", "tool_call_id": "call_%d", "content": %q}`, i, strings.Repeat("func fill(box *Box) error { return box.add(red, 3) }\n", 40))
	}
	return b.String()
}

// busy is a routing decision in a large installation, with models of the catalog, a prompt of one kilobyte, and policies, some of which
// match.
type busy struct {
	req  *llm.Request
	in   route.Input
	snap *route.Snapshot
	c    route.Conditions
}

func newBusy(t testing.TB, models, policies int) *busy {
	t.Helper()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	p := &provider.Provider{Name: "p"}
	for _, m := range cat.Models() {
		if m.Op == llm.Chat && !m.Deprecated && cat.ListPrice(m.Name) != nil && len(p.Targets) < models {
			p.Targets = append(p.Targets, &provider.Target{Provider: "p", Model: m, Upstream: m.Name, Price: cat.ListPrice(m.Name), Efforts: catalog.EffortsFor(m.Home, m.Name), Tags: []string{"eu"}})
		}
	}
	b := &busy{req: newRequest(t, fmt.Sprintf(`{"role": "user", "content": %q}`, prompt)), snap: route.NewSnapshot(cat, []*provider.Provider{p}, predict.NewTable(cat))}
	b.in = route.Input{
		Op: llm.Chat, Model: "auto", Objective: route.Objective{Name: "auto", Tradeoff: 0.5},
		PromptSize: route.PromptSize{InputTokens: 300, Text: b.req.Text}, ResponseOptions: route.ResponseOptions{Choices: 1}, PromptParts: route.PromptParts{Messages: 1},
		Caller: route.Caller{Key: condition.Key{ID: "key_1", Name: "ci", Tags: map[string]string{"team": "infra"}}}, At: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC),
	}
	b.c = route.Conditions{
		State: func(string) route.State { return route.State{Latency: 400 * time.Millisecond, TokensPS: 80} },
		CacheHit: func(_ *provider.Target, prompt int64, _ bool) route.CacheHit {
			return route.CacheHit{Read: prompt / 2, Caches: true}
		},
		Policies: rulesOf(t, policies),
	}
	return b
}

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

// decide reads the request and decides, as the gateway does for each request to auto.
func (b *busy) decide(t testing.TB) *route.Decision {
	in, reading := b.in, predict.Read(b.req)
	in.Features, in.Conversation, in.Predictor = reading.Features, reading.Findings, predict.Version()
	d, err := route.Decide(&in, b.snap, b.c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// maxAllocations is the maximum number of allocations for a decision with a full pool and 20 policies, including reading the request.
const maxAllocations = 50

func TestDecisionAllocationsAreBounded(t *testing.T) {
	b := newBusy(t, 60, 20)
	if d := b.decide(t); len(d.Candidates) != route.PoolSize || len(d.Policies) != 20 {
		t.Fatalf("%d candidates, %d policies; want %d and 20", len(d.Candidates), len(d.Policies), route.PoolSize)
	}
	if got := testing.AllocsPerRun(200, func() { b.decide(t) }); got > maxAllocations+slack {
		t.Errorf("%v allocations, want at most %d", got, maxAllocations+slack)
	}
}

// BenchmarkRead reports the latency of reading a request.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct{ name, messages string }{
		{"prompt=1KB", fmt.Sprintf(`{"role": "user", "content": %q}`, prompt)},
		{"conversation=100KB", toolLoop(100 << 10)},
	} {
		b.Run(c.name, func(b *testing.B) {
			req := newRequest(b, c.messages)
			benchmark(b, func() { predict.Read(req) })
		})
	}
}

// BenchmarkDecide reports the latency of reading a request of one kilobyte and deciding, by number of models and policies.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []struct{ models, policies int }{{60, 0}, {60, 20}, {60, 50}, {200, 20}} {
		b.Run(fmt.Sprintf("models=%d/policies=%d", size.models, size.policies), func(b *testing.B) {
			x := newBusy(b, size.models, size.policies)
			benchmark(b, func() { x.decide(b) })
		})
	}
}

// benchmark reports the p50 and p99 of a step.
func benchmark(b *testing.B, step func()) {
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		step()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}
