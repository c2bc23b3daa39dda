package stores

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// SpoolFull is fault case F05: entries that cannot be delivered fill the spool. Further requests are then rejected, and no entry
// is lost.
func SpoolFull(t *testing.T, size scenario.Size) string {
	_, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}}, "spool: {limit: 1MiB}")})
	k, reader := g.Key(t), g.Key(t, "--scopes", "read")
	release := scenario.HoldDatabase(t, g)

	var served []string
	var refused harness.Answer
	body := strings.Replace(scenario.Chat("m"), "Hello", strings.Repeat("text ", 4000), 1)
	for range 400 {
		refused = g.Call(t, harness.Request{Key: k, Body: body})
		if refused.Status != http.StatusOK {
			break
		}
		served = append(served, refused.Header.Get("X-Request-Id"))
	}
	scenario.WantError(t, "request with a full spool", refused, http.StatusServiceUnavailable, "LEDGER_UNAVAILABLE")
	if refused.Header.Get("Retry-After") == "" {
		t.Error("the rejection has no Retry-After")
	}
	if ready := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/readyz"}); ready.Status != http.StatusServiceUnavailable {
		t.Errorf("readyz returned %d while requests are rejected, want 503", ready.Status)
	}
	scenario.Together(4, size.Of(20, 200), func(int) {
		if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")}); a.Status == http.StatusOK {
			t.Error("a request was served although its entry could not be stored")
		}
	})

	release()
	harness.Eventually(t, "requests are served again", func() bool {
		a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("m")})
		if a.Status == http.StatusOK {
			served = append(served, a.Header.Get("X-Request-Id"))
		}
		return a.Status == http.StatusOK
	})
	scenario.Settled(t, g, reader)
	g.Restart(t)
	logged := map[string]bool{}
	for _, r := range scenario.Export(t, g, reader) {
		logged[r.ID] = r.Outcome == "ok"
	}
	lost := 0
	for _, id := range served {
		if !logged[id] {
			lost++
			t.Errorf("the log has no entry for the served request %s", id)
		}
	}
	return fmt.Sprintf("rejected after %d requests; %d of %d lost", len(served)-1, lost, len(served))
}
