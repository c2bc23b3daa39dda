package blackbox

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

const api = "/api/v1"

func TestManualPricesSurviveRestarts(t *testing.T) {
	t.Parallel()
	_, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{{Name: "unpriced", Kind: "chat", Context: 1000}},
	}})})
	k, manager := g.Key(t), g.Key(t, "--scopes", "manage")
	path := api + "/models/unpriced/prices/alpha"
	ask := func() harness.Answer { t.Helper(); return g.Call(t, harness.Request{Key: k, Body: chat("unpriced")}) }
	wantError(t, ask(), 400, "NO_ROUTE")
	wantError(t, g.Call(t, harness.Request{Method: http.MethodDelete, Path: path, Key: manager}), 404, "NOT_FOUND")

	wantOK(t, g.Call(t, harness.Request{Method: http.MethodPut, Path: path, Key: manager, Body: `{"input_per_mtok_usd":"1","output_per_mtok_usd":"2","per_request_usd":"0.5"}`}))

	answer := wantOK(t, ask())
	var got struct {
		Cost string `json:"cost_usd"`
		Bill struct {
			Source string `json:"price_source"`
		}
	}
	harness.Decode(t, g.Entry(t, answer.Header.Get("X-Request-Id")).Raw, &got)
	if nano(t, got.Cost) <= 500_000_000 || got.Bill.Source != "override" {
		t.Errorf("the entry has %+v, want a cost above 0.5 and the price source override", got)
	}
	g.Restart(t)
	wantOK(t, ask())
	if gone := g.Call(t, harness.Request{Method: http.MethodDelete, Path: path, Key: manager}); gone.Status != http.StatusNoContent {
		t.Errorf("remove the price: status %d, want 204: %s", gone.Status, gone.Body)
	}
	wantError(t, ask(), 400, "NO_ROUTE")
}

func TestDisabledProviderIsListedWithItsTraffic(t *testing.T) {
	t.Parallel()
	first, firstURL := harness.Upstream(t)
	_, secondURL := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: firstURL, Models: []harness.Model{harness.Chat(small, 0.4, 1.6, 0.6)}},
		{Name: "beta", BaseURL: secondURL, Models: []harness.Model{harness.Chat(small, 0.8, 3.2, 0.6)}},
	})})
	k, manager := g.Key(t), g.Key(t, "--scopes", "manage")
	first.Then(simulator.Fail(500))
	wantOK(t, g.Call(t, harness.Request{Key: k, Body: chat(small)}))
	rescued := g.Entries(t, "decision=fallback", 1)[0]
	var row struct {
		Reason string `json:"fallback_reason"`
		Source string `json:"source"`
	}
	harness.Decode(t, rescued.Raw, &row)
	if row.Reason != "alpha/small returned a server error (500)" || row.Source != "key" {
		t.Errorf("the entry has %+v, want the reason of the fallback and the source key", row)
	}

	wantOK(t, g.Call(t, harness.Request{Method: http.MethodPatch, Path: api + "/providers/alpha", Key: manager, Body: `{"enabled":false}`}))

	type provider struct {
		Name, Title, Source string
		BaseURL             string `json:"base_url"`
		Enabled             bool
		Traffic             struct {
			Requests, Attempts int64
			Failed             int64    `json:"failed_attempts"`
			Errors             *float64 `json:"error_percent"`
		}
	}
	var got struct{ Providers []provider }
	harness.Decode(t, wantOK(t, g.Call(t, harness.Request{Method: http.MethodGet, Path: api + "/providers", Key: manager})).Body, &got)
	want := make([]provider, 2)
	want[0] = provider{Name: "beta", Title: "beta", Source: "file", BaseURL: secondURL, Enabled: true}
	want[0].Traffic.Requests, want[0].Traffic.Attempts, want[0].Traffic.Errors = 1, 1, new(0.0)
	want[1] = provider{Name: "alpha", Title: "alpha", Source: "file", BaseURL: firstURL}
	want[1].Traffic.Attempts, want[1].Traffic.Failed, want[1].Traffic.Errors = 1, 1, new(100.0)
	if diff := cmp.Diff(want, got.Providers); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

func TestUnknownDefaultModelIsRejected(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	manager := g.Key(t, "--scopes", "manage")
	set := func(body string) harness.Answer {
		t.Helper()
		return g.Call(t, harness.Request{Method: http.MethodPatch, Path: api + "/workspace", Key: manager, Body: body})
	}
	refused := set(`{"default_model":"smal"}`)
	wantError(t, refused, 400, "INVALID_REQUEST")
	var got struct {
		Details struct {
			Param       string
			Suggestions []string
		}
	}
	harness.Decode(t, refused.Body, &got)
	if got.Details.Param != "default_model" || len(got.Details.Suggestions) == 0 || got.Details.Suggestions[0] != small {
		t.Errorf("got %+v, want the parameter default_model and the suggestion %s", got, small)
	}
	for _, body := range []string{`{"default_model":"small"}`, `{"default_model":"gpt-4.1"}`, `{"default_model":null}`} {
		wantOK(t, set(body))
	}
}
