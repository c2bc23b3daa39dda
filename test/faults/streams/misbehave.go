package streams

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// misbehaviour is a way in which an upstream misbehaves, with the expected results for clients with and without another
// provider.
type misbehaviour struct {
	name      string
	behaviour simulator.Behaviour
	streams   bool // whether the misbehaviour affects only streams
	rescued   bool // whether it fails after the first token: another provider continues the text, or an error event ends the stream
	helped    bool // whether another provider, if there is one, serves the request
	alone     int  // status without another provider; 0 if the response is complete
	class     string
}

// sameWords returns the text that both providers send, so that one provider can continue the text of the other.
func sameWords() []string { return []string{"one ", "two ", "three ", "four"} }

func misbehaviours() []misbehaviour {
	words := sameWords()
	contextError := []byte(`{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`)
	return []misbehaviour{
		{name: "cut", behaviour: simulator.Behaviour{Text: words, CutAfter: 3}, streams: true, rescued: true, alone: 200, class: "stream_interrupted"},
		{name: "stalled", behaviour: simulator.Behaviour{Text: words, SilentAfter: 3}, streams: true, rescued: true, alone: 200, class: "timeout"},
		{name: "silent", behaviour: simulator.Behaviour{Silent: true}, streams: true, helped: true, alone: 504, class: "timeout"},
		{name: "slow-first-token", behaviour: simulator.Behaviour{Text: words, BeforeEvent: func(c *simulator.Call, i int) {
			if i == 1 {
				select {
				case <-c.Gone():
				case <-time.After(time.Second):
				}
			}
		}}, streams: true, helped: true, class: "timeout"},
		{name: "malformed", behaviour: simulator.Behaviour{Events: []string{scenario.RoleChunk, `{"id":"x","choi`, scenario.TextChunk("one "), "not json", scenario.TextChunk("two "), scenario.TextChunk("three "), scenario.TextChunk("four"), scenario.StopChunk}}, streams: true, helped: true, alone: 502, class: "malformed"},
		{name: "malformed-midway", behaviour: simulator.Behaviour{Events: []string{scenario.RoleChunk, scenario.TextChunk("one "), scenario.TextChunk("two "), "not json", scenario.TextChunk("three "), scenario.TextChunk("four"), scenario.StopChunk}}, streams: true, rescued: true, alone: 200, class: "malformed"},
		{name: "only-malformed", behaviour: simulator.Behaviour{Events: []string{"garbage", `{"id"`}, NoDone: true}, streams: true, helped: true, alone: 502, class: "malformed"},
		{name: "no-done", behaviour: simulator.Behaviour{Text: words, NoDone: true}, streams: true},
		{name: "error-inside-200", behaviour: simulator.Behaviour{Body: []byte(scenario.ErrorData)}, helped: true, alone: 502, class: "server_error"},
		{name: "error-event", behaviour: simulator.Behaviour{Events: []string{scenario.RoleChunk, scenario.ErrorData}, NoDone: true}, streams: true, helped: true, alone: 502, class: "server_error"},
		{name: "resetting", behaviour: simulator.Behaviour{Reset: true}, helped: true, alone: 502, class: "connect"},
		{name: "429-with-header", behaviour: simulator.Fail(429, "Retry-After", "30"), helped: true, alone: 429, class: "rate_limit"},
		{name: "429-without", behaviour: simulator.Fail(429), helped: true, alone: 429, class: "rate_limit"},
		{name: "context-length", behaviour: simulator.Behaviour{Status: 400, Body: contextError}, alone: 400, class: "context_length"},
		{name: "content-policy", behaviour: simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"flagged","code":"content_policy_violation"}}`)}, alone: 400, class: "content_policy"},
		{name: "503", behaviour: simulator.Fail(503), helped: true, alone: 502, class: "overload"},
	}
}

// Misbehaving checks all combinations: whatever an upstream does, the client gets a complete response or a structured
// error within a time limit, and the log records what happened.
func Misbehaving(t *testing.T, _ scenario.Size) string {
	list := misbehaviours()
	g, slowest := startMisbehaving(t, list), time.Duration(0)
	k := g.Key(t)
	tried := 0
	for _, m := range list {
		scenario.Warm(t, g, k, "fine", 60)
		for _, alone := range []bool{false, true} {
			for _, stream := range []bool{true, false} {
				if m.streams && !stream {
					continue
				}
				tried++
				slowest = max(slowest, m.check(t, g, k, stream, alone))
			}
		}
	}
	scenario.Warm(t, g, k, "fine", 60)
	checkRecovery(t, g, k)
	if slowest > 6*time.Second {
		t.Errorf("the slowest request took %s, want at most 6 s", slowest)
	}
	return fmt.Sprintf("%d forms, each a complete response or an error, within %s", tried, slowest.Round(10*time.Millisecond))
}

// startMisbehaving starts a gateway with one provider for each kind of misbehaviour, and with a backup provider that offers the same
// models and does not misbehave.
func startMisbehaving(t *testing.T, list []misbehaviour) *harness.Gateway {
	t.Helper()
	_, fineURL := harness.Upstream(t)
	providers := []harness.Provider{{Name: "spare", BaseURL: fineURL, Models: []harness.Model{harness.Chat("fine", 4, 16, 0.5)}}}
	spare, spareURL := harness.Upstream(t)
	spare.Always(simulator.Behaviour{Text: sameWords()})
	backup := harness.Provider{Name: "backup", BaseURL: spareURL}
	for _, m := range list {
		mock, url := harness.Upstream(t)
		mock.Always(m.behaviour)
		providers = append(providers, harness.Provider{
			Name: "bad-" + m.name, BaseURL: url, APIKeys: []string{"sk-bad-" + m.name + "-0123"}, Models: []harness.Model{harness.Chat(m.name, 0.4, 1.6, 0.5)},
		})
		backup.Models = append(backup.Models, harness.Chat(m.name, 4, 16, 0.5))
	}
	mock, url := harness.Upstream(t)
	mock.For("recovering", simulator.Fail(500), simulator.Fail(503), simulator.Behaviour{Text: sameWords()})
	providers = append(providers, backup, harness.Provider{Name: "bad-recovering", BaseURL: url, Models: []harness.Model{harness.Chat("recovering", 0.4, 1.6, 0.5)}})
	return harness.Start(t, harness.Options{Config: harness.Config(t, providers,
		"timeouts: {first_token: 400ms, idle: 500ms, total: 4s}", "retries: {backoff: 20ms}", "breaker: {failures: 100}")})
}

func (m misbehaviour) check(t *testing.T, g *harness.Gateway, key string, stream, alone bool) time.Duration {
	t.Helper()
	var more []string
	what := m.name
	if stream {
		more = append(more, scenario.Streaming)
		what += " streamed"
	}
	if alone {
		more = append(more, `"provider":{"only":["bad-`+m.name+`"]}`)
		what += " alone"
	}
	began := time.Now()
	a := g.Call(t, harness.Request{Key: key, Body: scenario.Chat(m.name, more...)})
	took := time.Since(began)
	entry := g.Entry(t, a.Header.Get("X-Request-Id"))
	if took > 5*time.Second {
		t.Errorf("%s: the request took %s, want at most 5 s", what, took)
	}
	if m.class != "" && (len(entry.Attempts) == 0 || entry.Attempts[0].Class != m.class) && !backsOff(entry) && (!alone || m.alone != 0) {
		t.Errorf("%s: the attempts in the log are %+v, want the class %s", what, entry.Attempts, m.class)
	}
	m.judge(t, what, a, entry, stream, alone)
	return took
}

// backsOff reports whether no target was tried because the credential was backing off.
func backsOff(e harness.Entry) bool { return len(e.Attempts) == 0 || e.Attempts[0].Class == "" }

func (m misbehaviour) judge(t *testing.T, what string, a harness.Answer, entry harness.Entry, stream, alone bool) {
	t.Helper()
	e := scenario.ReadEvents(strings.NewReader(string(a.Body)))
	whole := a.Status == http.StatusOK && (!stream && strings.Contains(string(a.Body), "four") || stream && e.Done() && e.Text() == "one two three four")
	broken := a.Status == http.StatusOK && stream && e.Failed() != "" && !e.Done()
	refused := a.Status >= 400 && strings.Contains(string(a.Body), `"request_id"`) && a.Header.Get("X-Fairlead-Error-Code") != ""
	switch {
	case !whole && !broken && !refused:
		t.Errorf("%s: got neither a complete response nor an error: status %d, %s", what, a.Status, scenario.Clip(a.Body))
	case whole && entry.Outcome != "ok", broken && entry.Outcome != "partial", refused && entry.Outcome == "ok":
		t.Errorf("%s: the client got status %d (complete %t, interrupted %t), but the outcome in the log is %s",
			what, a.Status, whole, broken, entry.Outcome)
	case !alone && (m.helped || m.rescued) && !whole:
		t.Errorf("%s: status %d, want a complete response from the other provider: %s", what, a.Status, scenario.Clip(a.Body))
	case alone && m.rescued && !whole && !broken, alone && m.alone == 0 && !whole:
		t.Errorf("%s: status %d, want a complete response or, after the first token, an error event: %s",
			what, a.Status, scenario.Clip(a.Body))
	case alone && m.alone >= 400 && a.Status != m.alone && a.Status != http.StatusServiceUnavailable && a.Status != http.StatusBadRequest:
		t.Errorf("%s: status %d, want %d: %s", what, a.Status, m.alone, scenario.Clip(a.Body))
	}
}

// checkRecovery checks that an upstream that fails twice and then responds is retried until it responds.
func checkRecovery(t *testing.T, g *harness.Gateway, key string) {
	t.Helper()
	a := g.Call(t, harness.Request{Key: key, Body: scenario.Chat("recovering", scenario.Streaming)})
	e := scenario.ReadEvents(strings.NewReader(string(a.Body)))
	if a.Status != http.StatusOK || !e.Done() || e.Text() != "one two three four" || a.Header.Get("X-Fairlead-Attempts") != "3" {
		t.Errorf("recovering provider: status %d after %s attempts, want 200 after 3: %s",
			a.Status, a.Header.Get("X-Fairlead-Attempts"), scenario.Clip(a.Body))
	}
}

// PrefillRefused checks that a target that rejects a prefill is retried without it, and that the client does not see
// the rejection.
func PrefillRefused(t *testing.T, _ scenario.Size) string {
	alpha, alphaURL := harness.Upstream(t)
	alpha.Always(simulator.Behaviour{Text: sameWords(), CutAfter: 3})
	beta, betaURL := harness.Upstream(t)
	beta.Always(simulator.Behaviour{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(scenario.ReadAll(r), `"assistant"`) {
			http.Error(w, `{"error":{"message":"last message must be from the user","type":"invalid_request_error"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{scenario.RoleChunk, scenario.TextChunk("one "), scenario.TextChunk("two "), scenario.TextChunk("three "), scenario.TextChunk("four"), scenario.StopChunk, "[DONE]"} {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		}
	})})
	cheap, dear := harness.Chat("m", 0.4, 1.6, 0.5), harness.Chat("m", 4, 16, 0.5)
	dear.Abilities = []string{"tools", "prefill"}
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: alphaURL, Models: []harness.Model{cheap}}, {Name: "beta", BaseURL: betaURL, Models: []harness.Model{dear}},
	})})
	a := g.Call(t, harness.Request{Key: g.Key(t), Body: scenario.Chat("m", scenario.Streaming)})
	e := scenario.ReadEvents(strings.NewReader(string(a.Body)))
	if !e.Done() || e.Text() != "one two three four" || strings.Contains(string(a.Body), "last message") {
		t.Errorf("got status %d, want the complete text without the rejection: %s", a.Status, scenario.Clip(a.Body))
	}
	entry := g.Entry(t, a.Header.Get("X-Request-Id"))
	return fmt.Sprintf("%d attempts, one text", len(entry.Attempts))
}
