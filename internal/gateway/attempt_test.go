package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// events returns the data of the events of a stream.
func (a clientResponse) events() []string {
	var list []string
	for block := range strings.SplitSeq(a.body, "\n\n") {
		if data, ok := strings.CutPrefix(block, "data: "); ok {
			list = append(list, data)
		}
	}
	return list
}

func TestStreamIsRelayedToItsEnd(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Text: []string{"One ", "two ", "three."}})

	got := k.post("/chat/completions", streaming("large"))

	events := got.events()
	if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("status %d, type %q: %s", got.status, got.header.Get("Content-Type"), got.body)
	}
	if events[len(events)-1] != "[DONE]" {
		t.Errorf("the stream ends with %q, want [DONE]", events[len(events)-1])
	}
	for _, ev := range events[:len(events)-1] {
		if strings.Contains(ev, `"choices":[]`) || !strings.Contains(ev, `"model":"large"`) {
			t.Errorf("event %s", ev)
		}
	}
	e := k.entry()
	if e.Outcome != requestlog.OK || e.Usage.Estimated || e.Usage.Output == 0 || e.Cost == nil || e.TTFT == 0 || !e.Body.Streamed {
		t.Errorf("entry %+v", e)
	}
	if !strings.Contains(string(k.alpha.Calls()[0].Body), `"include_usage":true`) {
		t.Error("the provider was not asked for usage")
	}
}

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

func TestOverheadExcludesWaitingForAProvider(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Before: func(*simulator.Call) { <-time.After(300 * time.Millisecond) }})

	got := k.post("/chat/completions", streaming("large"))

	us, err := strconv.Atoi(got.header.Get("X-Fairlead-Overhead-Us"))
	if err != nil || us > 250_000 {
		t.Errorf("overhead of %q µs for a provider that took 300 ms", got.header.Get("X-Fairlead-Overhead-Us"))
	}
	if e := k.entry(); e.Latency < 300*time.Millisecond || e.Overhead > 250*time.Millisecond {
		t.Errorf("latency %s, overhead %s", e.Latency, e.Overhead)
	}
}

func TestUsageIsSentWhenRequested(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	got := k.post("/chat/completions", `{"model":"large","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`)

	events := got.events()
	if usage := events[len(events)-2]; !strings.Contains(usage, `"choices":[]`) || !strings.Contains(usage, `"usage":{`) {
		t.Errorf("the event before [DONE] is %s", usage)
	}
}

func TestStreamTraceIsInTheLastEvent(t *testing.T) {
	t.Parallel()
	k := newKit(t)

	events := k.post("/chat/completions", streaming("auto"), "X-Fairlead-Trace", "full").events()

	if last := events[len(events)-2]; !strings.Contains(last, `"fairlead":{`) || !strings.Contains(last, `"cost_usd":"`) {
		t.Errorf("the last event before [DONE] is %s", last)
	}
}

func TestLastAttemptFailsWithoutAPause(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.settings.Attempts.Attempts = 1 })
	k.alpha.Always(simulator.Fail(http.StatusTooManyRequests, "Retry-After", "5"))
	began := time.Now()

	got := k.post("/chat/completions", withModel("small"))

	if took := time.Since(began); got.status != 429 || got.header.Get("Retry-After") != "5" || took > 4*time.Second {
		t.Errorf("status %d, Retry-After %q after %s: %s", got.status, got.header.Get("Retry-After"), took, got.body)
	}
}

func TestAnotherTargetTakesOverBeforeTheFirstToken(t *testing.T) {
	t.Parallel()
	role := `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	failures := map[string]simulator.Behaviour{
		"500":                 simulator.Fail(500),
		"503":                 simulator.Fail(503),
		"429":                 simulator.Fail(429),
		"401":                 simulator.Fail(401),
		"404":                 simulator.Fail(404),
		"reset":               {Reset: true},
		"html":                {Header: map[string]string{"Content-Type": "text/html"}, Body: []byte("<html>")},
		"null":                {Body: []byte("null")},
		"error inside a 200":  {Body: []byte(`{"error":{"message":"overloaded","type":"server_error"}}`)},
		"role, then an error": {Events: []string{role, `{"error":{"message":"overloaded","type":"server_error"}}`}},
		"role, then cut":      {Events: []string{role}, NoDone: true},
		"empty stream":        {Events: []string{}, Body: []byte{}},
	}
	for name, failure := range failures {
		for mode, body := range map[string]string{"whole": hello, "stream": streaming("large")} {
			if mode == "whole" && strings.HasPrefix(name, "role") {
				continue
			}
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				k := newKit(t)
				k.alpha.Always(failure)
				k.beta.Always(simulator.Behaviour{Text: []string{"beta ", "speaks"}})

				got := k.post("/chat/completions", body)

				if got.status != 200 || strings.Contains(got.body, "error") || strings.Count(got.body, "speaks") != 1 {
					t.Fatalf("status %d: %s", got.status, got.body)
				}
				if got.header.Get("X-Fairlead-Decision") != "fallback" || got.header.Get("X-Fairlead-Provider") != "beta" || got.header.Get("X-Fairlead-Attempts") != "2" {
					t.Errorf("headers %v", got.header)
				}
				e := k.entry()
				if e.DecisionKind != route.Fallback || len(e.Attempts) != 2 || e.Attempts[0].Class == "" || e.Attempts[1].Class != "" {
					t.Errorf("decision %s, attempts %+v", e.DecisionKind, e.Attempts)
				}
			})
		}
	}
}

func TestSameTargetIsRetriedWhenNoOtherIsLeft(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.For("small-2026", simulator.Fail(500), simulator.Fail(503), simulator.Behaviour{})

	got := k.post("/chat/completions", withModel("small"))

	if got.status != 200 || got.header.Get("X-Fairlead-Attempts") != "3" || got.header.Get("X-Fairlead-Decision") != "expected" {
		t.Errorf("status %d, headers %v: %s", got.status, got.header, got.body)
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

func TestRetryAfterIsSentWhileAllTargetsBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside = true })
		k.alpha.Always(simulator.Fail(429, "Retry-After", "30"))
		var w *httptest.ResponseRecorder
		for range 2 { // the only target of the second request backs off
			w = httptest.NewRecorder()
			k.gateway.ServeHTTP(w, k.request(http.MethodPost, "/chat/completions", withModel("small")))
		}

		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "30" {
			t.Errorf("%d, Retry-After %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
		}
	})
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

func TestDeadlineCoversAllAttempts(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.settings.Attempts.Total = 50 * time.Millisecond })
	k.alpha.Always(simulator.Behaviour{Silent: true})

	got := k.post("/chat/completions", withModel("small"))

	if got.status != 504 || got.code(t) != "PROVIDER_TIMEOUT" {
		t.Errorf("got %d: %s", got.status, got.body)
	}
}

func TestStreamInterruptedAfterItsFirstTokenEndsWithAnError(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]simulator.Behaviour{
		"cut":                 {Text: []string{"some ", "words ", "more"}, CutAfter: 2},
		"stream without end":  {Text: []string{"some ", "words ", "more"}, SilentAfter: 2},
		"error in the middle": {Events: []string{chunk("some"), `{"error":{"message":"lost it","type":"server_error"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, func(k *kit) { k.settings.Rescue, k.settings.Attempts.Idle = false, 100*time.Millisecond })
			k.alpha.Always(b)

			got := k.post("/chat/completions", streaming("large"))

			events := got.events()
			last := events[len(events)-1]
			if got.status != 200 || !strings.HasPrefix(last, `{"error":`) || strings.Contains(got.body, "[DONE]") {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			if len(k.beta.Calls()) != 0 {
				t.Error("another target was tried after the first token")
			}
			e := k.entry()
			if e.Outcome != requestlog.Partial || e.Cost == nil || *e.Cost == 0 || !e.Usage.Estimated {
				t.Errorf("outcome %s, cost %v, usage %+v", e.Outcome, e.Cost, e.Usage)
			}
		})
	}
}

func chunk(text string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`
}

func TestDisconnectCancelsTheUpstreamCall(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		behaviour simulator.Behaviour
		read      int // lines read before the disconnect
		relayed   bool
	}{
		"before headers":         {simulator.Behaviour{Silent: true}, 0, false},
		"before the first token": {simulator.Behaviour{Text: []string{"a", "b"}, SilentAfter: 1}, 0, false},
		"midway":                 {simulator.Behaviour{Text: []string{"some ", "words ", "more"}, SilentAfter: 3}, 3, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.alpha.Always(c.behaviour)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			done := make(chan struct{})
			go func() {
				defer close(done)
				resp, err := k.client.Do(k.request(http.MethodPost, "/chat/completions", streaming("large")).WithContext(ctx))
				if err != nil {
					return
				}
				defer resp.Body.Close()
				lines := bufio.NewScanner(resp.Body)
				for range c.read {
					lines.Scan()
				}
				leave()
				_, _ = io.Copy(io.Discard, resp.Body) // ends with the cancellation
			}()
			call, err := k.alpha.Await(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if c.read == 0 {
				leave()
			}

			select {
			case <-call.Gone():
			case <-time.After(time.Second):
				t.Fatal("the provider's call was not closed within a second")
			}
			<-done
			e := k.entry()
			if e.Outcome != requestlog.Cancelled || len(e.Attempts) != 1 || len(k.beta.Calls()) != 0 {
				t.Errorf("outcome %s, attempts %+v", e.Outcome, e.Attempts)
			}
			if e.Cost == nil || *e.Cost == 0 || e.Usage.Input == 0 || (e.Usage.Output > 0) != c.relayed {
				t.Fatalf("cost %v, usage %+v", e.Cost, e.Usage)
			}
			if paid := e.OperatorCost(); paid == nil || *paid != *e.Cost {
				t.Errorf("the client pays %v, the operator %v", e.Cost, paid)
			}
		})
	}
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

func TestRevokingAKeyEndsItsStreams(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Text: []string{"a", "b", "c"}, SilentAfter: 3, BeforeEvent: func(_ *simulator.Call, n int) {
		if n == 2 {
			k.gateway.Revoke("key_1")
		}
	}})

	got := k.post("/chat/completions", streaming("large"))

	if !strings.Contains(got.body, `"code":"REVOKED_API_KEY"`) || strings.Contains(got.body, "[DONE]") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestDrainRejectsNewRequestsAndEndsRunningOnes(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Text: []string{"a", "b", "c"}, SilentAfter: 3})
	streamed := make(chan clientResponse, 1)
	go func() { streamed <- k.post("/chat/completions", streaming("large")) }()
	if _, err := k.alpha.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	k.gateway.Drain(ctx)

	if got := <-streamed; !strings.Contains(got.body, "SERVER_SHUTDOWN") || strings.Contains(got.body, "[DONE]") {
		t.Errorf("the stream ended with: %s", got.body)
	}
	if got := k.post("/chat/completions", hello); got.status != 503 || got.code(t) != "SERVER_SHUTDOWN" || got.header.Get("Retry-After") == "" {
		t.Errorf("got %d: %s", got.status, got.body)
	}
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

func TestImplausibleUsageIsReplacedByAnEstimate(t *testing.T) {
	t.Parallel()
	for name, usage := range map[string]string{
		"negative":  `{"prompt_tokens":-5,"completion_tokens":3,"total_tokens":-2}`,
		"too large": `{"prompt_tokens":5,"completion_tokens":99999999999,"total_tokens":1}`,
		"empty":     `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`,
		"missing":   "none",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.alpha.Always(simulator.Behaviour{Usage: usage})
			k.post("/chat/completions", hello)
			e := k.entry()
			if !e.Usage.Estimated || e.Usage.Input <= 0 || e.Usage.Output <= 0 || e.Usage.Output > 100 || *e.Cost <= 0 {
				t.Errorf("usage %+v, cost %s", e.Usage, e.Cost)
			}
		})
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
