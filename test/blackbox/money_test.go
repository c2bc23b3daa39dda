package blackbox

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// figures holds the costs and savings of an entry.
type figures struct {
	Decision       *string `json:"decision"`
	Cost           *string `json:"cost_usd"`
	BaselineModel  *string `json:"baseline_model"`
	BaselineSource *string `json:"baseline_source"`
	BaselineCost   *string `json:"baseline_cost_usd"`
	Saved          *string `json:"saved_usd"`
	Tokens         struct {
		Input     int64 `json:"input"`
		CacheRead int64 `json:"cache_read"`
		Output    int64 `json:"output"`
		Reasoning int64 `json:"reasoning"`
		Estimated bool  `json:"estimated"`
	} `json:"tokens"`
	Bill *struct {
		Rows []struct {
			Class  string `json:"class"`
			Tokens *int64 `json:"tokens"`
			Amount string `json:"amount_usd"`
		} `json:"rows"`
		Total string `json:"total_usd"`
	} `json:"bill"`
}

func priced(name string, input, cached, output, quality float64) harness.Model {
	m := harness.Chat(name, input, output, quality)
	m.CacheRead = &cached
	return m
}

// cachedUsage is the usage that a provider reports for a partly cached prompt.
const cachedUsage = `{"prompt_tokens":1237,"completion_tokens":89,"total_tokens":1326,` +
	`"prompt_tokens_details":{"cached_tokens":1024},"completion_tokens_details":{"reasoning_tokens":17}}`

// Costs are compared with values that were computed by hand:
//
//	cheap  213 × 0.15   + 1024 × 0.0375 + 89 × 0.6   µ$ = 31.95 + 38.4 + 53.4     = 0.00012375 $
//	dear   213 × 2.5    + 1024 × 1.25   + 89 × 10    µ$ = 532.5 + 1280 + 890      = 0.0027025 $
//	fine   213 × 0.1234567 …: the digit beyond the nano-dollar is rounded, per row
//	       26.2962771 → 0.000026296, 1024 × 0.0123456 = 12.6418944 → 0.000012642, 89 × 0.7654321 = 68.1234569 → 0.000068123
func TestCostsAreRightToTheLastDigit(t *testing.T) {
	t.Parallel()
	mock, url := harness.Upstream(t)
	mock.Always(simulator.Behaviour{Usage: cachedUsage})
	unpriced := harness.Model{Name: "unpriced", Kind: "chat", Context: 128_000, Quality: 0.1}
	fee := priced("fee", 0.15, 0.0375, 0.6, 0.1)
	fee.PerRequest = new(0.005)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{
			priced("cheap", 0.15, 0.0375, 0.6, 0.9), priced("dear", 2.5, 1.25, 10, 0.3), priced("fine", 0.1234567, 0.0123456, 0.7654321, 0.1),
			unpriced, fee,
		},
	}}, "default_model: dear", "allow_unpriced: true")})
	k := g.Key(t)

	tests := []struct {
		name                            string
		body                            string
		model, cost, baselineCost, save string // empty for null
		source                          string
	}{
		{"auto against the default model", chat("auto"), "cheap", "0.00012375", "0.0027025", "0.00257875", "default"},
		{"a stream costs the same", chat("auto", streaming), "cheap", "0.00012375", "0.0027025", "0.00257875", "default"},
		{"a requested model saves nothing", chat("dear"), "dear", "0.0027025", "0.0027025", "0", "caller"},
		{"digits beyond a nano-dollar", chat("fine"), "fine", "0.000107061", "0.000107061", "0", "caller"},
		{"a fee for each request", chat("fee"), "fee", "0.00512375", "0.00512375", "0", "caller"},
		{"no price", chat("unpriced"), "unpriced", "", "", "", "caller"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := wantOK(t, g.Call(t, harness.Request{Key: k, Body: tt.body}))
			entry := g.Entry(t, answer.Header.Get("X-Request-Id"))
			var got figures
			harness.Decode(t, entry.Raw, &got)
			want := []*string{optional(tt.cost), optional(tt.baselineCost), optional(tt.save)}
			if diff := cmp.Diff(want, []*string{got.Cost, got.BaselineCost, got.Saved}); diff != "" || entry.Model != tt.model {
				t.Errorf("the model is %s, want %s; cost, baseline cost and saved (-want +got):\n%s", entry.Model, tt.model, diff)
			}
			if got.Tokens.Input != 213 || got.Tokens.CacheRead != 1024 || got.Tokens.Output != 89 || got.Tokens.Reasoning != 17 || got.Tokens.Estimated {
				t.Errorf("tokens are %+v, want 213 input, 1024 cache read, 89 output and 17 reasoning, not estimated", got.Tokens)
			}
			if got.BaselineSource == nil || *got.BaselineSource != tt.source {
				t.Errorf("the baseline source must be %s: %s", tt.source, entry.Raw)
			}
			sumsUp(t, got)
		})
	}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// sumsUp checks that the rows of a bill add up to its total, in whole nano-dollars.
func sumsUp(t *testing.T, f figures) {
	t.Helper()
	if f.Cost == nil {
		if f.Bill != nil {
			t.Errorf("the bill of a request without a cost is %+v, want none", f.Bill)
		}
		return
	}
	var sum int64
	for _, row := range f.Bill.Rows {
		sum += nano(t, row.Amount)
	}
	if sum != nano(t, f.Bill.Total) || f.Bill.Total != *f.Cost {
		t.Errorf("rows sum to %d n$, the total of the bill is %s and the cost of the entry %s, want the same", sum, f.Bill.Total, *f.Cost)
	}
}

func TestNegativeSavingIsShown(t *testing.T) {
	t.Parallel()
	mock, url := harness.Upstream(t)
	mock.Always(simulator.Behaviour{Usage: cachedUsage})
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{priced("cheap", 0.15, 0.0375, 0.6, 0.2), priced("dear", 2.5, 1.25, 10, 0.95)},
	}}, "default_model: cheap")})

	answer := wantOK(t, g.Call(t, harness.Request{Key: g.Key(t), Body: chat("auto:quality")}))

	var got figures
	harness.Decode(t, g.Entry(t, answer.Header.Get("X-Request-Id")).Raw, &got)
	if diff := cmp.Diff([]*string{new("0.0027025"), new("0.00012375"), new("-0.00257875")}, []*string{got.Cost, got.BaselineCost, got.Saved}); diff != "" {
		t.Errorf("cost, baseline cost and saved (-want +got):\n%s", diff)
	}
}

func TestUnpricedModelsAreRejectedByDefault(t *testing.T) {
	t.Parallel()
	_, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{{Name: "unpriced", Kind: "chat", Context: 1000}},
	}})})
	k := g.Key(t)
	wantError(t, g.Call(t, harness.Request{Key: k, Body: chat("auto")}), 400, "NO_ROUTE")
	wantError(t, g.Call(t, harness.Request{Key: k, Body: chat("unpriced")}), 400, "NO_ROUTE")
}

// The usage that a provider reports is not trusted.
func TestImplausibleUsageIsReplacedByAnEstimate(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	k := g.Key(t)
	for _, usage := range []string{
		`{"prompt_tokens":-5,"completion_tokens":4,"total_tokens":-1}`,
		`{"prompt_tokens":11,"completion_tokens":-4,"total_tokens":7}`,
		`{"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000,"total_tokens":1}`,
		`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`,
		"none",
	} {
		mock.Then(simulator.Behaviour{Usage: usage})
		answer := wantOK(t, g.Call(t, harness.Request{Key: k, Body: chat(small)}))
		entry := g.Entry(t, answer.Header.Get("X-Request-Id"))
		if !entry.Tokens.Estimated || entry.Cost == nil || nano(t, *entry.Cost) <= 0 || nano(t, *entry.Cost) > 1_000_000 {
			t.Errorf("usage %s: want estimated tokens and a cost of at most 0.001: %s", usage, entry.Raw)
		}
	}
}

// nano parses dollars as whole nano-dollars.
func nano(t *testing.T, dollars string) int64 {
	t.Helper()
	whole, frac, negative := int64(0), int64(0), false
	digits, scale := 0, false
	for i, r := range dollars {
		switch {
		case r == '-' && i == 0:
			negative = true
		case r == '.':
			scale = true
		case r < '0' || r > '9' || digits == 9:
			t.Fatalf("%q is not an amount", dollars)
		case scale:
			frac, digits = frac*10+int64(r-'0'), digits+1
		default:
			whole = whole*10 + int64(r-'0')
		}
	}
	for ; digits < 9; digits++ {
		frac *= 10
	}
	if negative {
		return -(whole*1_000_000_000 + frac)
	}
	return whole*1_000_000_000 + frac
}

func TestCommandLineAndAPIAgree(t *testing.T) {
	t.Parallel()
	mock, url := harness.Upstream(t)
	second, otherURL := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: url, Models: []harness.Model{harness.Chat(small, 0.4, 1.6, 0.6)}},
		{Name: "beta", BaseURL: otherURL, Models: []harness.Model{harness.Chat(small, 0.8, 3.2, 0.6)}},
	})})
	k := g.Key(t)
	tests := []struct {
		name, decision, outcome string
		attempts                int
		script                  func()
	}{
		{"expected", "expected", "ok", 1, func() {}},
		{"fallback", "fallback", "ok", 2, func() { mock.Then(simulator.Fail(500)) }},
		{"failed", "", "client_error", 1, func() { mock.Then(simulator.Fail(400)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.script()
			answer := g.Call(t, harness.Request{Key: k, Body: chat(small)})
			id := answer.Header.Get("X-Request-Id")
			entry := g.Entry(t, id)
			if entry.Decision != tt.decision || entry.Outcome != tt.outcome || len(entry.Attempts) != tt.attempts {
				t.Errorf("the entry has the decision %q, the outcome %q and %d attempts, want %q, %q and %d",
					entry.Decision, entry.Outcome, len(entry.Attempts), tt.decision, tt.outcome, tt.attempts)
			}

			stdout, stderr, code := g.CLI(t, "requests", "show", id, "--json")
			if code != 0 {
				t.Fatalf("requests show: exit code %d\n%s", code, stderr)
			}
			cli, api := members(t, []byte(stdout)), members(t, entry.Raw)
			delete(cli, "preview") // a key with only the read scope does not get the preview
			delete(api, "preview")
			if diff := cmp.Diff(api, cli); diff != "" {
				t.Errorf("the command line differs from the API (-API +CLI):\n%s", diff)
			}
		})
	}
	if len(second.Calls()) != 1 {
		t.Errorf("the second provider got %d calls, want 1", len(second.Calls()))
	}
	if _, stderr, code := g.CLI(t, "requests", "show", "req_01AAAAAAAAAAAAAAAAAAAAAAAA"); code != 1 || stderr == "" {
		t.Errorf("requests show with an unknown ID: exit code %d, want 1 and an error\n%s", code, stderr)
	}
}

func members(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("decode the entry: %v\n%s", err, data)
	}
	return m
}
