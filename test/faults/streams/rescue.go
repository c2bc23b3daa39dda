package streams

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// breaks returns behaviours of a mock provider whose stream breaks after the text "one two".
func breaks() map[string]simulator.Behaviour {
	partial := []string{scenario.RoleChunk, scenario.TextChunk("one"), scenario.TextChunk(" two")}
	return map[string]simulator.Behaviour{
		"cut":                {Text: []string{"one", " two", " three"}, CutAfter: 3},
		"reset":              {Handler: cutBy(true)},
		"end without finish": {Events: partial, NoDone: true},
		"error event":        {Events: append(slices.Clone(partial), scenario.ErrorData), NoDone: true},
		"silence":            {Text: []string{"one", " two", " three"}, SilentAfter: 3},
	}
}

// RescuedStream is fault case F21 with rescue: another provider continues the exact text, or the stream ends with an error. The
// client never gets a text that no model generated.
func RescuedStream(t *testing.T, _ scenario.Size) string {
	alpha, alphaURL := harness.Upstream(t)
	beta, betaURL := harness.Upstream(t)
	cheap, dear := harness.Provider{Name: "alpha", BaseURL: alphaURL}, harness.Provider{Name: "beta", BaseURL: betaURL}
	prefill, plain := harness.Chat("able", 0.4, 1.6, 0.5), harness.Chat("plain", 0.4, 1.6, 0.5)
	prefill.Abilities = []string{"tools", "prefill"}
	cheap.Models = []harness.Model{prefill, plain}
	dear.Models = []harness.Model{harness.Chat("able", 0.8, 3.2, 0.5), harness.Chat("plain", 0.8, 3.2, 0.5)}
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{cheap, dear}, "breaker: {failures: 1000}", "timeouts: {idle: 300ms}")})
	k := g.Key(t)
	scenario.Warm(t, g, k, "plain", 150) // retries are limited to a share of the traffic

	refusal := simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"This model does not support assistant message prefill.","type":"invalid_request_error"}}`)}
	again := simulator.Behaviour{Text: []string{"one two", " three", " four"}}
	answers := map[string]struct {
		model string
		says  []simulator.Behaviour
		text  string
	}{
		"prefill":          {"able", []simulator.Behaviour{{Text: []string{" three", " four"}}}, "one two three four"},
		"prefill rejected": {"able", []simulator.Behaviour{refusal, again}, "one two three four"},
		"restart":          {"plain", []simulator.Behaviour{again}, "one two three four"},
		"another text":     {"plain", []simulator.Behaviour{{Text: []string{"eins zwei drei"}}}, ""},
	}
	rescued, ended := 0, 0
	var slowest time.Duration
	for cause, broken := range breaks() {
		for name, c := range answers {
			alpha.Then(broken)
			beta.Then(c.says...)
			began := time.Now()
			resp := g.Open(t, harness.Request{Key: k, Body: scenario.Chat(c.model, scenario.Streaming)})
			e := scenario.ReadEvents(resp.Body)
			_ = resp.Body.Close()
			slowest = max(slowest, time.Since(began))
			what := cause + ", " + name
			entry := g.Entry(t, resp.Header.Get("X-Request-Id"))
			if strings.Contains(strings.Join(e.Data, ""), "prefill") {
				t.Errorf("%s: the client received the provider's rejection: %v", what, e.Data)
			}
			if c.text == "" {
				ended++
				if e.Text() != "one two" || e.Done() || e.Failed() == "" || entry.Outcome != "partial" {
					t.Errorf("%s: text %q, outcome %s, want %q, an error event and partial; events %v",
						what, e.Text(), entry.Outcome, "one two", e.Data)
				}
				continue
			}
			rescued++
			if e.Text() != c.text || !e.Done() || entry.Outcome != "ok" || entry.Decision != "fallback" || entry.Provider != "beta" {
				t.Errorf("%s: text %q, outcome %s %s by %s, want %q, ok fallback by beta; events %v",
					what, e.Text(), entry.Outcome, entry.Decision, entry.Provider, c.text, e.Data)
			}
			if ids := answerIDs(e); len(ids) != 1 {
				t.Errorf("%s: the chunks have the IDs %v, want one ID", what, ids)
			}
			if entry.Cost == nil || scenario.Nano(t, *entry.Cost) <= 0 {
				t.Errorf("%s: the entry has no cost: %s", what, entry.Raw)
			}
		}
	}
	return fmt.Sprintf("%d rescued, %d ended with the error, slowest after %s", rescued, ended, slowest.Round(10*time.Millisecond))
}

// answerIDs returns the different IDs in the chunks.
func answerIDs(e scenario.Events) []string {
	var ids []string
	for _, data := range e.Data {
		var chunk struct{ ID string }
		if json.Unmarshal([]byte(data), &chunk) == nil && !slices.Contains(ids, chunk.ID) {
			ids = append(ids, chunk.ID)
		}
	}
	return ids
}
