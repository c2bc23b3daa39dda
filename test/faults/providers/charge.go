package providers

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/faults/streams"
	"fairlead.dev/test/harness"
)

// failureClasses returns the ways in which a request can fail without any output.
func failureClasses() map[string]simulator.Behaviour {
	all := streams.EarlyFailures()
	all["400"] = simulator.Fail(400)
	all["401"] = simulator.Fail(401)
	all["content-policy"] = simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"flagged","code":"content_policy_violation"}}`)}
	all["context"] = simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"maximum context length is 10 tokens","code":"context_length_exceeded"}}`)}
	all["html"] = simulator.Behaviour{Body: []byte("<html>"), Header: map[string]string{"Content-Type": "text/html"}}
	return all
}

// FailedCharges is fault case F13: a failed request releases its hold and costs no more than the delivered output.
func FailedCharges(t *testing.T, size scenario.Size) string {
	classes := failureClasses()
	names := slices.Sorted(maps.Keys(classes))
	mock, url := harness.Upstream(t)
	p := harness.Provider{Name: "alpha", BaseURL: url}
	for _, name := range names {
		p.Models = append(p.Models, harness.Chat(name, 0.4, 1.6, 0.5))
		mock.For(name, classes[name])
	}
	cut := harness.Chat("cut", 0.4, 1.6, 0.5)
	p.Models = append(p.Models, cut)
	mock.For("cut", simulator.Behaviour{Text: []string{"one ", "two ", "three "}, CutAfter: 3})
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{p},
		"timeouts: {first_token: 100ms, total: 300ms}", "retries: {attempts: 1}", "breaker: {failures: 1000}", "rescue: off")})
	k, reader := g.NewKey(t, "--budget", "1000", "--period", "total"), g.Key(t, "--scopes", "read")
	n := size.Of(3, 100)
	for _, name := range names {
		scenario.Together(4, n, func(int) {
			if a := g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat(name, scenario.Streaming)}); a.Status == http.StatusOK {
				t.Errorf("%s: got status 200, want an error: %s", name, scenario.Clip(a.Body))
			}
		})
		released(t, size, g, reader, k.ID, name)
		if s := scenario.SpendingOf(t, g, reader, k.ID); scenario.Nano(t, s.Budget.Spent) != 0 {
			t.Fatalf("%s: %s was charged, want 0", name, s.Budget.Spent)
		}
	}
	a := g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("cut", scenario.Streaming)})
	released(t, size, g, reader, k.ID, "cut")
	entry := g.Entry(t, a.Header.Get("X-Request-Id"))
	s := scenario.SpendingOf(t, g, reader, k.ID)
	if entry.Cost == nil {
		t.Fatalf("interrupted response: the entry has no cost: %s", entry.Raw)
	}
	if entry.Outcome != "partial" || entry.Tokens.Output == 0 || entry.Tokens.Output > 4 || scenario.Nano(t, s.Budget.Spent) != scenario.Nano(t, *entry.Cost) {
		t.Errorf("interrupted response: outcome %s with %d tokens, cost %s, charged %s; want partial with 1 to 4 tokens, and the cost charged",
			entry.Outcome, entry.Tokens.Output, *entry.Cost, s.Budget.Spent)
	}
	return fmt.Sprintf("%d classes × %d: nothing held after a second, nothing charged; an interrupted response %s", len(names), n, *entry.Cost)
}

// released waits until no amount of the key's budget is held, for at most a second in the full form.
func released(t *testing.T, size scenario.Size, g *harness.Gateway, reader, id, what string) {
	t.Helper()
	for began := time.Now(); scenario.Nano(t, scenario.SpendingOf(t, g, reader, id).Budget.Held) != 0; {
		if time.Since(began) > size.Limit(time.Second) {
			t.Fatalf("%s: %s is held after %s, want 0", what, scenario.SpendingOf(t, g, reader, id).Budget.Held, size.Limit(time.Second))
		}
		time.Sleep(20 * time.Millisecond) // another process cannot be watched with a fake clock
	}
}

// PaidTwice is fault case F14: the client pays only for the target that responded, and the operator sees the cost of both.
func PaidTwice(t *testing.T, size scenario.Size) string {
	const usage = `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":6,"total_tokens":17}}`
	g, alpha, _ := streams.Pair(t, []string{"m"}, "breaker: {failures: 1000}")
	alpha.For("m", simulator.Behaviour{Events: []string{scenario.RoleChunk, usage, scenario.ErrorData}, NoDone: true})
	k, reader := g.NewKey(t, "--budget", "1000", "--period", "total"), g.Key(t, "--scopes", "read")
	var sum int64
	figures := ""
	for _, model := range []string{"m"} {
		for range size.Of(3, 9) { // with little traffic, at most ten retries are allowed
			a := g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat(model, scenario.Streaming)})
			if a.Status != http.StatusOK || a.Header.Get("X-Fairlead-Provider") != "beta" {
				t.Fatalf("%s: status %d from %q, want 200 from beta: %s",
					model, a.Status, a.Header.Get("X-Fairlead-Provider"), scenario.Clip(a.Body))
			}
			entry := g.Entry(t, a.Header.Get("X-Request-Id"))
			var detail struct {
				Operator string `json:"operator_cost_usd"`
				Attempts []struct {
					Cost *string `json:"cost_usd"`
				} `json:"attempts"`
			}
			harness.Decode(t, entry.Raw, &detail)
			if entry.Cost == nil || len(detail.Attempts) != 2 || detail.Attempts[0].Cost == nil || detail.Attempts[1].Cost == nil {
				t.Fatalf("%s: the entry must have a cost and two attempts with costs: %s", model, entry.Raw)
			}
			first, second := scenario.Nano(t, *detail.Attempts[0].Cost), scenario.Nano(t, *detail.Attempts[1].Cost)
			if first == 0 || scenario.Nano(t, *entry.Cost) != second || scenario.Nano(t, detail.Operator) != first+second {
				t.Errorf("%s: the client pays %s and the operator %s, want the second and the sum of %d and %d n$",
					model, *entry.Cost, detail.Operator, first, second)
			}
			sum += second
			figures = fmt.Sprintf("client pays %s, operator %s", *entry.Cost, detail.Operator)
		}
		time.Sleep(time.Duration(size.Of(0, 11)) * time.Second) // wait until ten retries are allowed again
	}
	if s := scenario.SpendingOf(t, g, reader, k.ID); scenario.Nano(t, s.Budget.Spent) != sum || scenario.Nano(t, s.Budget.Held) != 0 {
		t.Errorf("the ledger has spent %s and holds %s, want %d n$ as in the entries and 0", s.Budget.Spent, s.Budget.Held, sum)
	}
	return figures
}
