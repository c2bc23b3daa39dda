package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

func TestSomeStreamsAreNotContinued(t *testing.T) {
	t.Parallel()
	const head = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[`
	reasoned := head + `{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}`
	called := head + `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a"}}]},"finish_reason":null}]}`
	policy := `{"error":{"message":"flagged","code":"content_policy_violation","type":"invalid_request_error"}}`
	cut := func(events ...string) simulator.Behaviour {
		return simulator.Behaviour{Events: events, CutAfter: len(events), NoDone: true}
	}
	cases := map[string]struct {
		body  string
		first simulator.Behaviour
	}{
		"inside a tool call":            {"", cut(chunk("some"), called)},
		"after reasoning":               {"", cut(reasoned, chunk("some"))},
		"stopped by the content policy": {"", simulator.Behaviour{Events: []string{chunk("some"), policy}, NoDone: true}},
		"several choices":               {`{"model":"large","n":2,"stream":true,"messages":[{"role":"user","content":"hello"}]}`, cut(chunk("some"))},
		"with log probabilities":        {`{"model":"large","logprobs":true,"stream":true,"messages":[{"role":"user","content":"hello"}]}`, cut(chunk("some"))},
		"refusal after text":            {"", cut(chunk("some"), head+`{"index":0,"delta":{"refusal":"no"},"finish_reason":null}]}`)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.prefills("alpha", "beta")
			k.alpha.Always(c.first)
			body := c.body
			if body == "" {
				body = streaming("large")
			}

			got := k.post("/chat/completions", body)

			if !got.failed() || got.whole() || len(k.beta.Calls()) > 0 || len(k.alpha.Calls()) != 1 {
				t.Errorf("%d and %d calls: %s", len(k.alpha.Calls()), len(k.beta.Calls()), got.body)
			}
			if e := k.entry(); e.Outcome != requestlog.Partial || *e.Cost == 0 {
				t.Errorf("outcome %s, cost %s", e.Outcome, e.Cost)
			}
		})
	}
}

func TestErrorAfterTheFinishIsIgnored(t *testing.T) {
	t.Parallel()
	stopped := strings.Replace(chunk(""), `"finish_reason":null`, `"finish_reason":"stop"`, 1)
	for name, b := range map[string]simulator.Behaviour{
		"cut":    {Events: []string{chunk("some"), stopped}, CutAfter: 2, NoDone: true},
		"no end": {Events: []string{chunk("some"), stopped}, NoDone: true},
		"silent": {Events: []string{chunk("some"), stopped}, SilentAfter: 2},
	} {
		for path, body := range map[string]string{
			"/chat/completions": streaming("large"),
			"/messages":         `{"model":"large","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}`,
			"/responses":        `{"model":"large","stream":true,"input":"hello"}`,
		} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, func(k *kit) { k.settings.Attempts.Idle = 100 * time.Millisecond })
				k.alpha.Always(b)

				got := k.post(path, body)

				if got.text() != "some" || !got.whole() || got.failed() || len(k.beta.Calls()) > 0 {
					t.Errorf("text %q: %s", got.text(), got.body)
				}
				if e := k.entry(); e.Outcome != requestlog.OK || e.Finish != "stop" || len(e.Attempts) != 1 || e.Attempts[0].Class != "" {
					t.Errorf("outcome %s, attempts %v", e.Outcome, classes(e))
				}
			})
		}
	}
}

func TestStructuredOutputIsRestartedNotPrefilled(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"JSON":                 `"response_format":{"type":"json_object"},"messages":[{"role":"user","content":"hello"}]`,
		"a thinking model":     `"reasoning_effort":"low","messages":[{"role":"user","content":"hello"}]`,
		"a prefill of its own": `"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"zero "}]`,
		"no room left":         `"max_tokens":1,"messages":[{"role":"user","content":"hello"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.prefills("alpha", "beta")
			for _, target := range k.snapshot.Targets() {
				target.Model.Abilities |= llm.Reasoning
			}
			k.alpha.Always(cutAfterTwo())
			k.beta.Always(simulator.Behaviour{Text: []string{"one two three"}})
			body := `{"model":"large","stream":true,` + more + `}`

			got := k.post("/chat/completions", body)

			if got.text() != "one two three" || !got.whole() {
				t.Fatalf("text %q: %s", got.text(), got.body)
			}
			asked := func(m *simulator.Mock) string { return rawjson.Get(m.Calls()[0].Body, "messages").Raw }
			if asked(k.alpha) != asked(k.beta) {
				t.Errorf("beta received the messages %s, want %s", asked(k.beta), asked(k.alpha))
			}
		})
	}
}

func TestOutputLimitAppliesAcrossAContinuation(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.prefills("beta")
	k.alpha.Always(cutAfterTwo())
	k.beta.Always(simulator.Behaviour{Text: []string{" three"}})

	k.post("/chat/completions", `{"model":"large","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`)

	if left := rawjson.Get(k.beta.Calls()[0].Body, "max_tokens").Int(); left >= 100 || left < 90 {
		t.Errorf("max_tokens for beta = %d, want 90 to 99", left)
	}
}

func TestStreamsTooLongToStoreAreNotContinued(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.settings.BodyLimit = 256 })
	k.alpha.Always(cutAfterTwo())
	k.beta.Always(simulator.Behaviour{Text: []string{"one two three"}})

	got := k.post("/chat/completions", streaming("large"))

	if !got.failed() || len(k.beta.Calls()) > 0 {
		t.Errorf("text %q: %s", got.text(), got.body)
	}
}

func TestBudgetForOneResponsePreventsAContinuation(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.inside = true })
	limit := &account.Budget{Amount: money.Dollar, Period: account.Monthly}
	k.keys.grant.Key.Budget = limit
	k.keys.grant.Workspace.Budget = &account.Budget{Amount: money.Dollar, Period: account.Monthly}
	k.prefills("beta")
	k.alpha.Always(simulator.Behaviour{Text: []string{"one ", "two "}, CutAfter: 3, Before: func(*simulator.Call) {
		limit.Amount = k.ledger.Status(budget.Applied(k.keys.grant)[0]).Held // the limit equals the hold of one request
	}})
	k.beta.Always(simulator.Behaviour{Text: []string{" three"}})

	got := k.post("/chat/completions", `{"model":"large","stream":true,"max_tokens":1080,"messages":[{"role":"user","content":"hello"}]}`)

	if got.status != 200 || !got.failed() || len(k.beta.Calls()) > 0 {
		t.Fatalf("status %d, %d calls: %s", got.status, len(k.beta.Calls()), got.body)
	}
	cost := k.entry().Cost
	if cost == nil || *cost == 0 {
		t.Fatalf("cost of the interrupted response = %v, want a cost", cost)
	}
	applied := budget.Applied(k.keys.grant)
	if len(applied) != 2 {
		t.Fatalf("%d budgets apply, want those of the key and the workspace", len(applied))
	}
	for _, b := range applied {
		if s := k.ledger.Status(b); s.Held != 0 || s.Spent != *cost {
			t.Errorf("%s: %s spent, %s held; want %s spent and nothing held", b.ID, s.Spent, s.Held, *cost)
		}
	}
}

func TestDeadlineEndsARescue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside, k.settings.Attempts.Total = true, 20*time.Second })
		k.prefills("beta")
		k.alpha.Always(cutAfterTwo())
		k.beta.Always(simulator.Behaviour{Silent: true})
		began := time.Now()

		got := k.post("/chat/completions", streaming("large"))

		if took := time.Since(began); took != 20*time.Second || !got.failed() || got.whole() || !strings.Contains(got.body, "PROVIDER_TIMEOUT") {
			t.Errorf("after %s: %s", took, got.body)
		}
		if e := k.entry(); e.Outcome != requestlog.Partial || *e.Cost != *e.Attempts[0].Cost {
			t.Errorf("outcome %s, cost %s", e.Outcome, e.Cost)
		}
	})
}

func TestDisconnectStopsTheRescue(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.Always(cutAfterTwo())
	k.beta.Always(simulator.Behaviour{Silent: true})
	req := k.request(http.MethodPost, "/chat/completions", streaming("large"))
	resp, err := k.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	call, err := k.beta.Await(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}

	_ = resp.Body.Close() // closing the body disconnects the client

	select {
	case <-call.Gone():
	case <-time.After(time.Second):
		t.Fatal("the second call was not closed within a second")
	}
	if e := k.entry(); e.Outcome != requestlog.Cancelled || *e.Cost == 0 || e.Usage.Output == 0 || len(e.Attempts) != 2 {
		t.Errorf("outcome %s, cost %s, usage %+v, attempts %v", e.Outcome, e.Cost, e.Usage, classes(e))
	}
}
