package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// failure returns a response with an error object in the chat format.
func failure(status int, code, message string, headers ...string) simulator.Behaviour {
	b := simulator.Fail(status, headers...)
	b.Body = fmt.Appendf(nil, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
	return b
}

const unsupported = "Unsupported parameter: 'top_p' is not supported with this model."

// ask returns a chat request with additional fields.
func ask(model, more string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"hello"}]` + more + `}`
}

// path lists the targets of the attempts in order.
func path(e *requestlog.Entry) string {
	var list []string
	for _, a := range e.Attempts {
		list = append(list, a.Provider+"/"+a.Model)
	}
	return strings.Join(list, " ")
}

// TestFailureOfOneModelDoesNotExcludeOthers uses one provider with one credential. The provider rejects or limits one of its models.
func TestFailureOfOneModelDoesNotExcludeOthers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		failure simulator.Behaviour
		status  int // status of a request for the failing model while the model backs off
		retry   string
		after   string
	}{
		"403 model_not_found": {failure(403, "model_not_found", "Project does not have access to model small."), 502, "false", ""},
		"403":                 {failure(403, "", "You may not use this model."), 502, "false", ""},
		"404":                 {failure(404, "model_not_found", "The model does not exist."), 502, "false", ""},
		"429":                 {failure(429, "rate_limit_exceeded", "Rate limit reached.", "Retry-After", "40"), 429, "true", "40"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside = true })
				k.alpha.For("small-2026", tc.failure)
				const only = `,"provider":{"only":["alpha"]}`

				for _, body := range []string{ask("small", only+`,"models":["large"]`), ask("auto:cost", only)} {
					got := k.post("/chat/completions", body)
					if e := k.entry(); got.status != 200 || e.Model != "large" {
						t.Errorf("%s: %d by %s: %s", body, got.status, path(e), got.body)
					}
				}
				for range 3 {
					got := k.post("/chat/completions", ask("large", only))
					if e := k.entry(); got.status != 200 || path(e) != "alpha/large" {
						t.Errorf("the other model: %d by %q: %s", got.status, path(e), got.body)
					}
				}
				calls := len(k.alpha.Calls())
				got := k.post("/chat/completions", ask("small", only))
				if got.status != tc.status || got.header.Get("X-Should-Retry") != tc.retry || got.header.Get("Retry-After") != tc.after {
					t.Errorf("the failing model: %d, x-should-retry %s, Retry-After %q: %s", got.status, got.header.Get("X-Should-Retry"), got.header.Get("Retry-After"), got.body)
				}
				if e := k.entry(); e.Latency != 0 || len(k.alpha.Calls()) != calls {
					t.Errorf("model that backs off: %d calls after %s, want %d after 0s", len(k.alpha.Calls()), e.Latency, calls)
				}
			})
		})
	}
}

// TestDeniedModelsCostNoAttempt uses an account that offers one of many models and does not list them, with one attempt per request and a
// budget that pays for a few of the dearest models. The request that learns which models are denied is served like later ones.
func TestDeniedModelsCostNoAttempt(t *testing.T) {
	t.Parallel()
	for name, denial := range map[string]simulator.Behaviour{
		"403": failure(403, "", "You may not use this model."),
		"404": failure(404, "model_not_found", "The model does not exist."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside, k.settings.Attempts.Attempts = true, 1 })
				var targets []*provider.Target
				for i := range 40 {
					m := target(fmt.Sprintf("model-%02d", i), 0.1+float64(i)/10, 0.4+float64(i)/10)
					if targets = append(targets, m); i != 23 {
						k.alpha.For(m.Upstream, denial)
					}
				}
				p := k.provider("alpha", k.alpha, targets...)
				k.gateway.Update(k.settings, route.NewSnapshot(defaultCatalog(t), []*provider.Provider{p}, nil))
				k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar / 5, Period: account.Daily}
				for i := range 3 {
					got := k.post("/chat/completions", ask("auto", ""))
					if e := k.entry(); got.status != 200 || e.Model != "model-23" || e.DecisionKind != route.Expected || i > 0 && len(e.Attempts) > 1 {
						t.Errorf("request %d: %d by %q, %s: %s", i, got.status, path(e), e.DecisionKind, got.body)
					}
				}
			})
		})
	}
}

func TestTargetReadySoonIsRetried(t *testing.T) {
	t.Parallel()
	soon := simulator.Fail(429, "Retry-After-Ms", "300")
	tests := map[string]struct {
		script []simulator.Behaviour
		want   string
		waited time.Duration
	}{
		"429 with a short wait":  {[]simulator.Behaviour{soon}, "alpha/large alpha/large", 330 * time.Millisecond},
		"500 with a short wait":  {[]simulator.Behaviour{simulator.Fail(500, "Retry-After-Ms", "300")}, "alpha/large alpha/large", 330 * time.Millisecond},
		"only once":              {[]simulator.Behaviour{soon, soon}, "alpha/large alpha/large beta/large", 330 * time.Millisecond},
		"429 with a long wait":   {[]simulator.Behaviour{simulator.Fail(429, "Retry-After", "2")}, "alpha/large beta/large", 0},
		"500 without a wait":     {[]simulator.Behaviour{simulator.Fail(500)}, "alpha/large beta/large", 0},
		"a rejected credential":  {[]simulator.Behaviour{simulator.Fail(401, "Retry-After-Ms", "300")}, "alpha/large beta/large", 0},
		"a wait in the sentence": {[]simulator.Behaviour{failure(429, "rate_limit_exceeded", "Please try again in 300ms.")}, "alpha/large alpha/large", 330 * time.Millisecond},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside = true })
				k.alpha.Then(tc.script...)
				got := k.post("/chat/completions", hello)
				if e := k.entry(); got.status != 200 || path(e) != tc.want || e.Wait != tc.waited {
					t.Errorf("%d by %q after waiting %s, want %q after %s: %s", got.status, path(e), e.Wait, tc.want, tc.waited, got.body)
				}
			})
		})
	}
}

// TestRejectionsFallBackWhenTheCallerAllowsIt checks requests for auto, for a list of models and for one model.
func TestRejectionsFallBackWhenTheCallerAllowsIt(t *testing.T) {
	t.Parallel()
	parameter := failure(400, "unsupported_parameter", unsupported)
	policy := failure(400, "content_policy_violation", "flagged")
	tests := map[string]struct {
		failure simulator.Behaviour
		body    string
		status  int
		class   llm.Kind
		calls   int // number of calls to the provider that rejects the request
	}{
		"auto, unsupported parameter":            {parameter, ask("auto:quality", `,"models":["large"]`), 200, llm.UpstreamUnsupported, 1},
		"a list, unsupported parameter":          {parameter, ask("small", `,"models":["large"],"provider":{"order":["alpha","beta"]}`), 200, llm.UpstreamUnsupported, 2},
		"a name, unsupported parameter":          {parameter, ask("large", ""), 400, llm.UpstreamUnsupported, 1},
		"auto, unknown model in words":           {failure(400, "", "Invalid model."), ask("auto:quality", `,"models":["large"]`), 200, llm.UpstreamUnsupported, 1},
		"auto, unknown model":                    {failure(400, "model_not_found", "no"), ask("auto:quality", `,"models":["large"]`), 200, llm.UpstreamNotFound, 1},
		"auto, content policy":                   {policy, ask("auto:quality", ""), 400, llm.UpstreamContentPolicy, 1},
		"a name, content policy":                 {policy, ask("large", ""), 400, llm.UpstreamContentPolicy, 1},
		"a list, content policy":                 {policy, ask("small", `,"models":["large"],"provider":{"order":["alpha","beta"]}`), 200, llm.UpstreamContentPolicy, 2},
		"auto, a request that no target accepts": {failure(400, "invalid_value", "messages must not be empty"), ask("auto:quality", `,"models":["large"]`), 400, llm.UpstreamRejected, 1},
		"auto, a message that quotes a code":     {failure(400, "invalid_value", "Invalid value: 'invalid api key'."), ask("auto:quality", `,"models":["large"]`), 400, llm.UpstreamRejected, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside = true })
				k.alpha.Always(tc.failure)
				got := k.post("/chat/completions", tc.body)
				e := k.entry()
				if got.status != tc.status || len(k.alpha.Calls()) != tc.calls || e.Attempts[0].Class != tc.class {
					t.Errorf("%d by %q, first attempt %+v: %s", got.status, path(e), e.Attempts[0], got.body)
				}
				if tc.status == 200 && e.DecisionKind != route.Fallback {
					t.Errorf("decision %q, want fallback", e.DecisionKind)
				}
				k.alpha.Always(simulator.Behaviour{})
				if got := k.post("/chat/completions", hello); got.status != 200 || len(k.alpha.Calls()) != tc.calls+1 {
					t.Errorf("next request: status %d after %d calls to alpha, want 200 after %d", got.status, len(k.alpha.Calls()), tc.calls+1)
				}
			})
		})
	}
}

func TestParameterThatNoTargetSupportsIsAClientError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside = true })
		k.alpha.Always(failure(400, "unsupported_parameter", unsupported))
		k.beta.Always(failure(422, "unknown_parameter", "Unknown parameter: 'top_p'."))
		got := k.post("/chat/completions", ask("auto:quality", `,"models":["large"]`))
		if e := k.entry(); got.status/100 != 4 || got.header.Get("X-Should-Retry") != "false" || len(e.Attempts) < 2 || e.Outcome != requestlog.ClientError {
			t.Errorf("%d by %q: %s", got.status, path(e), got.body)
		}
	})
}

// TestFailuresOfOneTenantDoNotAffectFallbacksOfOthers has one caller use a target that always fails while another caller's requests fall
// back from a different target.
func TestFailuresOfOneTenantDoNotAffectFallbacksOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside, k.settings.Attempts.Backoff = true, time.Nanosecond })
		k.alpha.For("small-2026", simulator.Fail(http.StatusInternalServerError))
		k.alpha.For("large-2026", simulator.Fail(http.StatusBadGateway), simulator.Behaviour{}, simulator.Fail(http.StatusBadGateway), simulator.Behaviour{}, simulator.Fail(http.StatusBadGateway))
		for range 20 {
			k.post("/chat/completions", withModel("small"))
			k.entry()
			got := k.post("/chat/completions", hello)
			if e := k.entry(); got.status != 200 {
				t.Errorf("status %d by %q, want 200: %s", got.status, path(e), got.body)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}
