package requestlog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
)

func TestSumsCountEntries(t *testing.T) {
	t.Parallel()
	cost, baseline := money.Amount(30), money.Amount(100)
	entries := []Entry{
		{
			Routing: Routing{Model: "small", DecisionKind: route.Expected}, Result: Result{Outcome: OK},
			Charge:   Charge{Cost: &cost, Usage: llm.Usage{Input: 10, CacheRead: 5, CacheWrite: 1, Output: 7, Reasoning: 3}},
			Baseline: Baseline{BaselineCost: &baseline},
			Timing:   Timing{Latency: 100 * time.Millisecond, TTFT: 50 * time.Millisecond},
		},
		{Routing: Routing{Model: "small", DecisionKind: route.Fallback}, Result: Result{Outcome: Partial}, Charge: Charge{Cost: &cost}, Timing: Timing{Latency: 100 * time.Millisecond}},
		{Result: Result{Outcome: Rejected}, Baseline: Baseline{BaselineCost: &baseline}, Timing: Timing{Latency: time.Millisecond}}, // entry without a model
		{Result: Result{Outcome: UpstreamError}, Routing: Routing{DecisionKind: route.Policy}, Timing: Timing{Latency: time.Hour}},
		{Result: Result{Outcome: GatewayError}},
		{Result: Result{Outcome: Interrupted}},
		{Result: Result{Outcome: Cancelled}},
		{Result: Result{Outcome: ClientError}},
	}
	var left, right Sums
	for i := range entries {
		if i < 3 {
			left.Add(&entries[i])
		} else {
			right.Add(&entries[i])
		}
	}
	for _, class := range []llm.Kind{"", llm.UpstreamTimeout, llm.UpstreamRejected, llm.ClientCancelled} {
		right.AddAttempt(&Attempt{AttemptResult: AttemptResult{Class: class}})
	}
	left.Merge(&right)

	want := Figures{
		RequestCounts: RequestCounts{Requests: 8, Served: 2, Attempts: 4, Failed: 1, Errors: 4, Rejected: 1, Expected: 1, Fallbacks: 1, Policies: 1, Priced: 2, Compared: 1},
		Spending:      Spending{Cost: 60, ComparedCost: 30, BaselineCost: 100},
		Tokens:        Tokens{InputTokens: 16, CachedTokens: 5, OutputTokens: 7},
		Quantiles:     Quantiles{LatencyP50: 97, LatencyP95: 97, TTFTP50: 48},
	}
	got := left.Total()
	for _, q := range []struct {
		got   *int64
		exact int64
	}{{&got.LatencyP50, 100}, {&got.LatencyP95, 100}, {&got.TTFTP50, 50}} {
		if off := max(*q.got-q.exact, q.exact-*q.got); off*10 > q.exact {
			t.Errorf("quantile is %d, want about %d", *q.got, q.exact)
		}
	}
	got.LatencyP50, got.LatencyP95, got.TTFTP50 = want.LatencyP50, want.LatencyP95, want.TTFTP50
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
