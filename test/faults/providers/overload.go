package providers

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// shed reports whether a request was rejected because of overload.
func shed(s scenario.Shot) bool {
	return s.Status == http.StatusServiceUnavailable && s.Code == "OVERLOADED" && s.RetryAfter != ""
}

// watchAdmin requests the health endpoints and a page of the admin API while other requests are shed.
func watchAdmin(t testing.TB, g *harness.Gateway, reader string, d time.Duration) {
	for began := time.Now(); time.Since(began) < d; time.Sleep(100 * time.Millisecond) {
		for _, path := range []string{"/health", "/readyz", "/api/v1/providers"} {
			if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: path, Key: reader}); a.Status != http.StatusOK {
				t.Errorf("%s under overload: status %d, want 200: %s", path, a.Status, scenario.Clip(a.Body))
			}
		}
	}
}

// FloodOfOne is fault case F48: above its limit of concurrent requests, a gateway rejects requests immediately. A flood of requests with
// one key affects neither another key nor the admin API, and the gateway recovers soon afterwards.
func FloodOfOne(t *testing.T, size scenario.Size) string {
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: harness.Serve(t, scenario.Paced(20)) + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)},
	}}, "limits: {concurrent: 64}")})
	a, b, reader := g.Key(t), g.Key(t), g.Key(t, "--scopes", "read")
	d := time.Duration(size.Of(4, 60)) * time.Second
	plain := scenario.Chat("plain")
	calm := scenario.Fire(t, g, b, plain, 20, d/2)

	var flood []scenario.Shot
	var running sync.WaitGroup
	running.Go(func() { flood = scenario.Fire(t, g, a, plain, size.Of(1000, 2500), d) })
	running.Go(func() { watchAdmin(t, g, reader, d) })
	during := scenario.Fire(t, g, b, plain, 20, d-200*time.Millisecond)
	running.Wait()
	time.Sleep(time.Duration(size.Of(1, 3)) * time.Second) // the gateway must recover within this time
	after := scenario.Fire(t, g, b, plain, 20, 2*time.Second)

	p99 := func(all []scenario.Shot, holds func(scenario.Shot) bool) time.Duration {
		return scenario.Quantile(scenario.Times(all, holds), 0.99).Round(time.Millisecond)
	}
	for name, all := range map[string][]scenario.Shot{"during": during, "after": after} {
		if good := len(scenario.Times(all, scenario.Answered)); good != len(all) {
			t.Errorf("%d of %d requests of the other key were served %s the flood", good, len(all), name)
		}
		if took, before := p99(all, scenario.Answered), p99(calm, scenario.Answered); size.Strict() && took > 2*before+10*time.Millisecond {
			t.Errorf("p99 of the other key is %s %s the flood and %s before it", took, name, before)
		}
	}
	served, refused := scenario.Times(flood, scenario.Answered), scenario.Times(flood, shed)
	for _, s := range flood {
		if s.Status != http.StatusOK && (s.Status != http.StatusServiceUnavailable || s.RetryAfter == "") {
			t.Errorf("request after %s: got %d %s, want 200, or 503 with Retry-After", s.Sent, s.Status, s.Code)
		}
	}
	if len(served) == 0 || len(refused) == 0 {
		t.Errorf("%d requests of the flood were served and %d rejected, want at least 1 of each", len(served), len(refused))
	}
	if took := p99(flood, shed); size.Strict() && took > 50*time.Millisecond {
		t.Errorf("p99 of the rejections is %s, want at most 50 ms", took)
	}
	return fmt.Sprintf("the other key %d of %d, p99 %s (unloaded %s); of the flood %d served and %d shed with p99 %s; afterwards p99 %s", len(during), len(during),
		p99(during, scenario.Answered), p99(calm, scenario.Answered), len(served), len(refused), p99(flood, shed), p99(after, scenario.Answered))
}
