package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/store"
)

// now is the current time in the tests.
var now = time.Date(2026, 11, 15, 12, 34, 56, 789e6, time.UTC)

// Options returns options with the clock that the suite expects.
func Options() store.Options {
	// The timeout is long, so that tests do not fail on a busy machine. A separate test covers the statement timeout.
	return store.Options{Now: func() time.Time { return now }, StatementTimeout: time.Minute}
}

// serial makes the IDs of a test process unique, so that tests can share a database.
var serial atomic.Int64

func newWorkspace() string { return fmt.Sprintf("ws_%08d", serial.Add(1)) }

// entryID returns an ID with the given time.
func entryID(at time.Time) string {
	floor := id.Floor("req", at)
	return fmt.Sprintf("%s%08d", floor[:len(floor)-8], serial.Add(1))
}

func amountOf(dollars string) *money.Amount {
	a, err := money.Parse(dollars)
	if err != nil {
		panic(err)
	}
	return &a
}

// sample returns an entry with every field set.
func sample(workspace string, at time.Time) requestlog.Entry {
	return requestlog.Entry{
		ID: entryID(at), Owner: requestlog.Owner{WorkspaceID: workspace, KeyID: "key_1", KeyName: "ci"},
		Timing: requestlog.Timing{Time: at, Latency: 412 * time.Millisecond, TTFT: 180 * time.Millisecond, Overhead: 700 * time.Microsecond},
		Call: requestlog.Call{
			Endpoint: "chat/completions", Format: "chat", Stream: true, Requested: "auto",
			Preview: "Write a haiku about 100%_ sure things",
		},
		Routing: requestlog.Routing{
			Model: "small-b", Provider: "openai",
			ServedAs: "small-b-2026", Policy: "cheap-first", Warnings: []string{"top_k dropped"},
			DecisionKind: route.Policy,
			Decision: &route.Decision{
				Kind: route.Policy, Candidates: []route.Candidate{{Target: "openai/small-b", Rank: 1, Quality: 0.8}},
				Policies: []route.PolicyHit{{Name: "cheap-first", Matched: true}}, Micros: 12,
			},
			Attempts: []requestlog.Attempt{
				{Target: requestlog.Target{Provider: "mistral", Model: "small-b"}, AttemptResult: requestlog.AttemptResult{Class: llm.UpstreamServer, Status: 500, Message: "oops"}},
				{Target: requestlog.Target{Provider: "openai", Model: "small-b"}, AttemptResult: requestlog.AttemptResult{Status: 200}, Usage: &llm.Usage{Input: 10, Output: 5}, Cost: amountOf("0.00031")},
			}, Versions: route.Versions{Router: "1", Catalog: "2"},
		},
		Result: requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
		Charge: requestlog.Charge{
			Usage: llm.Usage{Input: 100, CacheRead: 50, Output: 20, Reasoning: 5},
			Cost:  amountOf("0.00031"), Bill: &catalog.Bill{Rows: []catalog.Row{{Class: "input", Tokens: 100, Rate: 3, Amount: 310_000}}, Total: 310_000},
		},
		Baseline: requestlog.Baseline{BaselineModel: "large-a", BaselineSource: "default", BaselineCost: amountOf("0.000941"), BaselineBill: &catalog.Bill{Total: 941_000}},
		Labels: requestlog.Labels{
			Session: "s-1", EndUser: "u-1",
			Tags: map[string]string{"team": "search", "stage": "prod"}, Metadata: map[string]string{"a": "b"},
		},
		Connection: requestlog.Connection{Client: "openai-python/2", IP: "127.0.0.1", TraceID: "abc", BytesIn: 300, BytesOut: 900},
		BodyState:  requestlog.BodyStored,
		Body:       requestlog.Body{Request: []byte(`{"model":"auto"}`), Response: []byte("data: {}\n"), Streamed: true},
	}
}

// listed returns the entry as shown in lists.
func listed(e requestlog.Entry) requestlog.Entry {
	e.Decision, e.Bill, e.BaselineBill, e.Body = nil, nil, nil, requestlog.Body{}
	return e
}

// words lists texts with characters that are special in JSON, SQL or UTF-8.
var words = []string{"", "a", "A", "small-b", "large_a", "100%", `back\slash`, "x,y", "it's", "ä€😀", "nul\x00byte", "bad\xffutf", strings.Repeat("long", 100)}

// drawEntry generates an entry. It uses few different values, so that filters match some entries.
func drawEntry(t *rapid.T, workspace string, span time.Duration) requestlog.Entry {
	at := now.Add(-time.Duration(rapid.Int64Range(0, span.Milliseconds()).Draw(t, "age")) * time.Millisecond)
	word := rapid.SampledFrom(words)
	e := requestlog.Entry{
		ID:    entryID(at),
		Owner: requestlog.Owner{WorkspaceID: workspace, KeyID: rapid.SampledFrom([]string{"", "key_1", "key_2"}).Draw(t, "key")},
		Timing: requestlog.Timing{
			Time:    at.Truncate(time.Millisecond),
			Latency: time.Duration(rapid.SampledFrom([]int64{0, 1, 3e6, 250e6, 400e6, 1600e6, 90e9}).Draw(t, "latency")),
			TTFT:    time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "ttft")),
		},
		Call: requestlog.Call{
			Stream:    rapid.Bool().Draw(t, "stream"),
			Requested: word.Draw(t, "requested"),
			Preview:   word.Draw(t, "preview"),
		},
		Routing: requestlog.Routing{
			Model: word.Draw(t, "model"), Provider: word.Draw(t, "provider"), Policy: word.Draw(t, "policy"),
			Simulated:    rapid.Bool().Draw(t, "simulated"),
			DecisionKind: rapid.SampledFrom([]route.Kind{"", route.Expected, route.Fallback, route.Policy}).Draw(t, "decision"),
		},
		Result: requestlog.Result{
			Outcome: rapid.SampledFrom([]requestlog.Outcome{
				requestlog.OK, requestlog.ClientError, requestlog.UpstreamError, requestlog.Rejected, requestlog.Partial, requestlog.Interrupted,
			}).Draw(t, "outcome"),
			Status: rapid.SampledFrom([]int{0, 200, 400, 429, 502}).Draw(t, "status"),
			Finish: rapid.SampledFrom([]string{"", "stop", "length", "tool_calls"}).Draw(t, "finish"),
		},
		Charge: requestlog.Charge{
			Usage: llm.Usage{Input: rapid.Int64Range(0, 1000).Draw(t, "input"), CacheRead: rapid.Int64Range(0, 100).Draw(t, "cached"), Output: 7},
			Cost:  drawAmount(t, "cost"),
		},
		Baseline:   requestlog.Baseline{BaselineCost: drawAmount(t, "baseline")},
		Labels:     requestlog.Labels{Session: word.Draw(t, "session"), EndUser: word.Draw(t, "user")},
		Cache:      rapid.SampledFrom([]*requestlog.Cache{nil, {Status: requestlog.CacheHit, Saved: new(money.Amount(7_000_000)), Source: "req_0"}, {Status: requestlog.CacheMiss}}).Draw(t, "cache"),
		Connection: requestlog.Connection{Client: rapid.SampledFrom([]string{"", "curl/8", "agent (KHTML, like \\x)"}).Draw(t, "client")},
		BodyState:  requestlog.BodyDisabled,
	}
	for range rapid.IntRange(0, 3).Draw(t, "attempts") {
		e.Attempts = append(e.Attempts, requestlog.Attempt{
			Target:        requestlog.Target{Model: word.Draw(t, "tried model"), Provider: word.Draw(t, "tried provider")},
			AttemptResult: requestlog.AttemptResult{Class: rapid.SampledFrom([]llm.Kind{"", llm.UpstreamTimeout, llm.ClientCancelled}).Draw(t, "class")},
		})
	}
	if rapid.Bool().Draw(t, "failed") {
		e.Error = &requestlog.Failure{Code: "NO_ROUTE", Message: word.Draw(t, "message")}
	}
	if rapid.Bool().Draw(t, "tagged") {
		e.Tags = map[string]string{"team": word.Draw(t, "team"), word.Draw(t, "name"): "x"}
	}
	return e
}

func drawAmount(t *rapid.T, label string) *money.Amount {
	n := rapid.SampledFrom([]int64{-1, 0, 1, 999, 310_000, 310_001, 941_000, 5e9, 7e12}).Draw(t, label)
	if n < 0 {
		return nil
	}
	a := money.Amount(n)
	return &a
}

// drawFilter generates a filter with up to three conditions.
func drawFilter(t *rapid.T, workspace string, span time.Duration) requestlog.Filter {
	f := requestlog.Filter{WorkspaceID: workspace}
	values := rapid.SliceOfNDistinct(rapid.SampledFrom(words[1:]), 1, 3, rapid.ID[string])
	age := func(label string) time.Time {
		return now.Add(-time.Duration(rapid.Int64Range(0, int64(span)).Draw(t, label)))
	}
	price := func(label string) *money.Amount {
		a := money.Amount(rapid.SampledFrom([]int64{-310_000, -1, 0, 1, 2, 310_000, 500_000, 5e9}).Draw(t, label))
		return &a
	}
	yes := rapid.Bool().Draw(t, "truth")
	set := []func(){
		func() { f.From = age("from") },
		func() { f.To = age("to") },
		func() { f.Decision = []string{"expected", "policy"} },
		func() { f.Decision = []string{"fallback"} },
		func() { f.Outcome = []string{"ok", "partial"} },
		func() { f.Outcome = []string{"rejected", "upstream_error"} },
		func() { f.Status = []int{200, 429} },
		func() { f.Status = []int{400, 502} },
		func() { f.Model = values.Draw(t, "models") },
		func() { f.Requested = values.Draw(t, "requests") },
		func() { f.Provider = values.Draw(t, "providers") },
		func() { f.Policy = values.Draw(t, "policies") },
		func() { f.Key = []string{"key_1", "key_9"} },
		func() { f.Tag = []string{"team", "team=a", "100%=x"} },
		func() { f.Cache = []string{"hit"} },
		func() { f.Finish = []string{"stop", "length"} },
		func() { f.Client = []string{"agent (KHTML, like \\x)"} },
		func() { f.Session = values.Draw(t, "sessions") },
		func() { f.User = values.Draw(t, "users") },
		func() { f.Stream = &yes },
		func() { f.Simulated = &yes },
		func() { f.Source = rapid.SampledFrom([]string{"key", "playground"}).Draw(t, "source") },
		func() { f.Unpriced = true },
		func() { f.MinCost = price("min_cost") },
		func() { f.MaxCost = price("max_cost") },
		func() { f.MinSaved = price("min_saved") },
		func() { f.MaxSaved = price("max_saved") },
		func() { f.MinLatency = time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "min_latency")) },
		func() { f.MaxLatency = time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "max_latency")) },
		func() {
			f.Q = rapid.SampledFrom([]string{"%", "_", `\`, "a", "LONG", "no_route", "ä", "Ä", "'", "req_", "nulbyte", "\x00"}).Draw(t, "q")
		},
	}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(set)-1), 0, 3, rapid.ID[int]).Draw(t, "conditions") {
		set[i]()
	}
	return f
}
