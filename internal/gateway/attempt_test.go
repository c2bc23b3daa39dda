package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// The limit for stored bodies applies to the text, not to the events that contain the text.
func TestLongStreamIsStoredByTheLengthOfItsText(t *testing.T) {
	t.Parallel()
	words := slices.Repeat([]string{"heave ", "the ", "line "}, 500) // about 8 KB of text in 350 KB of events
	for name, c := range map[string]struct {
		limit int64
		whole bool
	}{"fits": {16 << 10, true}, "does not fit": {4 << 10, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, func(k *kit) { k.settings.BodyLimit = c.limit })
			k.alpha.Always(simulator.Behaviour{Text: words})

			k.post("/chat/completions", streaming("large"))

			e := k.entry()
			kept := strings.Count(string(e.Body.Response), "heave ")
			warned := slices.ContainsFunc(e.Warnings, func(w string) bool { return strings.Contains(w, "only the beginning") })
			if whole := kept == 500; whole != c.whole || warned == c.whole || kept == 0 {
				t.Errorf("%d of 500 are kept in %d bytes, warnings %q", kept, len(e.Body.Response), e.Warnings)
			}
		})
	}
}

func TestErrorStatusReflectsTheFailuresOfAllAttempts(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		failure simulator.Behaviour
		status  int
		code    string
		calls   int
	}{
		{"server errors", simulator.Fail(500), 502, "PROVIDER_UPSTREAM_ERROR", 3},
		{"rejected credential", simulator.Fail(401), 502, "PROVIDER_UPSTREAM_ERROR", 1},
		{"rate limit with a short wait", simulator.Fail(429, "Retry-After", "0"), 429, "PROVIDER_RATE_LIMITED", 3},
		{"rate limit with a long wait", simulator.Fail(429, "Retry-After", "30"), 429, "PROVIDER_RATE_LIMITED", 1},
		{"invalid request", simulator.Fail(400), 400, "PROVIDER_UPSTREAM_ERROR", 1},
		{"invalid values", simulator.Fail(422), 422, "PROVIDER_UPSTREAM_ERROR", 1},
		{"context", simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`)}, 400, "CONTEXT_TOO_LONG", 1},
		{"content policy", simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"flagged","code":"content_policy_violation"}}`)}, 400, "PROVIDER_UPSTREAM_ERROR", 1},
		{"garbage", simulator.Behaviour{Body: []byte("garbage")}, 502, "PROVIDER_UPSTREAM_ERROR", 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.alpha.Always(c.failure)

			got := k.post("/chat/completions", withModel("small"))

			if got.status != c.status || got.code(t) != c.code {
				t.Fatalf("got %d %s, want %d %s: %s", got.status, got.code(t), c.status, c.code, got.body)
			}
			checkErrorShape(t, got)
			if advised := strings.Contains(got.body, "Retry the request"); advised != (got.header.Get("X-Should-Retry") == "true") {
				t.Errorf("x-should-retry = %q does not match the message: %s", got.header.Get("X-Should-Retry"), got.body)
			}
			if n := len(k.alpha.Calls()); n != c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			if strings.Contains(got.body, "sk-provider-secret") {
				t.Error("the response contains a credential")
			}
			e := k.entry()
			if (e.Cost != nil && *e.Cost != 0) || e.DecisionKind != "" || e.Decision == nil {
				t.Errorf("a failed request cost %s and has the decision %q (%v)", e.Cost, e.DecisionKind, e.Decision)
			}
		})
	}
}

func TestOnlyLastTargetHasTheWholeDeadline(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.settings.Attempts.Total = 10 * time.Second })
	for _, target := range k.snapshot.Targets() {
		target.FirstToken = 20 * time.Millisecond
	}
	k.alpha.Always(simulator.Behaviour{Silent: true})
	release := make(chan struct{})
	k.beta.Always(simulator.Behaviour{Before: func(*simulator.Call) { <-release }})
	time.AfterFunc(200*time.Millisecond, func() { close(release) })

	got := k.post("/chat/completions", streaming("large"))

	if got.status != 200 || got.header.Get("X-Fairlead-Provider") != "beta" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if e := k.entry(); e.Attempts[0].Class != llm.UpstreamTimeout {
		t.Errorf("attempts %+v, want class UpstreamTimeout first", e.Attempts)
	}
}

func chunk(text string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`
}

func TestDisconnectBetweenAttemptsIsRecordedAsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside, k.settings.Attempts.Backoff = true, 2*time.Second })
		k.alpha.Always(simulator.Fail(500))
		ctx, leave := context.WithCancel(t.Context())
		go k.gateway.ServeHTTP(httptest.NewRecorder(), k.request(http.MethodPost, "/chat/completions", strings.Replace(hello, "large", "small", 1)).WithContext(ctx))
		synctest.Wait() // the provider has failed and will be retried
		leave()

		e := k.entry()

		if e.Outcome != requestlog.Cancelled || len(e.Attempts) != 1 || e.Cost != nil {
			t.Errorf("outcome %s, cost %v, attempts %+v", e.Outcome, e.Cost, e.Attempts)
		}
	})
}

func TestStreamIsKeptAliveWhileTheProviderIsSilent(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.settings.Hold, k.settings.Ping = 20*time.Millisecond, 20*time.Millisecond })
	release := make(chan struct{})
	k.alpha.Always(simulator.Behaviour{Before: func(*simulator.Call) { <-release }})
	resp, err := k.client.Do(k.request(http.MethodPost, "/chat/completions", streaming("large")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)

	for range 2 {
		line, err := lines.ReadString('\n')
		if err != nil || line != ": waiting\n" {
			t.Fatalf("line %q, %v", line, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("the rest is %q, %v", rest, err)
	}
}

func TestConnectionsAreReusedAfterStreams(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	seen := map[string]bool{}
	for range 5 {
		k.post("/chat/completions", streaming("large"))
		k.post("/chat/completions", hello)
	}
	for _, call := range k.alpha.Calls() {
		seen[call.Remote] = true
	}
	if len(seen) != 1 {
		t.Errorf("10 requests used %d connections, want 1", len(seen))
	}
}

// A provider reports in its headers how much its rate limits leave. The gateway moves to another provider before the first 429.
func TestProviderWithoutQuotaIsAvoidedUntilItsLimitHasGrown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside = true })
		for _, remaining := range []string{"1", "0"} {
			k.alpha.Then(simulator.Behaviour{Header: map[string]string{
				"x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": remaining, "x-ratelimit-reset-requests": "50s",
			}})
		}
		var served []string
		for range 3 {
			got := k.post("/chat/completions", hello)
			served = append(served, got.header.Get("X-Fairlead-Provider"))
			e := k.entry()
			if got.header.Get("X-Fairlead-Provider") == "alpha" {
				continue
			}
			excluded := e.Decision.Candidates[len(e.Decision.Candidates)-1]
			if e.Decision.Kind != route.Fallback || excluded.Target != "alpha/large" || excluded.Excluded == nil || excluded.Excluded.Code != route.QuotaExhausted || len(e.Attempts) != 1 {
				t.Errorf("kind %s, excluded %+v, %d attempts; want a fallback because of alpha's quota, without a call of alpha", e.Decision.Kind, excluded, len(e.Attempts))
			}
		}
		time.Sleep(200 * time.Millisecond) // two requests have grown
		served = append(served, k.post("/chat/completions", hello).header.Get("X-Fairlead-Provider"))
		if want := []string{"alpha", "alpha", "beta", "alpha"}; !slices.Equal(served, want) {
			t.Errorf("served by %v, want %v", served, want)
		}
	})
}

func TestProviderWithoutQuotaServesARequestThatNoOtherCan(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Header: map[string]string{"anthropic-ratelimit-tokens-remaining": "0"}})
	for range 2 {
		if got := k.post("/chat/completions", withModel("small")); got.status != 200 {
			t.Errorf("status %d, want 200: %s", got.status, got.body)
		}
	}
}
