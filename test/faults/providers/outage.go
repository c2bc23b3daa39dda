package providers

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// twoProviders starts a gateway with two providers of one model that can be switched off. alpha is cheaper.
func twoProviders(t *testing.T, more ...string) (g *harness.Gateway, alpha, beta *scenario.Upstream) {
	t.Helper()
	alpha, beta = &scenario.Upstream{Answers: scenario.Paced(20)}, &scenario.Upstream{Answers: scenario.Paced(20)}
	return harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{
		{Name: "alpha", BaseURL: harness.Serve(t, alpha) + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}},
		{Name: "beta", BaseURL: harness.Serve(t, beta) + "/v1", Models: []harness.Model{harness.Chat("plain", 0.8, 3.2, 0.5)}},
	}, more...)}), alpha, beta
}

// OneDown is fault case F27: while one provider fails, the other serves, and the failing one gets few calls until it recovers.
func OneDown(t *testing.T, size scenario.Size) string {
	g, alpha, beta := twoProviders(t)
	k := g.Key(t)
	rate, outage := size.Of(80, 500), time.Duration(size.Of(5, 30))*time.Second
	before, after := 2*time.Second, time.Duration(size.Of(6, 40))*time.Second
	var began, ended time.Time
	var switched sync.WaitGroup
	switched.Go(func() {
		time.Sleep(before) // traffic runs in real time
		began = time.Now()
		alpha.Set(true)
		time.Sleep(outage)
		ended = time.Now()
		alpha.Set(false)
	})
	c := scenario.Client(t)
	var streams sync.WaitGroup
	for range size.Of(0, 200) {
		streams.Go(func() {
			for start := time.Now(); time.Since(start) < before+outage; {
				var s scenario.Shot
				s.Send(t.Context(), c, g, k, scenario.Chat("plain", scenario.Streaming))
			}
		})
	}
	all := scenario.Fire(t, g, k, scenario.Chat("plain"), rate, before+outage+after)
	switched.Wait()
	streams.Wait()

	good := len(scenario.Times(all, scenario.Answered))
	if share := float64(good) / float64(len(all)); share < 0.999 {
		t.Errorf("%d of %d requests were served, want at least 99.9 %%", good, len(all))
	}
	tries := alpha.Between(began.Add(2*time.Second), ended)
	asked := len(scenario.Times(all, func(s scenario.Shot) bool { return s.Sent > before+2*time.Second && s.Sent < before+outage }))
	if tries*20 > asked {
		t.Errorf("from two seconds into the outage on, %d of %d requests called the provider, want at most 5 %%", tries, asked)
	}
	back := alpha.First(ended)
	if back.IsZero() || back.Sub(ended) > size.Limit(5200*time.Millisecond) {
		t.Fatalf("the provider was called again at %s, want at most %s after its recovery at %s",
			back, size.Limit(5200*time.Millisecond), ended)
	}
	firstSecond := alpha.Between(back, back.Add(time.Second))
	if firstSecond > rate/10+2 {
		t.Errorf("the provider got %d of %d requests per second in the first second, want at most %d", firstSecond, rate, rate/10+2)
	}
	figure := fmt.Sprintf("%d of %d served, %d of %d tried it, back after %s with %d/s", good, len(all), tries, asked, back.Sub(ended).Round(10*time.Millisecond), firstSecond)
	if size == scenario.Full {
		late := alpha.Between(back.Add(30*time.Second), back.Add(31*time.Second))
		if late < rate*9/10 {
			t.Errorf("the provider got %d of %d requests per second 30 s after its recovery, want at least %d", late, rate, rate*9/10)
		}
		other := beta.Between(back.Add(30*time.Second), back.Add(31*time.Second))
		figure += fmt.Sprintf(", %d/s after 30 s and %d/s at the other", late, other)
	}
	return figure
}

// AllDown is fault case F28: when no target is available, clients get an error immediately and providers are not called repeatedly.
func AllDown(t *testing.T, size scenario.Size) string {
	g, alpha, beta := twoProviders(t, "retries: {backoff: 20ms}")
	k := g.Key(t)
	rate, d := size.Of(200, 500), time.Duration(size.Of(5, 30))*time.Second
	scenario.Fire(t, g, k, scenario.Chat("plain"), rate, time.Second)
	alpha.Set(true)
	beta.Set(true)
	began := time.Now()
	all := scenario.Fire(t, g, k, scenario.Chat("plain"), rate, d)

	attempts := alpha.Between(began, time.Now()) + beta.Between(began, time.Now())
	if 10*attempts > 12*len(all) {
		t.Errorf("got %d attempts for %d requests, want at most 1.2 per request", attempts, len(all))
	}
	p99 := scenario.Quantile(scenario.Times(all, func(scenario.Shot) bool { return true }), 0.99)
	if size.Strict() && p99 > 100*time.Millisecond {
		t.Errorf("p99 is %s, want at most 100 ms", p99)
	}
	refused := 0
	for _, s := range all {
		if s.Status == http.StatusServiceUnavailable && s.RetryAfter != "" {
			refused++
		} else if s.Status != http.StatusBadGateway { // 502 is the response to a probe or to a request from before the circuits opened
			t.Errorf("request after %s: got %d %s, want 502, or 503 with Retry-After", s.Sent, s.Status, s.Code)
		}
	}
	if refused*10 < len(all)*9 {
		t.Errorf("%d of %d responses have Retry-After, want at least 90 %%", refused, len(all))
	}
	return fmt.Sprintf("%d of %d got 503 with Retry-After, p99 %s, %d attempts", refused, len(all), p99.Round(time.Millisecond), attempts)
}

// BadRequests is fault case F30: invalid requests of a tenant do not count as provider failures.
func BadRequests(t *testing.T, size scenario.Size) string {
	mock, url := harness.Upstream(t)
	refusals := []struct {
		behaviour simulator.Behaviour
		class     string // class of the attempt in the log; empty for any
	}{
		{simulator.Fail(400), ""},
		{simulator.Fail(422), ""},
		{simulator.Fail(413), ""},
		{simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`)}, "context_length"},
		{simulator.Behaviour{Status: 400, Body: []byte(`{"error":{"message":"flagged","code":"content_policy_violation"}}`)}, "content_policy"},
	}
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url, APIKeys: []string{"sk-alpha-0123456789"}, Models: []harness.Model{harness.Chat("m", 0.4, 1.6, 0.5)},
	}})})
	bad, good := g.Key(t), g.Key(t)
	n := size.Of(500, 10_000)
	for i, refusal := range refusals {
		mock.Always(refusal.behaviour)
		var last atomic.Value
		scenario.Together(8, n/len(refusals), func(int) {
			if a := g.Call(t, harness.Request{Key: bad, Body: scenario.Chat("m")}); a.Status < 400 || a.Status > 499 {
				t.Errorf("provider response %d: got status %d, want 400 to 499: %s", i, a.Status, scenario.Clip(a.Body))
			} else {
				last.Store(a.Header.Get("X-Request-Id"))
			}
		})
		id, _ := last.Load().(string)
		if e := g.Entry(t, id); len(e.Attempts) != 1 || e.Outcome == "ok" || refusal.class != "" && e.Attempts[0].Class != refusal.class {
			t.Errorf("provider response %d: the entry has the outcome %s and the attempts %+v, want one attempt of the class %q", i, e.Outcome, e.Attempts, refusal.class)
		}
	}
	mock.Always(simulator.Behaviour{})
	calls := len(mock.Calls())
	if calls != n {
		t.Errorf("got %d calls for %d invalid requests, want the same number", calls, n)
	}
	began := time.Now()
	for range 20 {
		if a := g.Call(t, harness.Request{Key: good, Body: scenario.Chat("m")}); a.Status != http.StatusOK {
			t.Errorf("request of another tenant: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
		}
	}
	return fmt.Sprintf("%d rejected, then another tenant served 20 of 20 within %s", n, time.Since(began).Round(time.Millisecond))
}

// SlowProvider is fault case F32: a provider that takes half a minute stays within its concurrency limit, and requests to other
// providers are not affected.
func SlowProvider(t *testing.T, size scenario.Size) string {
	const most = 20
	slow, slowURL := harness.Upstream(t)
	slow.Always(simulator.Behaviour{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if scenario.Wait(r.Context(), 30*time.Second) {
			scenario.Paced(1).ServeHTTP(w, r)
		}
	})})
	quick := harness.Serve(t, scenario.Paced(1))
	config := harness.Config(t, []harness.Provider{
		{Name: "slow", BaseURL: slowURL, Concurrent: most, Models: []harness.Model{harness.Chat("slow", 0.4, 1.6, 0.5), harness.Chat("hurried", 0.4, 1.6, 0.5)}},
		{Name: "quick", BaseURL: quick + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}},
	}, "models: [{name: hurried, timeouts: {total: 5s}}]")
	g := harness.Start(t, harness.Options{Config: config})
	k, flood := g.Key(t), g.Key(t)
	rate, d := size.Of(60, 300), time.Duration(size.Of(2, 20))*time.Second
	calm := scenario.Quantile(scenario.Times(scenario.Fire(t, g, k, scenario.Chat("plain"), rate, d), scenario.Answered), 0.99)

	began := time.Now()
	hurried := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("hurried")})
	ended := time.Since(began)
	scenario.WantError(t, "a request with a deadline of 5 s", hurried, http.StatusGatewayTimeout, "PROVIDER_TIMEOUT")
	if ended > size.Limit(5100*time.Millisecond) {
		t.Errorf("a request with a deadline of 5 s ended after %s", ended)
	}

	var flooded []scenario.Shot
	var peak atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		flooded = scenario.Fire(t, g, flood, scenario.Chat("slow"), size.Of(100, 200), time.Second)
	}()
	time.AfterFunc(time.Second, func() { peak.Store(slow.Open()) })
	all := scenario.Fire(t, g, k, scenario.Chat("plain"), rate, d)
	if n := peak.Load(); n > most || n < most*3/4 {
		t.Errorf("got %d concurrent calls to the provider, want %d to %d", n, most*3/4, most)
	}
	good, p99 := len(scenario.Times(all, scenario.Answered)), scenario.Quantile(scenario.Times(all, scenario.Answered), 0.99)
	if good != len(all) || size.Strict() && p99 > 2*calm+10*time.Millisecond {
		t.Errorf("%d of %d other requests were served with p99 %s; without the fault, p99 was %s", good, len(all), p99, calm)
	}
	g.Kill(t) // do not wait half a minute for the drain
	<-done
	shed := scenario.Times(flooded, func(s scenario.Shot) bool { return s.Status == http.StatusServiceUnavailable && s.RetryAfter != "" })
	if len(shed) < len(flooded)/2 {
		t.Errorf("%d of %d requests were rejected with 503 and Retry-After, want at least half", len(shed), len(flooded))
	}
	return fmt.Sprintf("at most %d concurrent calls, others' p99 %s (unloaded %s), 5 s deadline ended after %s, shed within %s", peak.Load(),
		p99.Round(time.Millisecond), calm.Round(time.Millisecond), ended.Round(time.Millisecond), scenario.Quantile(shed, 0.99).Round(time.Millisecond))
}
