package providers

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// BudgetRace is fault case F10: parallel requests exceed a budget by one request at most.
func BudgetRace(t *testing.T, size scenario.Size) string {
	mock, url := harness.Upstream(t)
	fee := harness.Chat("fee", 0, 0, 0.5)
	fee.PerRequest = new(0.001)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url, Models: []harness.Model{fee}}})})
	n := size.Of(300, 1000)
	budget := fmt.Sprintf("0.%03d", n/10)
	k, reader := g.NewKey(t, "--budget", budget, "--period", "total"), g.Key(t, "--scopes", "read")
	c := scenario.Client(t)

	var served, refused atomic.Int64
	scenario.Together(n, n, func(int) {
		req, err := scenario.Post(t.Context(), g, k.Text, scenario.Chat("fee", `"max_tokens":10`))
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			served.Add(1)
		case http.StatusPaymentRequired, http.StatusTooManyRequests: // 429 while the remaining budget is only reserved
			refused.Add(1)
		default:
			t.Errorf("got status %d, want 200, 402 or 429", resp.StatusCode)
		}
	})

	calls := int64(len(mock.Calls()))
	spent := scenario.SpendingOf(t, g, reader, k.ID)
	bound := scenario.Nano(t, budget) + 1_000_000
	if got := scenario.Nano(t, spent.Budget.Spent); got > bound || got != served.Load()*1_000_000 || scenario.Nano(t, spent.Budget.Held) != 0 {
		t.Errorf("spent %s and held %s for %d served requests of 0.001 with the budget %s",
			spent.Budget.Spent, spent.Budget.Held, served.Load(), budget)
	}
	if calls != served.Load() || served.Load() < int64(n/10) {
		t.Errorf("got %d provider calls, %d served and %d rejected requests, want as many calls as served requests, and at least %d",
			calls, served.Load(), refused.Load(), n/10)
	}
	return fmt.Sprintf("%d concurrent requests on $%s: spent $%s, %d rejected without a call", n, budget, spent.Budget.Spent, refused.Load())
}

// AbsurdLimits is fault case F16: no number in a request makes a reservation negative or overflow.
func AbsurdLimits(t *testing.T, _ scenario.Size) string {
	mock, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}})})
	k, reader := g.NewKey(t, "--budget", "0.01", "--period", "total"), g.Key(t, "--scopes", "read")

	tried := 0
	for _, field := range []string{"max_tokens", "max_completion_tokens", "n"} {
		for _, value := range []string{
			"-1", "0", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e400", "-1e400", "1e18", "1.5", `"10"`, "true", "[1]", "{}", "NaN",
		} {
			tried++
			a := g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m", `"`+field+`":`+value)})
			if a.Status < 400 || a.Status > 403 {
				t.Errorf("%s %s: status %d, want 400 to 403: %s", field, value, a.Status, scenario.Clip(a.Body))
			}
		}
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d invalid requests reached the provider, want 0", n)
	}
	if s := scenario.SpendingOf(t, g, reader, k.ID); scenario.Nano(t, s.Budget.Spent) != 0 || scenario.Nano(t, s.Budget.Held) != 0 {
		t.Errorf("spent %s and held %s, want 0", s.Budget.Spent, s.Budget.Held)
	}
	// null is the same as an absent member, and the budget still suffices for an ordinary request.
	if a := g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m", `"max_tokens":null`, `"n":null`)}); a.Status != http.StatusOK {
		t.Errorf("request with null limits: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
	return fmt.Sprintf("%d rejected, nothing held", tried)
}

// NoBudget is fault case F17: with a budget of 0, no route serves a request that costs money.
func NoBudget(t *testing.T, _ scenario.Size) string {
	mock, url := harness.Upstream(t)
	aliased := "providers:\n  - name: alpha\n    base_url: " + url + "\n    models:\n" +
		"      - {name: m, aliases: [other-name], kind: chat, input_per_mtok: 0.4, output_per_mtok: 1.6, context: 128000}\n" +
		"      - {name: n, kind: chat, input_per_mtok: 0.4, output_per_mtok: 1.6, context: 128000}\n" +
		"      - {name: free-text, kind: chat, input_per_mtok: 0, output_per_mtok: 0.1, context: 128000}\n" +
		"      - {name: e, kind: embedding, input_per_mtok: 0.02, context: 8000, dimensions: 2}\n"
	g := harness.Start(t, harness.Options{Config: aliased})
	k := g.NewKey(t, "--budget", "0", "--period", "month")
	const embeddings = "/proxy/v1/embeddings"

	tried := 0
	for name, r := range map[string]harness.Request{
		"a model":         {Body: scenario.Chat("m")},
		"a stream":        {Body: scenario.Chat("m", scenario.Streaming)},
		"an alias":        {Body: scenario.Chat("other-name")},
		"auto":            {Body: scenario.Chat("auto")},
		"auto:cost":       {Body: scenario.Chat("auto:cost")},
		"fallbacks":       {Body: scenario.Chat("m", `"models":["n"]`)},
		"one token":       {Body: scenario.Chat("m", `"max_tokens":1`)},
		"cheap input":     {Body: scenario.Chat("free-text", `"max_tokens":1`)},
		"folded slashes":  {Path: "/proxy/v1//chat/completions", Body: scenario.Chat("m")},
		"a final slash":   {Path: "/proxy/v1/chat/completions/", Body: scenario.Chat("m")},
		"embeddings":      {Path: embeddings, Body: `{"model":"e","input":"x"}`},
		"auto embeddings": {Path: embeddings, Body: `{"model":"auto","input":["x","y"]}`},
		"token ids":       {Path: embeddings, Body: `{"model":"e","input":[[1,2,3]]}`},
	} {
		tried++
		r.Key = k.Text
		scenario.WantError(t, name, g.Call(t, r), http.StatusPaymentRequired, "BUDGET_EXCEEDED")
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d calls reached the provider with a budget of 0, want 0", n)
	}
	return fmt.Sprintf("%d ways rejected, 0 provider calls", tried)
}
