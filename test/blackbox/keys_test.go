package blackbox

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

// second is the time limit for a key change to take effect, including the command that makes the change.
const second = time.Second

func TestKeyCreatedBeforeStartWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := harness.CLI(t, harness.Options{DataDir: dir}, "keys", "create", "--name", "ci", "--json")
	if code != 0 {
		t.Fatalf("keys create: exit code %d\n%s", code, stderr)
	}
	var made key
	harness.Decode(t, []byte(stdout), &made)

	g := harness.Start(t, harness.Options{DataDir: dir})

	wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models", Key: made.Text}))
}

func TestKeyCreatedWhileRunningWorksImmediately(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	for range 3 {
		k := newKey(t, g)
		wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))
	}
}

func TestQuietFlagPrintsOnlyTheKey(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	stdout, stderr, code := g.CLI(t, "keys", "create", "--name", "ci", "--quiet")
	if code != 0 || stderr != "" || len(stdout) < 30 || stdout[:3] != "fl_" {
		t.Fatalf("keys create --quiet: exit code %d, want 0 and only the key on stdout\nstdout: %q\nstderr: %q", code, stdout, stderr)
	}
	wantOK(t, g.Call(t, harness.Request{Key: stdout[:len(stdout)-1], Body: chat(small)}))
}

func TestRevokedKeyIsRefusedWithinASecond(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	k, other := newKey(t, g), newKey(t, g)
	wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))

	if _, stderr, code := g.CLI(t, "keys", "revoke", k.Name, "--yes"); code != 0 {
		t.Fatalf("keys revoke: exit code %d\n%s", code, stderr)
	}
	revoked := time.Now()
	var answer harness.Answer
	harness.Eventually(t, "the key is rejected", func() bool {
		answer = g.Call(t, harness.Request{Key: k.Text, Body: chat(small)})
		return answer.Status != http.StatusOK
	})

	wantError(t, answer, http.StatusUnauthorized, "REVOKED_API_KEY")
	if took := time.Since(revoked); took > second {
		t.Errorf("the key was rejected %s after the revocation, want at most %s", took, second)
	}
	// The first rejected request may have been running when the key was revoked, so its call may still reach the provider. The request
	// below is sent later and must not reach the provider.
	const later = "Sent after the revocation"
	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: strings.Replace(chat(small), "Hello", later, 1)}), http.StatusUnauthorized, "REVOKED_API_KEY")
	wantOK(t, g.Call(t, harness.Request{Key: other.Text, Body: chat(small)}))
	if slices.ContainsFunc(mock.Calls(), func(c *simulator.Call) bool { return bytes.Contains(c.Body, []byte(later)) }) {
		t.Error("a request with a revoked key reached the provider")
	}
	g.Restart(t)
	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}), http.StatusUnauthorized, "REVOKED_API_KEY")
}

func TestRotatedKeyHasAGracePeriod(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	old := newKey(t, g)

	renewed := keyCommand(t, g, "keys", "rotate", old.Name, "--grace", "2s", "--json")

	if renewed.ID != old.ID || renewed.Text == old.Text {
		t.Fatalf("keys rotate: got %+v for %+v, want the same ID and another secret", renewed, old)
	}
	wantOK(t, g.Call(t, harness.Request{Key: renewed.Text, Body: chat(small)}))
	wantOK(t, g.Call(t, harness.Request{Key: old.Text, Body: chat(small)}))
	harness.Eventually(t, "the old secret is rejected", func() bool {
		return g.Call(t, harness.Request{Key: old.Text, Body: chat(small)}).Status == http.StatusUnauthorized
	})
	wantOK(t, g.Call(t, harness.Request{Key: renewed.Text, Body: chat(small)}))
}

func TestKeyRotatedWithoutGraceEndsImmediately(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	old := newKey(t, g)
	renewed := keyCommand(t, g, "keys", "rotate", old.ID, "--json")
	rotated := time.Now()
	harness.Eventually(t, "the old secret is rejected", func() bool {
		return g.Call(t, harness.Request{Key: old.Text, Body: chat(small)}).Status == http.StatusUnauthorized
	})
	if took := time.Since(rotated); took > second {
		t.Errorf("the old secret was rejected after %s, want at most %s", took, second)
	}
	wantOK(t, g.Call(t, harness.Request{Key: renewed.Text, Body: chat(small)}))
}

func TestExpiredKeyIsRefused(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := newKey(t, g, "--expires", "2s")
	wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))
	var answer harness.Answer
	harness.Eventually(t, "the key expires", func() bool {
		answer = g.Call(t, harness.Request{Key: k.Text, Body: chat(small)})
		return answer.Status != http.StatusOK
	})
	wantError(t, answer, http.StatusUnauthorized, "EXPIRED_API_KEY")
}

func TestScopesAndModelsOfAKeyAreEnforced(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	reader, narrow := newKey(t, g, "--scopes", "read"), newKey(t, g, "--models", "sma*")

	wantError(t, g.Call(t, harness.Request{Key: reader.Text, Body: chat(small)}), http.StatusForbidden, "SCOPE_DENIED")
	f := wantError(t, g.Call(t, harness.Request{Key: narrow.Text, Body: chat(large)}), http.StatusForbidden, "MODEL_NOT_ALLOWED")
	if f.Details["param"] != "model" {
		t.Errorf("details.param is %v, want model", f.Details["param"])
	}
	answer := wantOK(t, g.Call(t, harness.Request{Key: narrow.Text, Body: chat("auto:quality")}))

	if got := answer.Header.Get("X-Fairlead-Model"); got != small {
		t.Errorf("auto chose %q, want %q, the only model that the key allows", got, small)
	}
	for _, call := range mock.Calls() {
		if call.Model != small {
			t.Errorf("the model %s was called, want only %s", call.Model, small)
		}
	}
	var list struct{ Data []struct{ ID string } }
	harness.Decode(t, wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models", Key: narrow.Text})).Body, &list)
	for _, m := range list.Data {
		if m.ID == large {
			t.Errorf("the list of models contains %s, which the key does not allow", large)
		}
	}
}

func TestRequestsPerMinuteAreLimited(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	k := newKey(t, g, "--rpm", "3")
	for range 3 {
		wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))
	}

	answer := g.Call(t, harness.Request{Key: k.Text, Body: chat(small)})

	f := wantError(t, answer, http.StatusTooManyRequests, "RATE_LIMITED")
	if f.Details["limit"] == nil || f.Details["retryable"] != true {
		t.Errorf("details are %v, want a limit and retryable", f.Details)
	}
	if wait, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
		t.Errorf("Retry-After is %q, want 1 to 60", answer.Header.Get("Retry-After"))
	}
	if n := len(mock.Calls()); n != 3 {
		t.Errorf("%d calls reached the provider, want 3", n)
	}
}

func TestConcurrentRequestsOfAKeyAreBounded(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	behaviour, release := pause(t, 2, "one", " two")
	mock.For(large, behaviour)
	k := newKey(t, g, "--concurrent", "1")
	running := open(t, g, harness.Request{Key: k.Text, Body: chat(large, streaming)})
	running.next()

	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}), http.StatusTooManyRequests, "RATE_LIMITED")
	release()
	if events := running.rest(); !slices.Contains(events, "[DONE]") {
		t.Errorf("the running stream ended with %v, want [DONE]", events)
	}

	harness.Eventually(t, "another request is served", func() bool {
		return g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}).Status == http.StatusOK
	})
}

func TestBudgetOfAKeyIsEnforced(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	// One response of the mock costs 11 × 0.4 + 4 × 1.6 µ$ = 0.0000108 $.
	k := newKey(t, g, "--budget", "0.00002", "--period", "total")

	answer := g.Call(t, harness.Request{Key: k.Text, Body: chat(small, `"max_tokens":100`)})

	f := wantError(t, answer, http.StatusPaymentRequired, "BUDGET_EXCEEDED")
	if f.Details["retryable"] != false || answer.Header.Get("Retry-After") != "" {
		t.Errorf("details are %v and headers %v, want not retryable and no Retry-After", f.Details, answer.Header)
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d calls reached the provider, want 0", n)
	}
	entry := g.Entry(t, answer.Header.Get("X-Request-Id"))
	if entry.Outcome != "rejected" || entry.Error == nil || entry.Error.Code != "BUDGET_EXCEEDED" || entry.Cost != nil {
		t.Errorf("the entry must have the outcome rejected, the error BUDGET_EXCEEDED and no cost: %s", entry.Raw)
	}
	// The budget blocks model calls, but not the admin API.
	reader := newKey(t, g, "--scopes", "inference,read", "--budget", "0", "--period", "total")
	wantError(t, g.Call(t, harness.Request{Key: reader.Text, Body: chat(small)}), http.StatusPaymentRequired, "BUDGET_EXCEEDED")
	wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/api/v1/requests", Key: reader.Text}))
}

func TestRaisedBudgetAppliesToTheNextRequest(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	manager := newKey(t, g, "--scopes", "manage,inference")
	k := newKey(t, g, "--budget", "0", "--period", "total")
	wantError(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}), http.StatusPaymentRequired, "BUDGET_EXCEEDED")

	wantOK(t, g.Call(t, harness.Request{
		Method: "PATCH", Path: "/api/v1/keys/" + k.ID, Key: manager.Text,
		Body: `{"budget":{"amount_usd":"5","period":"total"}}`,
	}))

	wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: chat(small)}))
}
