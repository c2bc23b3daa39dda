//go:build unix

package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store"
)

// benchEntry returns an entry of typical size, as the spool delivers it, with a recorded decision that compares a dozen
// targets, and two kilobytes of body.
func benchEntry(b *testing.B, i int, at time.Time) requestlog.Entry {
	b.Helper()
	cost, baseline := money.Amount(310_000+i%977*1000), money.Amount(941_000)
	decision := &route.Decision{Kind: route.Expected}
	for c := range 12 {
		decision.Candidates = append(decision.Candidates, route.Candidate{
			Target: fmt.Sprintf("provider-%d/model-%d", c%4, c), Model: fmt.Sprintf("model-%d", c), Provider: fmt.Sprintf("provider-%d", c%4),
			Rank: c + 1, Quality: 0.9 - float64(c)/100, ExpectedCost: route.ExpectedCost{Price: &cost}, Latency: 420,
		})
	}
	recorded, err := json.Marshal(decision)
	if err != nil {
		b.Fatal(err)
	}
	return requestlog.Entry{
		Routing: requestlog.Routing{
			Recorded: requestlog.Recorded{Decision: decision, JSON: recorded}, Model: fmt.Sprintf("model-%d", i%5), Provider: fmt.Sprintf("provider-%d", i%3),
			DecisionKind: route.Expected, Decision: decision, Attempts: []requestlog.Attempt{{Target: requestlog.Target{Provider: "provider-1", Model: "model-1"}, AttemptResult: requestlog.AttemptResult{Status: 200}}},
		},
		ID:     id.New("req", at),
		Owner:  requestlog.Owner{WorkspaceID: "ws_01JCX5T4M5D9X0Q3W8Z6F2V7RB", KeyID: fmt.Sprintf("key_01JCX5T4M5D9X0Q3W8Z6F2V7%02d", i%10), KeyName: "ci"},
		Timing: requestlog.Timing{Time: at, Latency: time.Duration(300+i%1000) * time.Millisecond, TTFT: time.Duration(100+i%300) * time.Millisecond},
		Call: requestlog.Call{
			Endpoint: "chat/completions", Format: "chat", Requested: "auto",
			Preview: fmt.Sprintf("Please summarise document %d for me, and be brief", i),
		},
		Result: requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
		Charge: requestlog.Charge{
			Usage: llm.Usage{Input: 500, Output: 200}, Cost: &cost,
			Bill: &catalog.Bill{Rows: []catalog.Row{{Class: "input", Tokens: 500, Rate: 3, Amount: cost}}, Total: cost},
		},
		Baseline: requestlog.Baseline{BaselineCost: &baseline, BaselineModel: "large-a"},
		Labels: requestlog.Labels{
			Session: fmt.Sprintf("conv_%016x", uint64(i/2)*0x9e3779b97f4a7c15), EndUser: fmt.Sprintf("u-%d", i%500),
			Tags: map[string]string{"team": "search"},
		},
		Connection: requestlog.Connection{Client: "openai-python/2"}, BodyState: requestlog.BodyStored,
		Body: requestlog.Body{
			Request:  []byte(strings.Repeat(fmt.Sprintf(`{"role":"user","content":"text number %d"}`, i), 30)),
			Response: []byte(strings.Repeat(fmt.Sprintf(`{"content":"answer %d"}`, i), 30)),
		},
	}
}

// benchmarkWrite writes batches like the spool under load.
func benchmarkWrite(b *testing.B, db *store.DB) {
	b.Helper()
	const batch = 1000
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	var n int
	var busy time.Duration
	for b.Loop() {
		b.StopTimer()
		entries := make([]requestlog.Entry, batch)
		for i := range entries {
			at = at.Add(time.Millisecond)
			entries[i] = benchEntry(b, n, at)
			n++
		}
		before := cpuTime(b)
		b.StartTimer()
		if err := db.Log.WriteEntries(b.Context(), entries); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		busy += cpuTime(b) - before
		b.StartTimer()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(n)/busy.Seconds(), "entries/cpu-s") // throughput of one core
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func BenchmarkWriteEntriesSQLite(b *testing.B)   { benchmarkWrite(b, openSQLite(b)) }
func BenchmarkWriteEntriesPostgres(b *testing.B) { benchmarkWrite(b, openPostgres(b)) }
