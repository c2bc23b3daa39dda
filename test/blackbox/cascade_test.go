package blackbox

import (
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// TestResponsesThatFailTheirChecksAreReplaced sends requests to the built gateway. The response of the model small is checked. If a
// check fails, the model large serves the request, and the client pays for both responses.
func TestResponsesThatFailTheirChecksAreReplaced(t *testing.T) {
	t.Parallel()
	g, mock := serve(t, "policies: [{name: checked, verify: [schema, tools]}]")
	k := newKey(t, g, "--budget", "1")
	const (
		person  = `"response_format":{"type":"json_schema","json_schema":{"name":"person","schema":{"type":"object","required":["name"]}}}`
		weather = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","required":["city"]}}}]`
		both    = "0.0005508" // 11 input and 4 output tokens of small, and of large
	)
	call := func(arguments string) simulator.Behaviour {
		return simulator.Behaviour{Body: []byte(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",` +
			`"content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":` + quote(arguments) + `}}]}}],"usage":{"prompt_tokens":11,"completion_tokens":4,"total_tokens":15}}`)}
	}
	text := func(pieces ...string) simulator.Behaviour { return simulator.Behaviour{Text: pieces} }
	for _, tc := range []struct {
		name         string
		members      []string
		small, large simulator.Behaviour
		want, checks string
		cost         string
	}{
		{"the schema matches", []string{person}, text(`{"name":"Ada"}`), text(`{"name":"Eve"}`), "Ada", "passed", "0.0000108"},
		{"the schema does not match", []string{person}, text("Ada"), text(`{"name":"Eve"}`), "Eve", "passed", both},
		{"a stream", []string{person, streaming}, text("A", "da"), text(`{"name":`, `"Eve"}`), "Eve", "passed", both},
		{"invalid arguments", []string{weather}, call(`{"town":"Bern"}`), call(`{"city":"Bern"}`), "city", "passed", both},
		{"both fail", []string{person}, text("Ada"), text("Eve"), "Eve", "failed", both},
	} {
		mock.For(small, tc.small)
		mock.For(large, tc.large)
		a := wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small, append(tc.members, `"models":["large"]`)...)}))
		if !strings.Contains(string(a.Body), tc.want) || strings.Contains(string(a.Body), "town") || a.Header.Get("X-Fairlead-Checks") != tc.checks {
			t.Errorf("%s: X-Fairlead-Checks is %q, want %q; body %s, want %q",
				tc.name, a.Header.Get("X-Fairlead-Checks"), tc.checks, a.Body, tc.want)
		}
		id := a.Header.Get("X-Request-Id")
		e := g.Entry(t, id)
		if e.Cost == nil || *e.Cost != tc.cost || (tc.cost == both) != strings.Contains(string(e.Raw), `"check_failed"`) {
			t.Errorf("%s: want cost %s, and check_failed only if both models were called; entry %s", tc.name, tc.cost, e.Raw)
		}
		harness.Eventually(t, "the decision is verified", func() bool {
			_, _, code := g.CLI(t, "verify", id)
			return code == 0
		})
	}
	manage := newKey(t, g, "--scopes", "manage")
	harness.Eventually(t, "the budget has spent both attempts of four requests and one of the fifth", func() bool {
		a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/keys/" + k.ID, Key: manage.Text})
		return strings.Contains(string(a.Body), `"spent_usd":"0.002214"`) && strings.Contains(string(a.Body), `"held_usd":"0"`)
	})
}
