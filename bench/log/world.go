//go:build unix

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

const (
	workspaceID = "ws_01JCX5T4M5D9X0Q3W8Z6F2V7RB"
	span        = 30 * 24 * time.Hour
	needle      = "Zanzibar" // occurs in few previews, all of them old
	retired     = "legacy-instruct"
)

// now is the store's clock. It is fixed, so that the data does not depend on the day.
var now = time.Date(2026, 11, 15, 12, 34, 56, 0, time.UTC)

// target is a model at a provider; prices are in nano-dollars per token.
type target struct {
	model, provider string
	input, output   float64
	quick           float64 // median time to first token in milliseconds
	weight          int
}

var targets = []target{
	{"gpt-4.1", "openai", 2000, 8000, 420, 9},
	{"gpt-4.1", "azure", 2000, 8000, 480, 4},
	{"gpt-4.1-mini", "openai", 400, 1600, 310, 22},
	{"gpt-4.1-mini", "azure", 400, 1600, 340, 8},
	{"gpt-4.1-nano", "openai", 100, 400, 240, 12},
	{"claude-sonnet-4.5", "anthropic", 3000, 15000, 720, 9},
	{"claude-sonnet-4.5", "bedrock", 3000, 15000, 810, 3},
	{"claude-haiku-4.5", "anthropic", 1000, 5000, 390, 11},
	{"claude-haiku-4.5", "bedrock", 1000, 5000, 450, 3},
	{"gemini-2.5-pro", "gemini", 1250, 10000, 950, 4},
	{"gemini-2.5-flash", "gemini", 300, 2500, 330, 9},
	{"llama-3.3-70b", "groq", 590, 790, 180, 5},
	{"llama-3.3-70b", "together", 880, 880, 260, 2},
	{"mistral-small", "mistral", 100, 300, 280, 4},
	{"deepseek-v3", "deepseek", 270, 1100, 880, 3},
	{"deepseek-v3", "together", 1250, 1250, 540, 1},
	{"text-embedding-3-small", "openai", 20, 0, 90, 6},
}

var (
	teams     = []string{"search", "support", "billing", "growth", "platform", "research", "mobile", "data"}
	stages    = []string{"prod", "prod", "prod", "prod", "staging", "dev"}
	policies  = []string{"cheap-first", "eu-only", "no-preview-models", "pin-embeddings"}
	clients   = []string{"openai-python/2.8.1", "openai-node/6.9.1", "openai-go/3.8.0", "curl/8.14"}
	requested = []string{"auto", "auto", "auto", "auto", "auto:cost", "auto:quality"}
	verbs     = []string{"Summarise", "Translate", "Explain", "Rewrite", "Classify", "Extract the dates from", "Review", "Answer", "Draft a reply to", "Find the bug in"}
	subjects  = []string{"this ticket", "the attached contract", "the following function", "our release notes", "an angry e-mail", "the meeting's minutes", "this stack trace", "the quarterly report", "a product page", "the customer's question"}
	endings   = []string{"in two sentences", "for a beginner", "as JSON", "in German", "and be brief", "with examples", "step by step", "politely"}
)

// generator generates requests. The requests depend only on the number of rows.
type generator struct {
	rnd   *rand.Rand
	rows  int
	span  time.Duration
	total int // sum of the targets' weights
}

func newGenerator(rows int) *generator {
	g := &generator{rnd: rand.New(rand.NewPCG(15, 1)), rows: rows, span: span}
	for _, t := range targets {
		g.total += t.weight
	}
	return g
}

func (g *generator) chance(share float64) bool { return g.rnd.Float64() < share }

func pick[T any](rnd *rand.Rand, from []T) T { return from[rnd.IntN(len(from))] }

// spread returns a random factor around 1. by is the standard deviation of its logarithm.
func (g *generator) spread(by float64) float64 { return math.Exp(g.rnd.NormFloat64() * by) }

func (g *generator) target() target {
	n := g.rnd.IntN(g.total)
	for _, t := range targets {
		if n -= t.weight; n < 0 {
			return t
		}
	}
	return targets[0]
}

// moment returns the arrival time of request i. Twice as many requests arrive by day as by night.
func (g *generator) moment(i int) time.Time {
	share := float64(i) / float64(g.rows)
	days := share * g.span.Hours() / 24
	_, day := math.Modf(days)
	days += 0.05 * math.Sin(2*math.Pi*day)
	return now.Add(-g.span + time.Duration(days*24*float64(time.Hour))).Truncate(time.Millisecond)
}

// entry generates request i.
func (g *generator) entry(i int) requestlog.Entry {
	at, t := g.moment(i), g.target()
	old := i < g.rows/10
	if old && g.chance(0.01) {
		t.model, t.provider = retired, "openai"
	}
	floor := id.Floor("req", at)
	e := requestlog.Entry{
		ID:    fmt.Sprintf("%s%05d%07d", floor[:len(floor)-12], g.rnd.IntN(100_000), i%10_000_000),
		Owner: requestlog.Owner{WorkspaceID: workspaceID}, Timing: requestlog.Timing{Time: at},
		Call: requestlog.Call{
			Endpoint: "chat/completions", Format: "chat", Stream: g.chance(0.6), Requested: pick(g.rnd, requested),
			Preview: pick(g.rnd, verbs) + " " + pick(g.rnd, subjects) + " " + pick(g.rnd, endings),
		},
		Routing: requestlog.Routing{
			Model: t.model, Provider: t.provider, ServedAs: t.model + "-2026",
			DecisionKind: route.Expected,
			Versions:     route.Versions{Router: "3", Catalog: "2026-11-01"},
		},
		Result:     requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
		Labels:     requestlog.Labels{Session: fmt.Sprintf("s-%06d", max(0, i/8+g.rnd.IntN(200)-100)), EndUser: fmt.Sprintf("u-%05d", g.rnd.IntN(20_000))},
		Connection: requestlog.Connection{Client: pick(g.rnd, clients), IP: fmt.Sprintf("10.1.%d.%d", g.rnd.IntN(256), g.rnd.IntN(256))},
		BodyState:  requestlog.BodyDisabled,
	}
	key := int(math.Abs(g.rnd.NormFloat64()) * 5)
	e.KeyID, e.KeyName = fmt.Sprintf("key_01JCX5T4M5D9X0Q3W8Z6F2V7%02d", key), fmt.Sprintf("service %d", key)
	if g.chance(0.7) {
		e.Tags = map[string]string{"team": pick(g.rnd, teams), "stage": pick(g.rnd, stages)}
	}
	if old && i%(g.rows/100+1) == 7 {
		e.Preview = "Describe the weather in " + needle + "."
		e.Tags = map[string]string{"campaign": "old"}
	}
	if t.output == 0 {
		e.Endpoint, e.Stream, e.Requested = "embeddings", false, t.model
	}
	g.serve(&e, t)
	g.trouble(&e)
	return e
}

// serve sets the tokens, costs, times and the decision of a served request.
func (g *generator) serve(e *requestlog.Entry, t target) {
	e.TTFT = time.Duration(t.quick*g.spread(0.4)*1000) * time.Microsecond
	e.Usage = llm.Usage{Input: int64(600 * g.spread(1.1)), Output: int64(220 * g.spread(0.9))}
	if g.chance(0.25) {
		e.Usage.CacheRead = e.Usage.Input * 3
	}
	e.Latency = e.TTFT + time.Duration(e.Usage.Output)*time.Duration(9*g.spread(0.3)*float64(time.Millisecond))
	e.Overhead = time.Duration(600*g.spread(0.5)) * time.Microsecond
	cost, baseline := price(e.Usage, t), price(e.Usage, targets[0])
	e.Cost, e.BaselineCost, e.BaselineModel, e.BaselineSource = &cost, &baseline, targets[0].model, "default"
	e.Bill = &catalog.Bill{Rows: []catalog.Row{{Class: "input", Tokens: e.Usage.Input, Amount: cost / 2}, {Class: "output", Tokens: e.Usage.Output, Amount: cost - cost/2}}, Total: cost, Source: "catalog", AsOf: "2026-11-01"}
	e.BaselineBill = &catalog.Bill{Total: baseline, Source: "catalog", AsOf: "2026-11-01"}
	e.Attempts = []requestlog.Attempt{{Target: requestlog.Target{Provider: t.provider, Model: t.model, Upstream: e.ServedAs}, AttemptResult: requestlog.AttemptResult{Status: 200}, AttemptTiming: requestlog.AttemptTiming{FirstToken: e.TTFT, Duration: e.Latency}, Usage: &e.Usage, Cost: &cost}}
	e.Decision = g.decision(&cost)
	e.BytesIn, e.BytesOut = e.Usage.Input*4, e.Usage.Output*4
}

func price(u llm.Usage, t target) money.Amount {
	return money.Amount(float64(u.Input)*t.input + float64(u.CacheRead)*t.input/4 + float64(u.Output)*t.output)
}

// decision generates a decision that lists every target, like a decision of the router.
func (g *generator) decision(cost *money.Amount) *route.Decision {
	d := &route.Decision{Kind: route.Expected, Candidates: make([]route.Candidate, 0, len(targets)), Versions: route.Versions{Router: "3", Catalog: "2026-11-01"}, Micros: 40}
	for i, t := range targets {
		c := route.Candidate{Target: t.provider + "/" + t.model, Model: t.model, Provider: t.provider, Quality: g.rnd.Float64()}
		if i < 12 {
			c.Rank, c.Price, c.Latency = i+1, cost, int64(t.quick)
		} else {
			c.Excluded = new(route.NewExclusion(route.MissingCapability, "The model has no "+strings.ToLower(t.model)+"."))
		}
		d.Candidates = append(d.Candidates, c)
	}
	return d
}

// trouble makes some requests fail or fall back.
func (g *generator) trouble(e *requestlog.Entry) {
	switch n := g.rnd.IntN(1000); {
	case n < 50:
		e.DecisionKind, e.Policy = route.Policy, pick(g.rnd, policies)
	case n < 90:
		e.DecisionKind = route.Fallback
		e.Attempts = append([]requestlog.Attempt{{Target: requestlog.Target{Provider: "openai", Model: "gpt-4.1"}, AttemptResult: requestlog.AttemptResult{Status: 503, Class: llm.UpstreamServer, Message: "The server is overloaded."}}}, e.Attempts...)
	case n < 99:
		g.fail(e, requestlog.UpstreamError, pick(g.rnd, []int{502, 502, 503, 504}), "PROVIDER_UPSTREAM_ERROR", "every attempt failed")
	case n < 109:
		g.fail(e, requestlog.Rejected, pick(g.rnd, []int{402, 403, 429, 429}), "RATE_LIMITED", "too many requests")
		e.DecisionKind, e.Model, e.Provider, e.Attempts, e.Decision = "", "", "", nil, nil
	case n < 117:
		g.fail(e, requestlog.ClientError, 400, "INVALID_REQUEST", "messages: must not be empty")
	case n < 122:
		e.Outcome = requestlog.Cancelled
	case n < 124:
		e.Outcome = requestlog.Partial
	case n < 125:
		g.fail(e, requestlog.GatewayError, 500, "INTERNAL_ERROR", "internal error")
	case n < 128:
		e.Cost, e.Bill = nil, nil // a model without a price
	}
}

func (g *generator) fail(e *requestlog.Entry, outcome requestlog.Outcome, status int, code, message string) {
	e.Outcome, e.Status, e.Finish, e.TTFT = outcome, status, "", 0
	e.Error = &requestlog.Failure{Code: code, Message: message, Origin: llm.FromGateway}
	e.Usage, e.Cost, e.Bill, e.BaselineCost, e.BaselineBill = llm.Usage{}, nil, nil, nil, nil
	if outcome != requestlog.Rejected {
		e.Model, e.Provider = "", ""
	}
}
