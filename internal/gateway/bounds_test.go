package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/simulator"
)

// waits sets the timeouts of every target.
func (k *kit) waits(w provider.Waits) {
	for _, t := range k.snapshot.Targets() {
		t.Waits = w
	}
}

func TestTargetTimeoutsOverrideTheDefaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		waits  provider.Waits
		alpha  simulator.Behaviour
		body   string
		want   []string
		within time.Duration
	}{
		"no status in time":   {provider.Waits{Headers: time.Second}, simulator.Behaviour{Silent: true}, streaming("large"), []string{"alpha timeout", "beta"}, time.Second},
		"late whole response": {provider.Waits{Headers: time.Second}, slow(2*time.Second, "alpha"), hello, []string{"alpha"}, 2 * time.Second},
		"silence":             {provider.Waits{Idle: 2 * time.Second}, simulator.Behaviour{Text: []string{"a", "b"}, SilentAfter: 2}, streaming("large"), []string{"alpha timeout", "beta continuation_mismatch"}, 2 * time.Second},
		"the whole request":   {provider.Waits{Total: 3 * time.Second}, simulator.Behaviour{Silent: true}, streaming("small"), []string{"alpha timeout"}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside = true })
				k.waits(test.waits)
				k.alpha.Always(test.alpha)
				k.post("/chat/completions", test.body)
				e := k.entry()
				if diff := cmp.Diff(test.want, classes(e)); diff != "" || e.Latency < test.within || e.Latency > test.within+100*time.Millisecond {
					t.Errorf("after %s: %s", e.Latency, diff)
				}
				time.Sleep(10 * time.Second)
			})
		})
	}
}

func TestTargetConnectTimeoutOverridesTheDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside = true })
		k.waits(provider.Waits{Connect: time.Second})
		p, _ := k.snapshot.Provider("alpha")
		p.Login = func(ctx context.Context, _ string) (string, error) { // the call blocks before it connects to the provider
			<-ctx.Done()
			return "", ctx.Err()
		}
		k.post("/chat/completions", streaming("large"))
		e := k.entry()
		if diff := cmp.Diff([]string{"alpha connect", "beta"}, classes(e)); diff != "" || e.Latency > 1100*time.Millisecond {
			t.Errorf("after %s: %s", e.Latency, diff)
		}
	})
}

func TestProviderAtItsConcurrencyLimitIsSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside, k.settings.Attempts.SlotWait = true, 25*time.Millisecond })
		k.cap("alpha", 2)
		k.alpha.Always(slow(time.Minute, "alpha"))
		for range 2 {
			go k.post("/chat/completions", withModel("large"))
		}
		synctest.Wait()

		began := time.Now()
		got := k.post("/chat/completions", withModel("large"))
		if got.status != 200 || got.header.Get("X-Fairlead-Provider") != "beta" || time.Since(began) > time.Millisecond {
			t.Errorf("%d by %q after %s", got.status, got.header.Get("X-Fairlead-Provider"), time.Since(began))
		}
		began = time.Now()
		got = k.post("/chat/completions", withModel("small")) // only alpha serves small
		if got.status != 503 || got.header.Get("Retry-After") == "" || time.Since(began) > 30*time.Millisecond {
			t.Errorf("%d after %s: %s", got.status, time.Since(began), got.body)
		}
		time.Sleep(50 * time.Second)
		go func() { // a slot is released while the request waits
			time.Sleep(10*time.Second - 10*time.Millisecond)
			k.alpha.Always(simulator.Behaviour{})
			if got := k.post("/chat/completions", withModel("small")); got.status != 200 {
				t.Errorf("status %d, want 200: %s", got.status, got.body)
			}
		}()
		time.Sleep(2 * time.Minute)
	})
}

// cap limits the concurrent requests of a provider.
func (k *kit) cap(name string, n int) {
	k.Helper()
	p, ok := k.snapshot.Provider(name)
	if !ok {
		k.Fatalf("there is no %s", name)
	}
	p.Concurrent = n
}

// A flood of requests with one key leaves slots of the provider free for another active key.
func TestOneKeyCannotTakeAllSlotsOfAProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside = true })
		k.cap("alpha", 8)
		other := *k.keys.grant.Key
		other.ID = "key_2"
		k.keys.others = map[string]*account.Grant{"other": {Key: &other, Workspace: k.keys.grant.Workspace}}
		k.post("/chat/completions", withModel("small"), "Authorization", "Bearer other")
		k.alpha.Always(slow(10*time.Second, "alpha"))
		rejected := 0
		done := make(chan int, 20)
		for range 20 {
			go func() { done <- k.post("/chat/completions", withModel("small")).status }()
		}
		synctest.Wait()
		running := k.alpha.Open()
		got := k.post("/chat/completions", withModel("small"), "Authorization", "Bearer other")
		for range 20 {
			if <-done == 503 {
				rejected++
			}
		}
		if got.status != 200 || running != 6 || rejected != 14 {
			t.Errorf("the other key got %d while %d of the flood ran and %d were rejected", got.status, running, rejected)
		}
	})
}

func TestUsageOfAFailedAttemptIsChargedToTheOperator(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Events: []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}`,
		`{"error":{"message":"lost it","type":"server_error"}}`,
	}})
	k.post("/chat/completions", streaming("large"))
	e := k.entry()
	if diff := cmp.Diff([]string{"alpha server_error", "beta"}, classes(e)); diff != "" {
		t.Fatal(diff)
	}
	if e.Attempts[0].Cost == nil || *e.Cost != *e.Attempts[1].Cost || *e.OperatorCost() != *e.Cost+*e.Attempts[0].Cost {
		t.Errorf("the client pays %v, the attempts cost %v and %v", e.Cost, e.Attempts[0].Cost, e.Attempts[1].Cost)
	}
	if e.Attempts[0].Class != llm.UpstreamServer {
		t.Errorf("attempts %+v, want class UpstreamServer first", e.Attempts)
	}
}

// Model names, finish reasons and baselines from outside are truncated.
func TestExternalNamesAreShortened(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	k := newKit(t)
	k.alpha.Always(simulator.Behaviour{Body: []byte(`{"id":"1","object":"chat.completion","created":1,"model":"` + long + `","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"Aye."},"finish_reason":"` + long + `"}],"usage":{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14}}`)})
	k.post("/chat/completions", hello, "X-Fairlead-Baseline", long[:10_000])
	if e := k.entry(); e.Finish == "" || len(e.Finish) > 300 || e.ServedAs == "" || len(e.ServedAs) > 300 || len(e.BaselineModel) > 300 {
		t.Errorf("%d bytes of finish, %d of model, %d of baseline; %+v", len(e.Finish), len(e.ServedAs), len(e.BaselineModel), e.Error)
	}
}

// slow returns a behaviour that responds with text after d.
func slow(d time.Duration, text ...string) simulator.Behaviour {
	return simulator.Behaviour{Text: text, Before: func(*simulator.Call) { time.Sleep(d) }}
}
