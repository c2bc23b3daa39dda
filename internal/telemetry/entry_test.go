package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

func servedEntry() *requestlog.Entry {
	return &requestlog.Entry{
		ID: "req_1", Owner: requestlog.Owner{WorkspaceID: "ws_1", KeyID: "key_1", KeyName: "ci"},
		Call:   requestlog.Call{Endpoint: "chat/completions", Stream: true, Requested: "auto", Preview: "CANARY prompt"},
		Timing: requestlog.Timing{Time: time.Unix(1700000000, 0).UTC(), Latency: 412 * time.Millisecond, TTFT: 180 * time.Millisecond, Overhead: 350 * time.Microsecond},
		Routing: requestlog.Routing{
			Model: "small", Provider: "local", DecisionKind: route.Fallback,
			Attempts: []requestlog.Attempt{
				{Target: requestlog.Target{Provider: "other-cloud", Model: "large"}, AttemptResult: requestlog.AttemptResult{Class: llm.UpstreamTimeout}},
				{Target: requestlog.Target{Provider: "local", Model: "small"}},
			},
		},
		Result: requestlog.Result{Outcome: requestlog.OK, Status: 200},
		Charge: requestlog.Charge{
			Usage: llm.Usage{Input: 100, CacheRead: 20, CacheWrite: 3, Output: 50, Reasoning: 10},
			Cost:  new(money.Amount(310_000)),
		},
		Baseline: requestlog.Baseline{BaselineCost: new(money.Amount(941_000))},
		Labels: requestlog.Labels{
			EndUser: "CANARY user", Session: "CANARY session", Metadata: map[string]string{"a": "CANARY"},
			Tags: map[string]string{"a": "CANARY"},
		},
		Body: requestlog.Body{Request: []byte("CANARY"), Response: []byte("CANARY")},
	}
}

// line logs the entry and returns the line without its time.
func line(t *testing.T, e *requestlog.Entry) string {
	t.Helper()
	var b bytes.Buffer
	LogEntry(NewLogger(&b, false, slog.LevelInfo), e)
	_, rest, _ := strings.Cut(b.String(), " ")
	return rest
}

func TestLogEntryOfAServedRequest(t *testing.T) {
	t.Parallel()
	want := "level=INFO msg=request id=req_1 workspace=ws_1 key=key_1 endpoint=chat/completions outcome=ok status=200" +
		" requested=auto model=small provider=local decision=fallback stream=true attempts=2 latency_ms=412 ttft_ms=180" +
		" overhead_us=350 tokens_in=123 tokens_out=50 cost_usd=0.00031 baseline_cost_usd=0.000941\n"
	if diff := cmp.Diff(want, line(t, servedEntry())); diff != "" {
		t.Error(diff)
	}
}

func TestLogEntryOfARejectedRequest(t *testing.T) {
	t.Parallel()
	got := line(t, &requestlog.Entry{
		ID: "req_2", Call: requestlog.Call{Endpoint: "embeddings", Requested: strings.Repeat("é", 5000)},
		Result: requestlog.Result{
			Outcome: requestlog.Rejected, Status: 402,
			Error: &requestlog.Failure{Code: "BUDGET_EXCEEDED", Message: "CANARY message of a provider", Origin: llm.FromGateway},
		},
		Routing: requestlog.Routing{Simulated: true},
	})
	if !strings.Contains(got, "outcome=rejected status=402 code=BUDGET_EXCEEDED origin=gateway") || !strings.Contains(got, "simulated=true") {
		t.Errorf("line %s, want the outcome, status, code and origin", got)
	}
	if strings.Contains(got, "CANARY") || strings.Contains(got, "cost_usd") {
		t.Errorf("line %s, want no provider message and no cost", got)
	}
	if len(got) > 500 {
		t.Errorf("line has %d bytes, want at most 500", len(got))
	}
}

func TestLogEntryRespectsTheLevel(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	LogEntry(NewLogger(&b, true, slog.LevelWarn), servedEntry())
	if b.Len() != 0 {
		t.Errorf("wrote %s below the level, want nothing", b.String())
	}
}

func TestLogEntryWritesOneJSONLine(t *testing.T) {
	t.Parallel()
	odd := servedEntry()
	odd.Requested, odd.Policy, odd.TraceID = hostile, `"\`, strings.Repeat("é", 300)
	odd.Error = &requestlog.Failure{Code: hostile, Origin: llm.FromPolicy}
	odd.Latency, odd.TTFT, odd.Cost, odd.Simulated = 1234567*time.Microsecond, 0, new(money.Amount(-1)), true
	for name, e := range map[string]*requestlog.Entry{"served": servedEntry(), "odd": odd, "empty": {}} {
		var b bytes.Buffer
		LogEntry(NewLogger(&b, true, slog.LevelInfo), e)
		checkLine(t, b.Bytes())
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(name, err)
		}
		if got["msg"] != "request" || got["status"] != float64(e.Status) {
			t.Errorf("%s: record %v, want msg request and the status", name, got)
		}
	}
}
