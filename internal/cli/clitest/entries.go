package clitest

import (
	"fmt"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// RequestID returns the n-th request ID of a test.
func RequestID(at time.Time, n int) string {
	floor := id.Floor("req", at)
	return fmt.Sprintf("%s%04d", floor[:len(floor)-4], n)
}

// Nano returns a pointer to an amount in nano-dollars.
func Nano(n int64) *money.Amount { return new(money.Amount(n)) }

// Served returns the entry of a typical request: auto, streamed, served by the first target for less than the baseline.
func Served() requestlog.Entry {
	at := Noon.Add(-time.Hour)
	own := catalog.Price{Input: money.PerMillion(0.1), Output: money.PerMillion(0.4), CacheRead: new(money.PerMillion(0.025)), Source: "vendor page", AsOf: "2026-11-01"}
	base := catalog.Price{Input: money.PerMillion(2), Output: money.PerMillion(8), CacheRead: new(money.PerMillion(0.5)), Source: "vendor page", AsOf: "2026-11-01"}
	use := llm.Usage{Input: 1200, CacheRead: 800, Output: 450, Reasoning: 120}
	ownBill, baseBill := own.Bill(use), base.Bill(use)
	return requestlog.Entry{
		ID: RequestID(at, 1), Owner: requestlog.Owner{KeyID: "key_1", KeyName: "ci"},
		Timing: requestlog.Timing{Time: at, Latency: 412 * time.Millisecond, TTFT: 180 * time.Millisecond, Overhead: 640 * time.Microsecond},
		Call: requestlog.Call{
			Endpoint: "chat/completions", Format: "chat", Stream: true, Requested: "auto",
			Preview: "=Write a haiku\x1b[2J about the sea",
		},
		Routing: requestlog.Routing{
			Model: "small-b", Provider: "provider-x", ServedAs: "small-b-2026",
			DecisionKind: route.Expected,
			Decision: &route.Decision{
				Kind: route.Expected,
				Input: route.Input{
					Op: llm.Chat, Model: "auto", Objective: route.Objective{Name: "auto", Tradeoff: 0.5}, PromptSize: route.PromptSize{InputTokens: 2010}, ResponseOptions: route.ResponseOptions{
						MaxOutput: 1000,
						Choices:   1, Needs: llm.Tools | llm.JSONSchema, Stream: true,
					}, PromptParts: route.PromptParts{Messages: 3},
				},
				Because: "small-b is good enough (70 %) for a medium coding task; large-a adds 22 points for 20 × the price.",
				Candidates: []route.Candidate{
					{Target: "provider-x/small-b", Provider: "provider-x", Model: "small-b", Rank: 1, Quality: 0.7, ExpectedCost: route.ExpectedCost{Price: Nano(360_000)}, Latency: 900},
					{Target: "provider-y/large-a", Provider: "provider-y", Model: "large-a", Rank: 2, Quality: 0.92, ExpectedCost: route.ExpectedCost{Price: Nano(7_200_000)}, Latency: 2400},
					{Target: "local/tiny", Provider: "local", Model: "tiny", Excluded: new(route.NewExclusion(route.MissingCapability, "it cannot do tools"))},
					{Target: "provider-z/small-b", Provider: "provider-z", Model: "small-b", Excluded: new(route.NewExclusion(route.CircuitOpen, "its circuit is open after repeated failures"))},
				},
				Baseline: &route.Baseline{Model: "large-a", Source: "default"},
				Policies: []route.PolicyHit{route.NewPolicyHit("night", "", false, "", "time.hour < 6")},
				Versions: route.Versions{Router: "prior-1", Catalog: "c91d73960d7b"}, Micros: 27,
			},
			Attempts: []requestlog.Attempt{{
				Target: requestlog.Target{Provider: "provider-x", Model: "small-b", Upstream: "small-b"},
				AttemptTiming: requestlog.AttemptTiming{
					Start: 300 * time.Microsecond, Connect: 12 * time.Millisecond,
					Headers: 150 * time.Millisecond, FirstToken: 180 * time.Millisecond, Duration: 411 * time.Millisecond,
				},
				AttemptResult: requestlog.AttemptResult{Status: 200},
			}}, Versions: route.Versions{Router: "prior-1", Catalog: "c91d73960d7b"},
		},
		Result:     requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
		Charge:     requestlog.Charge{Usage: use, Cost: &ownBill.Total, Bill: &ownBill},
		Baseline:   requestlog.Baseline{BaselineModel: "large-a", BaselineSource: "default", BaselineCost: &baseBill.Total, BaselineBill: &baseBill},
		Labels:     requestlog.Labels{Session: "s-1", SessionSource: "given", EndUser: "u-1", Tags: map[string]string{"team": "search", "stage": "prod"}},
		Connection: requestlog.Connection{Client: "openai-python/2.1", IP: "10.0.0.7", BytesIn: 3210, BytesOut: 15004},
		BodyState:  requestlog.BodyStored,
		Body:       requestlog.Body{Request: []byte(`{"model":"auto","messages":[{"role":"user","content":"Hi"}]}`), Response: []byte("not \x1b[31mJSON")},
	}
}

// FellBack returns the entry of a request that the second target served at a higher cost than the baseline.
func FellBack() requestlog.Entry {
	e := Served()
	e.ID, e.Time = RequestID(Noon.Add(-30*time.Minute), 2), Noon.Add(-30*time.Minute)
	e.DecisionKind, e.Stream, e.Policy = route.Fallback, false, "cheap-first"
	e.Attempts = []requestlog.Attempt{
		{
			Target: requestlog.Target{Provider: "provider-y", Model: "large-a"},
			AttemptTiming: requestlog.AttemptTiming{
				Start: 200 * time.Microsecond, Connect: 9 * time.Millisecond, Headers: 30 * time.Millisecond,
				Duration: 31 * time.Millisecond,
			},
			AttemptResult: requestlog.AttemptResult{Status: 429, Class: llm.UpstreamRateLimited, Message: "Rate limit reached for requests", RetryAfter: 20 * time.Second},
		},
		e.Attempts[0],
	}
	e.Attempts[1].Start, e.Attempts[1].Wait = 1429*time.Millisecond, 1397*time.Millisecond
	e.Wait = e.Attempts[1].Wait
	e.BaselineModel, e.BaselineSource, e.BaselineCost, e.BaselineBill = "tiny", "caller", Nano(100_000), nil
	e.Warnings = []string{"Dropped field top_k: not supported by provider-x."}
	e.Usage.Estimated = true
	e.Latency = 1840 * time.Millisecond
	return e
}

// Failed returns the entry of a request that no provider served.
func Failed() requestlog.Entry {
	at := Noon.Add(-10 * time.Minute)
	return requestlog.Entry{
		ID: RequestID(at, 3), Owner: requestlog.Owner{KeyID: "key_2", KeyName: "batch"},
		Timing: requestlog.Timing{Time: at, Latency: 12345 * time.Millisecond, Overhead: time.Millisecond},
		Call:   requestlog.Call{Endpoint: "chat/completions", Requested: "large-a"},
		Result: requestlog.Result{
			Outcome: requestlog.UpstreamError, Status: 502,
			Error: &requestlog.Failure{Code: "PROVIDER_UPSTREAM_ERROR", Message: "Every provider of large-a failed.", Origin: llm.FromProvider},
		},
		Routing: requestlog.Routing{
			Decision: &route.Decision{Input: route.Input{Model: "large-a", PromptSize: route.PromptSize{InputTokens: 12}, PromptParts: route.PromptParts{Messages: 1}}, Micros: 9},
			Attempts: []requestlog.Attempt{
				{Target: requestlog.Target{Provider: "provider-y", Model: "large-a"}, AttemptTiming: requestlog.AttemptTiming{Duration: 12 * time.Second}, AttemptResult: requestlog.AttemptResult{Class: llm.UpstreamConnect, Message: "connection refused"}},
			},
		},
		BodyState: requestlog.BodyDisabledForKey,
	}
}

// Unpriced returns the entry of a request with unknown cost.
func Unpriced() requestlog.Entry {
	at := Noon.Add(-5 * time.Minute)
	return requestlog.Entry{
		ID: RequestID(at, 4), Timing: requestlog.Timing{Time: at, Latency: 90 * time.Millisecond},
		Call:    requestlog.Call{Endpoint: "chat/completions", Requested: "house-model"},
		Routing: requestlog.Routing{Model: "house-model", Provider: "local", DecisionKind: route.Expected},
		Result:  requestlog.Result{Outcome: requestlog.OK, Status: 200},
		Charge:  requestlog.Charge{Usage: llm.Usage{Input: 10, Output: 20}}, BodyState: requestlog.BodyDisabled,
	}
}

// Free returns the entry of a simulated request without cost.
func Free() requestlog.Entry {
	e := Unpriced()
	at := Noon.Add(-4 * time.Minute)
	e.ID, e.Time, e.Model, e.Simulated, e.Cost, e.BaselineCost = RequestID(at, 5), at, "sim-small", true, Nano(0), Nano(0)
	e.BaselineModel, e.BaselineSource = "sim-small", "caller"
	e.Bill = &catalog.Bill{Rows: []catalog.Row{{Class: "input", Tokens: 10}, {Class: "output", Tokens: 20}}}
	e.KeyName = "a key with a rather long name"
	return e
}
