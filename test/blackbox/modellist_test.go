package blackbox

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/harness"
)

// If only the address of a provider is configured, the gateway offers the models that the provider lists. They must be requested by
// name, and models without a price must be allowed.
func TestModelsListedOnlyByTheProvider(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"allow_unpriced: true": true, "allow_unpriced: false": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mock, url := harness.Upstream(t)
			mock.SetModels("house-7b", "house-70b")
			g := harness.Start(t, harness.Options{Config: name + "\nproviders:\n  - {name: house, base_url: \"" + url + "\"}\n"})
			k := g.Key(t)

			var a harness.Answer
			harness.Eventually(t, "the list of models was read", func() bool {
				a = g.Call(t, harness.Request{Key: k, Body: chat("house-7b")})
				return a.Status != http.StatusNotFound
			})
			models := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k})
			var list struct{ Data []struct{ ID string } }
			harness.Decode(t, models.Body, &list)
			listed := slices.ContainsFunc(list.Data, func(m struct{ ID string }) bool { return m.ID == "house-70b" })

			if listed != allowed {
				t.Errorf("the model is listed: %v, want %v: %s", listed, allowed, models.Body)
			}
			if !allowed {
				wantError(t, a, http.StatusBadRequest, "NO_ROUTE")
				return
			}
			calls := mock.Calls()
			if a.Status != http.StatusOK || len(calls) == 0 || calls[len(calls)-1].Model != "house-7b" {
				t.Errorf("got status %d after %d calls, want 200 and a last call of house-7b: %s", a.Status, len(calls), a.Body)
			}
			if a := g.Call(t, harness.Request{Key: k, Body: chat("house/house-70b")}); a.Status != http.StatusOK {
				t.Errorf("request house/house-70b: status %d, want 200: %s", a.Status, a.Body)
			}
			wantError(t, g.Call(t, harness.Request{Key: k, Body: chat("house-1b")}), http.StatusNotFound, "MODEL_NOT_FOUND")
		})
	}
}

// A model that the provider adds later is found while the gateway runs. It is served by name without a price, and auto
// does not choose it until it has a price.
func TestModelsAddedByTheProvider(t *testing.T) {
	t.Parallel()
	mock, url := harness.Upstream(t)
	mock.SetModels(small, large)
	g := harness.Start(t, harness.Options{Config: config(t, url, "catalog: {discover: 1s}", "allow_unpriced: false")})
	k := g.Key(t)
	type newModels struct {
		Provider, Model, Config string
		FirstSeen               time.Time `json:"first_seen"`
	}
	fresh := func() (list []newModels) {
		t.Helper()
		out, stderr, code := g.CLI(t, "models", "new", "--json")
		if code != 0 {
			t.Fatalf("models new: exit code %d: %s", code, stderr)
		}
		for line := range strings.Lines(out) {
			var m newModels
			harness.Decode(t, []byte(line), &m)
			list = append(list, m)
		}
		return list
	}
	wantError(t, g.Call(t, harness.Request{Key: k, Body: chat("next")}), http.StatusNotFound, "MODEL_NOT_FOUND")
	if list := fresh(); len(list) != 0 {
		t.Errorf("models new lists %+v before the provider added a model", list)
	}

	mock.SetModels(small, large, "next")
	harness.Eventually(t, "the new model is listed", func() bool { return len(fresh()) == 1 })
	got := fresh()[0]
	if got.Provider != "alpha" || got.Model != "next" || time.Since(got.FirstSeen) > time.Minute || !strings.Contains(got.Config, "{name: next, input_per_mtok: PRICE") {
		t.Errorf("models new lists %+v, want alpha/next, first seen now, with a configuration", got)
	}
	wantError(t, g.Call(t, harness.Request{Key: k, Body: chat("next")}), http.StatusNotFound, "MODEL_NOT_FOUND")

	g.SetConfig(t, config(t, url, "catalog: {discover: 1s}", "allow_unpriced: true"))
	var a harness.Answer
	harness.Eventually(t, "the model is served by name", func() bool {
		a = g.Call(t, harness.Request{Key: k, Body: chat("next")})
		return a.Status == http.StatusOK
	})
	entry := g.Entry(t, a.Header.Get("x-request-id"))
	if entry.Model != "next" || entry.Cost != nil {
		t.Errorf("the entry must have the model next and no cost: %s", entry.Raw)
	}
	for range 5 {
		if a := g.Call(t, harness.Request{Key: k, Body: chat("auto:cost")}); a.Header.Get("x-fairlead-model") == "next" {
			t.Error("auto chose a model without a price")
		}
	}

	if _, stderr, code := g.CLI(t, "models", "price", "alpha/next", "--input", "0.001", "--output", "0.001"); code != 0 {
		t.Fatalf("models price: exit code %d: %s", code, stderr)
	}
	harness.Eventually(t, "the model has a price", func() bool {
		a = g.Call(t, harness.Request{Key: k, Body: chat("next")})
		return a.Status == http.StatusOK && a.Header.Get("x-fairlead-cost") != ""
	})
	if entry := g.Entry(t, a.Header.Get("x-request-id")); entry.Cost == nil || len(fresh()) != 0 {
		t.Errorf("new models are %+v, want none; the entry must have a cost: %s", fresh(), entry.Raw)
	}
	mock.SetModels()
	if a := g.Call(t, harness.Request{Key: k, Body: chat("next")}); a.Status != http.StatusOK {
		t.Errorf("request after the provider removed the model from its list: status %d, want 200: %s", a.Status, a.Body)
	}
}
