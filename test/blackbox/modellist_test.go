package blackbox

import (
	"net/http"
	"slices"
	"testing"

	"fairlead/test/harness"
)

// A provider configured with only an address offers the models it lists, by name, if models without a price are allowed.
func TestModelsThatOnlyTheProviderKnows(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"allow_unpriced: true": true, "allow_unpriced: false": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mock, url := harness.Upstream(t)
			mock.SetModels("house-7b", "house-70b")
			g := harness.Start(t, harness.Options{Config: name + "\nproviders:\n  - {name: house, base_url: \"" + url + "\"}\n"})
			k := g.Key(t)

			var a harness.Answer
			harness.Eventually(t, "the list was read", func() bool {
				a = g.Call(t, harness.Request{Key: k, Body: chat("house-7b")})
				return a.Status != http.StatusNotFound
			})
			models := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/models", Key: k})
			var list struct{ Data []struct{ ID string } }
			harness.Decode(t, models.Body, &list)
			listed := slices.ContainsFunc(list.Data, func(m struct{ ID string }) bool { return m.ID == "house-70b" })

			if listed != allowed {
				t.Errorf("listed is %v: %s", listed, models.Body)
			}
			if !allowed {
				wantError(t, a, http.StatusBadRequest, "NO_ROUTE")
				return
			}
			calls := mock.Calls()
			if a.Status != http.StatusOK || len(calls) == 0 || calls[len(calls)-1].Model != "house-7b" {
				t.Errorf("status %d, %d calls: %s", a.Status, len(calls), a.Body)
			}
			if a := g.Call(t, harness.Request{Key: k, Body: chat("house/house-70b")}); a.Status != http.StatusOK {
				t.Errorf("by provider: status %d: %s", a.Status, a.Body)
			}
			wantError(t, g.Call(t, harness.Request{Key: k, Body: chat("house-1b")}), http.StatusNotFound, "MODEL_NOT_FOUND")
		})
	}
}
