package gateway_test

import (
	"net/http"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
)

func TestCountingTokensIsLimitedAndLogged(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.keys.grant.Key.Limits = account.Limits{RequestsPerMinute: 2, TokensPerMinute: 1}
	const body = `{"model":"large","messages":[{"role":"user","content":"how long is this?"}]}`
	for range 2 {
		got := k.post("/messages/count_tokens", body)
		if got.status != http.StatusOK || rawjson.ParseString(got.body).Get("input_tokens").Int() < 4 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		e := k.entry()
		if e.Outcome != requestlog.OK || e.Status != 200 || e.Endpoint != "messages/count_tokens" || e.KeyID != "key_1" || e.Requested != "large" || e.Cost == nil || *e.Cost != 0 {
			t.Errorf("entry %+v", e)
		}
		if e.Usage.Total() != 0 || e.Preview != "" || len(e.Body.Request) > 0 || e.BodyState != requestlog.BodyNone {
			t.Errorf("used %+v, stored %q: %s", e.Usage, e.BodyState, e.Body.Request)
		}
	}
	if got := k.post("/messages/count_tokens", body); got.status != http.StatusTooManyRequests || got.code(t) != "RATE_LIMITED" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if e := k.entry(); e.Outcome != requestlog.Rejected {
		t.Errorf("outcome %q, want Rejected", e.Outcome)
	}
	if len(k.alpha.Calls())+len(k.beta.Calls()) > 0 {
		t.Error("a provider was called")
	}
}

func TestTokensAreCountedForAutoAndUnknownModels(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, model := range []string{"auto", "claude-auto", "auto:cost", "claude-opus-4-1", "large", "unknown"} {
		got := k.post("/messages/count_tokens", `{"model":"`+model+`","messages":[{"role":"user","content":"how long is this?"}]}`, "Anthropic-Beta", "token-counting-2024-11-01")
		if got.status != http.StatusOK || rawjson.ParseString(got.body).Get("input_tokens").Int() < 4 {
			t.Errorf("%s: %d %s", model, got.status, got.body)
		}
	}
}
