package streams

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// hangUp closes the connection without a response.
var hangUp = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
})

// EarlyFailures returns the ways in which a provider can fail before the first token.
func EarlyFailures() map[string]simulator.Behaviour {
	return map[string]simulator.Behaviour{
		"reset":           {Reset: true},
		"hang-up":         {Handler: hangUp},
		"500":             simulator.Fail(500),
		"503":             simulator.Fail(503),
		"529":             simulator.Fail(529),
		"429":             simulator.Fail(429),
		"404":             simulator.Fail(404),
		"timeout":         {Silent: true},
		"error-in-200":    {Body: []byte(scenario.ErrorData)},
		"garbage":         {Events: []string{"garbage", `{"id"`}, NoDone: true},
		"error-event":     {Events: []string{scenario.ErrorData}, NoDone: true},
		"role-then-error": {Events: []string{scenario.RoleChunk, scenario.ErrorData}, NoDone: true},
		"role-then-cut":   {Events: []string{scenario.RoleChunk, scenario.TextChunk("never")}, CutAfter: 1},
		"role-then-end":   {Events: []string{scenario.RoleChunk}, NoDone: true},
	}
}

// Pair starts a gateway with two providers of the same models. alpha is cheaper and comes first.
func Pair(t *testing.T, models []string, more ...string) (g *harness.Gateway, alpha, beta *simulator.Mock) {
	t.Helper()
	alpha, alphaURL := harness.Upstream(t)
	beta, betaURL := harness.Upstream(t)
	beta.Always(simulator.Behaviour{Text: []string{"served", " by", " beta"}})
	cheap, dear := harness.Provider{Name: "alpha", BaseURL: alphaURL}, harness.Provider{Name: "beta", BaseURL: betaURL}
	for _, name := range models {
		cheap.Models = append(cheap.Models, harness.Chat(name, 0.4, 1.6, 0.5))
		dear.Models = append(dear.Models, harness.Chat(name, 0.8, 3.2, 0.5))
	}
	return harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{cheap, dear}, more...)}), alpha, beta
}

// FallbackBeforeFirstToken is fault case F19: if a provider fails before the first token, another provider serves the request, and the
// client gets a normal response.
func FallbackBeforeFirstToken(t *testing.T, _ scenario.Size) string {
	failures := EarlyFailures()
	models := []string{"fine", "recovering"}
	for name := range failures {
		models = append(models, name, name+"-whole") // a target backs off after some failures, so each request has its own model
	}
	g, alpha, beta := Pair(t, models, "timeouts: {first_token: 300ms}")
	k := g.Key(t)
	scenario.Warm(t, g, k, "fine", 200)
	tried := 0
	for name, behaviour := range failures {
		alpha.For(name, behaviour)
		alpha.For(name+"-whole", behaviour)
		tried++
		checkFallback(t, g, k, name, scenario.Chat(name, scenario.Streaming))
		if behaviour.Silent || behaviour.Events != nil {
			continue // events apply only to streams, and a non-streamed response may take six times as long
		}
		tried++
		checkFallback(t, g, k, name, scenario.Chat(name+"-whole"))
	}
	alpha.For("recovering", simulator.Fail(500), simulator.Fail(503), simulator.Behaviour{})
	a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("recovering", scenario.Streaming, `"provider":{"only":["alpha"]}`)})
	if e := scenario.ReadEvents(bytes.NewReader(a.Body)); !e.Done() || e.Text() != "Hello from recovering." || a.Header.Get("X-Fairlead-Attempts") != "3" {
		t.Errorf("a provider that recovers: status %d after %s attempts, want the complete text after 3: %s", a.Status, a.Header.Get("X-Fairlead-Attempts"), scenario.Clip(a.Body))
	}
	if n := len(beta.Calls()); n != tried {
		t.Errorf("the second provider got %d calls for %d requests, want one for each", n, tried)
	}
	return fmt.Sprintf("%d requests, each one clean response", tried)
}

func checkFallback(t *testing.T, g *harness.Gateway, key, name, body string) {
	t.Helper()
	resp := g.Open(t, harness.Request{Key: key, Body: body})
	defer resp.Body.Close()
	h := resp.Header
	if resp.StatusCode != http.StatusOK || h.Get("X-Fairlead-Provider") != "beta" || h.Get("X-Fairlead-Decision") != "fallback" || h.Get("X-Fairlead-Attempts") != "2" {
		t.Errorf("%s: status %d by %q, %q after %s attempts, want 200 by beta, fallback after 2",
			name, resp.StatusCode, h.Get("X-Fairlead-Provider"), h.Get("X-Fairlead-Decision"), h.Get("X-Fairlead-Attempts"))
		return
	}
	if !strings.Contains(body, "stream") {
		return
	}
	roles := 0
	e := scenario.ReadEvents(resp.Body)
	for _, data := range e.Data {
		roles += strings.Count(data, `"role":"assistant"`)
	}
	if e.Text() != "served by beta" || !e.Done() || roles != 1 {
		t.Errorf("%s: the stream is %q with %d roles, want %q with 1: %v", name, e.Text(), roles, "served by beta", e.Data)
	}
}

// AllFail is fault case F20: when every target fails, the response has an error status.
func AllFail(t *testing.T, _ scenario.Size) string {
	cases := []struct {
		name      string
		behaviour simulator.Behaviour
		status    int
		code      string
	}{
		{"500", simulator.Fail(500), 502, "PROVIDER_UPSTREAM_ERROR"},
		{"503", simulator.Fail(503), 502, "PROVIDER_UPSTREAM_ERROR"},
		{"401", simulator.Fail(401), 502, "PROVIDER_UPSTREAM_ERROR"},
		{"429", simulator.Fail(429, "Retry-After", "7"), 429, "PROVIDER_RATE_LIMITED"},
		{"reset", simulator.Behaviour{Reset: true}, 502, "PROVIDER_UPSTREAM_ERROR"},
		{"role-then-error", simulator.Behaviour{Events: []string{scenario.RoleChunk, scenario.ErrorData}, NoDone: true}, 502, "PROVIDER_UPSTREAM_ERROR"},
		{"timeout", simulator.Behaviour{Silent: true}, 504, "PROVIDER_TIMEOUT"},
	}
	models := []string{"fine"}
	for _, c := range cases {
		models = append(models, c.name)
	}
	g, alpha, beta := Pair(t, models, "timeouts: {first_token: 300ms, total: 1500ms}", "retries: {backoff: 10ms}")
	k := g.Key(t)
	scenario.Warm(t, g, k, "fine", 200)
	var slowest time.Duration
	for _, c := range cases {
		alpha.For(c.name, c.behaviour)
		beta.For(c.name, c.behaviour)
		began := time.Now()
		a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat(c.name, scenario.Streaming)})
		slowest = max(slowest, time.Since(began))
		f := scenario.WantError(t, c.name, a, c.status, c.code)
		if attempts, _ := f.Details["attempts"].([]any); len(attempts) < 2 {
			t.Errorf("%s: details.attempts is %v, want at least 2 attempts", c.name, f.Details["attempts"])
		}
		if c.status == 429 && a.Header.Get("Retry-After") != "7" {
			t.Errorf("%s: Retry-After is %q, want 7", c.name, a.Header.Get("Retry-After"))
		}
		if entry := g.Entry(t, a.Header.Get("X-Request-Id")); entry.Outcome != "upstream_error" || entry.Error == nil || entry.Error.Code != c.code || entry.Status != c.status {
			t.Errorf("%s: the entry has %s %d %+v, want upstream_error %d %s",
				c.name, entry.Outcome, entry.Status, entry.Error, c.status, c.code)
		}
	}
	return fmt.Sprintf("%d kinds, status within %s", len(cases), slowest.Round(10*time.Millisecond))
}

// InvalidContent is fault case F25: a response with status 200 and invalid content counts as a failure of the provider.
func InvalidContent(t *testing.T, _ scenario.Size) string {
	answers := map[string]simulator.Behaviour{
		"short":      {CutAfter: 40},
		"empty":      {Body: []byte{}, Header: map[string]string{"Content-Type": "application/json"}},
		"null":       {Body: []byte("null")},
		"html":       {Body: []byte("<html><body>Bad gateway</body></html>"), Header: map[string]string{"Content-Type": "text/html"}},
		"wrong-type": {Body: []byte(`["not","an","answer"]`)},
		"text":       {Body: []byte(`"hello"`)},
		"no-choices": {Body: []byte(`{"id":"x","object":"chat.completion","choices":[]}`)},
		"broken":     {Body: []byte(`{"id":"x","choices":[{"index":0,"mess`)},
	}
	models := []string{"fine"}
	for name := range answers {
		models = append(models, name)
	}
	g, alpha, _ := Pair(t, models, "retries: {backoff: 10ms}", "breaker: {failures: 100}")
	k := g.Key(t)
	scenario.Warm(t, g, k, "fine", 300)
	tried := 0
	for name, behaviour := range answers {
		alpha.For(name, behaviour)
		for _, more := range []string{`"n":1`, scenario.Streaming} {
			if behaviour.CutAfter > 0 && more == scenario.Streaming {
				continue // covered by another case
			}
			tried++
			checkFallback(t, g, k, name, scenario.Chat(name, more))
			alone := g.Call(t, harness.Request{Key: k, Body: scenario.Chat(name, more, `"provider":{"only":["alpha"]}`)})
			scenario.WantError(t, name+" alone", alone, http.StatusBadGateway, "PROVIDER_UPSTREAM_ERROR")
			entry := g.Entry(t, alone.Header.Get("X-Request-Id"))
			if len(entry.Attempts) == 0 || entry.Attempts[0].Class == "" || entry.Cost != nil && scenario.Nano(t, *entry.Cost) != 0 {
				t.Errorf("%s: the entry must have a failed attempt and no cost: %s", name, entry.Raw)
			}
		}
	}
	return fmt.Sprintf("%d times another provider served, %d times 502", tried, tried)
}
