package replicas

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// AccountingCases lists the cases about money and keys with one gateway.
func AccountingCases() []scenario.Case {
	return []scenario.Case{
		{ID: "F15", Name: "edits during load", Run: editsDuringLoad},
		{ID: "F34", Name: "revocation during ending requests", Run: revocationRaces},
		{ID: "P03c", Name: "responses limited by a budget", Run: clampedAnswers},
		{ID: "P03u", Name: "a model without a price", Run: unknownPrice},
	}
}

// editsDuringLoad is fault case F15: editing a profile, a key, its budget and its workspace loses no charge.
func editsDuringLoad(t *testing.T, size scenario.Size) string {
	mock, url := harness.Upstream(t)
	fee := harness.Chat("fee", 0, 0, 0.5)
	fee.PerRequest = new(0.001)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url, Models: []harness.Model{fee}}})})
	k, reader, manager := g.NewKey(t, "--budget", "50", "--period", "total"), g.Key(t, "--scopes", "read"), g.Key(t, "--scopes", "manage,inference")
	w := &deployment{gateways: []*harness.Gateway{g, g, g}, mock: mock, client: scenario.Client(t)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var c *tally
	var loading sync.WaitGroup
	loading.Go(func() { c = w.pace(ctx, t, time.Duration(size.Of(10, 2))*time.Millisecond, k, short("fee")) })
	n := size.Of(200, 1000)
	edit(t, n, func(int) *harness.Gateway { return g }, manager, k.ID)
	cancel()
	loading.Wait()
	if others := c.others("served"); len(others) > 0 {
		t.Errorf("unexpected results: %v", others)
	}
	served := int64(c.of("served"))
	harness.Eventually(t, "every fee is counted", func() bool {
		s := scenario.SpendingOf(t, g, reader, k.ID)
		return scenario.Nano(t, s.Budget.Spent) == served*thousandth && scenario.Nano(t, s.Budget.Held) == 0 && scenario.Nano(t, s.Rollup) == served*thousandth
	})
	return fmt.Sprintf("%d edits during %d requests: every fee counted", n, served)
}

// revocationRaces is fault case F34: a key that is revoked while its requests end is never reactivated.
func revocationRaces(t *testing.T, size scenario.Size) string {
	g, _ := scenario.Single(t)
	manager, other := g.Key(t, "--scopes", "manage,inference"), g.NewKey(t)
	c := scenario.Client(t)
	rounds := size.Of(20, 1000)
	var revoked []string
	for round := range rounds {
		k := makeKey(t, g, manager, round)
		revoked = append(revoked, k.Text)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				req, err := scenario.Post(t.Context(), g, k.Text, scenario.Chat("m"))
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
				if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusUnauthorized {
					t.Errorf("round %d: status %d, want 200 or 401", round, resp.StatusCode)
				}
			})
		}
		all.Go(func() {
			if a := g.Call(t, harness.Request{Method: http.MethodDelete, Path: "/api/v1/keys/" + k.ID, Key: manager}); a.Status >= 300 {
				t.Errorf("round %d: revoke: status %d: %s", round, a.Status, scenario.Clip(a.Body))
			}
		})
		all.Wait()
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k.Text}); a.Status != http.StatusUnauthorized {
			t.Fatalf("round %d: request with the revoked key: status %d, want 401", round, a.Status)
		}
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: other.Text}); a.Status != http.StatusOK {
			t.Fatalf("round %d: request with another key: status %d, want 200", round, a.Status)
		}
	}
	g.Restart(t)
	for _, text := range revoked {
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: text}); a.Status != http.StatusUnauthorized {
			t.Fatalf("request with a revoked key after a restart: status %d, want 401", a.Status)
		}
	}
	return fmt.Sprintf("%d rounds: never valid again, also after a restart", rounds)
}

// makeKey creates a key with the admin API, which is faster than a command.
func makeKey(t *testing.T, g *harness.Gateway, manager string, number int) harness.Key {
	t.Helper()
	a := g.Call(t, harness.Request{Path: "/api/v1/keys", Key: manager, Body: fmt.Sprintf(`{"name":"round %d"}`, number)})
	if a.Status >= 300 {
		t.Fatalf("create a key: status %d: %s", a.Status, scenario.Clip(a.Body))
	}
	var made struct{ ID, Secret string }
	harness.Decode(t, a.Body, &made)
	return harness.Key{ID: made.ID, Text: made.Secret}
}

// clampedAnswers checks requests of a key with a budget. If a request has no output limit, the gateway sends the provider a limit that
// a part of the remaining budget can pay for, so that parallel requests find the rest. A request with a larger output limit is rejected.
func clampedAnswers(t *testing.T, _ scenario.Size) string {
	g, mock := scenario.Single(t)
	const dollars, least, most = "0.005", 1024, 3125 // most is what the amount pays for at the price of m
	k := g.NewKey(t, "--budget", dollars, "--period", "total")
	scenario.WantError(t, "an output limit above the budget", g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m", `"max_tokens":4000`)}), http.StatusPaymentRequired, "BUDGET_EXCEEDED")
	if a := g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
		t.Fatalf("request without an output limit: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
	calls := mock.Calls()
	if len(calls) != 1 {
		t.Fatalf("the provider got %d calls, want 1", len(calls))
	}
	var sent struct {
		Most  int64 `json:"max_tokens"`
		Other int64 `json:"max_completion_tokens"`
	}
	harness.Decode(t, calls[0].Body, &sent)
	if got := max(sent.Most, sent.Other); got > most || got < least {
		t.Errorf("the provider received the output limit %d, want %d to %d: %s", got, least, most, scenario.Clip(calls[0].Body))
	}
	return fmt.Sprintf("$%s left: the provider received an output limit of %d tokens", dollars, max(sent.Most, sent.Other))
}

// unknownPrice checks that a model without a price is never served to a key with a budget. Other keys can use it only by its name.
func unknownPrice(t *testing.T, _ scenario.Size) string {
	mock, url := harness.Upstream(t)
	models := []harness.Model{{Name: "unpriced", Kind: "chat", Context: 128_000}, {Name: "vectors", Kind: "embedding", Context: 8000, Dimensions: 2}}
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url, Models: models}}, "allow_unpriced: true")})
	free, bound := g.NewKey(t), g.NewKey(t, "--budget", "1", "--period", "month")
	tried := 0
	for name, r := range map[string]harness.Request{
		"named, on a budget":          {Key: bound.Text, Body: scenario.Chat("unpriced")},
		"streamed, on a budget":       {Key: bound.Text, Body: scenario.Chat("unpriced", scenario.Streaming)},
		"as fallback":                 {Key: bound.Text, Body: scenario.Chat("unpriced", `"models":["unpriced"]`)},
		"vectors, on a budget":        {Key: bound.Text, Path: "/proxy/v1/embeddings", Body: `{"model":"vectors","input":"x"}`},
		"auto, on a budget":           {Key: bound.Text, Body: scenario.Chat("auto")},
		"auto, without a budget":      {Key: free.Text, Body: scenario.Chat("auto")},
		"auto:cost, without a budget": {Key: free.Text, Body: scenario.Chat("auto:cost")},
	} {
		tried++
		scenario.WantError(t, name, g.Call(t, r), http.StatusBadRequest, "NO_ROUTE")
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d calls reached the provider, want 0, because the price is unknown", n)
	}
	if a := g.Call(t, harness.Request{Key: free.Text, Body: scenario.Chat("unpriced")}); a.Status != http.StatusOK {
		t.Errorf("request for the unpriced model without a budget: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
	return fmt.Sprintf("%d ways rejected, 0 provider calls", tried)
}
