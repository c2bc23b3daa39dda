package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// scrape returns the series of Fairlead's own metrics, sorted, without buckets.
func scrape(t *testing.T, m *Metrics) []string {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if recorder.Code != 200 {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
	var series []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "fairlead_") && !strings.Contains(line, "_bucket") {
			series = append(series, strings.TrimSpace(line))
		}
	}
	slices.Sort(series)
	return series
}

func newTestMetrics(sources Sources) *Metrics {
	m := NewMetrics(Build{Version: "1.2.3", Commit: "abc", Go: "go1.26"}, sources)
	m.SetNames([]string{"local"}, []string{"small", "large"})
	return m
}

func TestObserveCountsAServedRequest(t *testing.T) {
	t.Parallel()
	m := newTestMetrics(Sources{})

	m.Observe(servedEntry())

	want := []string{
		`fairlead_attempts_total{class="ok",model="small",provider="local"} 1`,
		`fairlead_attempts_total{class="timeout",model="large",provider="other"} 1`,
		`fairlead_baseline_cost_dollars_total{model="small",provider="local"} 0.000941`,
		`fairlead_build_info{commit="abc",go="go1.26",version="1.2.3"} 1`,
		`fairlead_compared_cost_dollars_total{model="small",provider="local"} 0.00031`,
		`fairlead_cost_dollars_total{model="small",provider="local"} 0.00031`,
		`fairlead_first_token_seconds_count{model="small",provider="local"} 1`,
		`fairlead_first_token_seconds_sum{model="small",provider="local"} 0.18`,
		`fairlead_overhead_seconds_count 1`,
		`fairlead_overhead_seconds_sum 0.00035`,
		`fairlead_reasoning_tokens_total{model="small",provider="local"} 10`,
		`fairlead_request_duration_seconds_count{endpoint="chat/completions",model="small",provider="local"} 1`,
		`fairlead_request_duration_seconds_sum{endpoint="chat/completions",model="small",provider="local"} 0.412`,
		`fairlead_requests_total{decision="fallback",endpoint="chat/completions",model="small",outcome="ok",provider="local"} 1`,
		`fairlead_tokens_total{class="cache_read",model="small",provider="local"} 20`,
		`fairlead_tokens_total{class="cache_write",model="small",provider="local"} 3`,
		`fairlead_tokens_total{class="input",model="small",provider="local"} 100`,
		`fairlead_tokens_total{class="output",model="small",provider="local"} 50`,
	}
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Error(diff)
	}
}

func TestObserveCountsARejectedRequest(t *testing.T) {
	t.Parallel()
	m := newTestMetrics(Sources{})
	m.Observe(&requestlog.Entry{
		Call: requestlog.Call{Endpoint: "embeddings"},
		Result: requestlog.Result{
			Outcome: requestlog.Rejected, Status: 429,
			Error: &requestlog.Failure{Code: "RATE_LIMITED", Origin: llm.FromGateway},
		},
	})
	got := scrape(t, m)
	for _, want := range []string{
		`fairlead_errors_total{code="RATE_LIMITED",origin="gateway"} 1`,
		`fairlead_requests_total{decision="none",endpoint="embeddings",model="none",outcome="rejected",provider="none"} 1`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, series := range got {
		if strings.Contains(series, "cost") || strings.Contains(series, "unpriced") || strings.Contains(series, "first_token") {
			t.Errorf("a rejected request added the series %s", series)
		}
	}
}

func TestUnknownCostIsNeverZero(t *testing.T) {
	t.Parallel()
	m := newTestMetrics(Sources{})
	e := servedEntry()
	e.Cost = nil
	m.Observe(e)
	e = servedEntry()
	e.BaselineCost = nil
	e.Cost = new(money.Amount(-5)) // a bug elsewhere must not cause a panic here
	m.Observe(e)
	got := scrape(t, m)
	if want := `fairlead_unpriced_requests_total{model="small",provider="local"} 1`; !slices.Contains(got, want) {
		t.Errorf("%s is missing in\n%s", want, strings.Join(got, "\n"))
	}
	for _, series := range got {
		if strings.HasPrefix(series, "fairlead_compared") || strings.HasPrefix(series, "fairlead_baseline") {
			t.Errorf("series %s exists without comparable costs", series)
		}
	}
}

// Label values are limited to configured names, so that callers cannot increase the number of series.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := newTestMetrics(Sources{Circuits: func() []Circuit {
		circuits := make([]Circuit, 0, 100)
		for i := range 100 {
			circuits = append(circuits, Circuit{Provider: fmt.Sprint("p", i), Model: fmt.Sprint("m", i), State: CircuitOpen})
		}
		return circuits
	}})
	for i := range 1000 {
		name := fmt.Sprintf("evil-%d", i)
		m.Observe(&requestlog.Entry{
			Call:    requestlog.Call{Endpoint: name, Requested: name},
			Result:  requestlog.Result{Outcome: requestlog.Outcome(name), Error: &requestlog.Failure{Code: name, Origin: llm.Origin(name)}},
			Routing: requestlog.Routing{DecisionKind: route.Kind(name), Provider: name, Model: name, Attempts: []requestlog.Attempt{{Target: requestlog.Target{Provider: name, Model: name}, AttemptResult: requestlog.AttemptResult{Class: llm.Kind(name)}}}},
			Charge:  requestlog.Charge{Usage: llm.Usage{Input: 1}, Cost: new(money.Amount(1))},
			Timing:  requestlog.Timing{TTFT: 1}, Baseline: requestlog.Baseline{BaselineCost: new(money.Amount(1))},
		})
	}
	series := scrape(t, m)
	if len(series) > 20 {
		t.Errorf("%d series, want at most 20:\n%s", len(series), strings.Join(series, "\n"))
	}
	if joined := strings.Join(series, "\n"); strings.Contains(joined, "evil") {
		t.Errorf("a label contains a value of the client:\n%s", joined)
	}
}

func TestGaugesAreReadAtEachScrape(t *testing.T) {
	t.Parallel()
	inFlight, state := int64(3), CircuitOpen
	m := newTestMetrics(Sources{
		InFlight:     func() int64 { return inFlight },
		SpoolEntries: func() int64 { return 7 },
		SpoolBytes:   func() int64 { return 4096 },
		Rejected:     func() int64 { return 2 },

		DroppedComparisons: func() int64 { return 5 },
		Export:             func() *Export { return &Export{Sent: 40, Deleted: 2, Lag: 90 * time.Second, Failing: true} },
		Circuits: func() []Circuit {
			return []Circuit{{"local", "small", state}, {"gone", "a", CircuitHalfOpen}, {"gone", "b", CircuitClosed}}
		},
		ModelLists: func() []ModelList {
			return []ModelList{{Provider: "local", Models: 12, New: 2, Failing: 1}, {Provider: "other"}}
		},
	})
	gauges := func() []string {
		return slices.DeleteFunc(scrape(t, m), func(s string) bool {
			return strings.HasPrefix(s, "fairlead_build") || strings.HasPrefix(s, "fairlead_overhead") || strings.HasSuffix(s, " 0")
		})
	}
	want := []string{
		`fairlead_circuit_state{model="other",provider="other",state="half_open"} 1`,
		`fairlead_circuit_state{model="small",provider="local",state="open"} 1`,
		`fairlead_comparisons_dropped_total 5`,
		`fairlead_export_deleted_records_total 2`,
		`fairlead_export_failing 1`,
		`fairlead_export_lag_seconds 90`,
		`fairlead_export_records_total 40`,
		`fairlead_in_flight_requests 3`,
		`fairlead_listed_models{provider="local"} 12`,
		`fairlead_model_list_failing_credentials{provider="local"} 1`,
		`fairlead_new_models{provider="local"} 2`,
		`fairlead_spool_bytes 4096`,
		`fairlead_spool_entries 7`,
		`fairlead_spool_rejected_entries 2`,
	}
	if diff := cmp.Diff(want, gauges()); diff != "" {
		t.Error(diff)
	}
	inFlight, state = 4, CircuitClosed
	want[1] = `fairlead_circuit_state{model="small",provider="local",state="closed"} 1`
	want[7] = `fairlead_in_flight_requests 4`
	if diff := cmp.Diff(want, gauges()); diff != "" {
		t.Error(diff)
	}
}
