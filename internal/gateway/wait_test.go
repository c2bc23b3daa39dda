package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

// delayed returns a copy of b that responds after d.
func delayed(d time.Duration, b simulator.Behaviour) simulator.Behaviour {
	b.Before = func(*simulator.Call) { time.Sleep(d) }
	return b
}

// inAttempts returns the time with at least one attempt in flight. Attempts are in order of their start.
func inAttempts(e *requestlog.Entry) (sum time.Duration) {
	var end time.Duration
	for _, a := range e.Attempts {
		sum += max(0, a.Start+a.Duration-max(end, a.Start))
		end = max(end, a.Start+a.Duration)
	}
	return sum
}

// TestLatencyIsOverheadPlusWaitPlusAttempts uses a clock that moves only while something waits, so that the gateway's own
// work takes no time and the overhead must be exactly zero.
func TestLatencyIsOverheadPlusWaitPlusAttempts(t *testing.T) {
	t.Parallel()
	const second = time.Second
	serve := func(k *kit, ctx context.Context, body string) http.Header {
		w := httptest.NewRecorder()
		k.gateway.ServeHTTP(w, k.request(http.MethodPost, "/chat/completions", body).WithContext(ctx))
		return w.Header()
	}
	tests := map[string]struct {
		adjust func(*kit)
		script func(*kit)
		body   string
		leave  time.Duration // time after which the client disconnects; 0 for never
		want   []time.Duration
		total  time.Duration // total waiting time
		budget time.Duration // part of the first attempt's waiting time spent waiting for a budget
	}{
		"no waiting": {
			script: func(k *kit) { k.alpha.Always(delayed(second, simulator.Behaviour{})) },
			body:   hello, want: []time.Duration{0},
		},
		"a pause before the same target": {
			script: func(k *kit) { k.alpha.Then(delayed(second, simulator.Fail(500, "Retry-After", "2"))) },
			body:   withModel("small"), want: []time.Duration{0, 2200 * time.Millisecond}, total: 2200 * time.Millisecond, // the pause includes jitter
		},
		"no pause before another target": {
			script: func(k *kit) { k.alpha.Then(delayed(second, simulator.Fail(500))) },
			body:   hello, want: []time.Duration{0, 0},
		},
		"a pause that the client does not wait for": {
			script: func(k *kit) { k.alpha.Always(delayed(second, simulator.Fail(500, "Retry-After", "3"))) },
			body:   withModel("small"), leave: 2 * second, want: []time.Duration{0}, total: second,
		},
		"a provider slot": {
			adjust: func(k *kit) { k.settings.Attempts.SlotWait = 5 * second },
			script: func(k *kit) {
				p, _ := k.snapshot.Provider("alpha")
				p.Concurrent = 1
				k.alpha.Always(delayed(3*second, simulator.Behaviour{}))
				go serve(k, k.Context(), withModel("small"))
				synctest.Wait()
				go func() { <-k.log.ended }() // discards the entry of the request that holds the slot
			},
			body: withModel("small"), want: []time.Duration{3 * second}, total: 3 * second,
		},
		"a budget": {
			script: func(k *kit) {
				k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Daily}
				hold, err := k.ledger.Hold(k.Context(), budget.Applied(k.keys.grant), money.Dollar)
				if err != nil {
					k.Fatal(err)
				}
				time.AfterFunc(second, hold.Release)
			},
			body: hello, want: []time.Duration{second}, total: second, budget: second,
		},
		"a budget that is not released": {
			script: func(k *kit) {
				k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Daily}
				if _, err := k.ledger.Hold(k.Context(), budget.Applied(k.keys.grant), money.Dollar); err != nil {
					k.Fatal(err)
				}
			},
			body: hello, total: 2 * second,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) {
					k.inside = true
					if tc.adjust != nil {
						tc.adjust(k)
					}
				})
				tc.script(k)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.leave > 0 {
					time.AfterFunc(tc.leave, cancel)
				}

				header := serve(k, ctx, tc.body)

				time.Sleep(10 * second)
				e := k.entry()
				if e.Overhead != 0 || e.Wait != tc.total || e.Latency != e.Overhead+e.Wait+inAttempts(e) {
					t.Errorf("latency %s, overhead %s, waiting %s, in attempts %s; want %s of waiting", e.Latency, e.Overhead, e.Wait, inAttempts(e), tc.total)
				}
				var waits []time.Duration
				for _, a := range e.Attempts {
					waits = append(waits, a.Wait)
				}
				if len(waits) != len(tc.want) {
					t.Fatalf("%d attempts, want %d", len(waits), len(tc.want))
				}
				if len(waits) > 0 && e.Attempts[0].BudgetWait != tc.budget {
					t.Errorf("%s of waiting for a budget, want %s", e.Attempts[0].BudgetWait, tc.budget)
				}
				for i, want := range tc.want {
					if waits[i] != want {
						t.Errorf("attempt %d waited %s, want %s", i+1, waits[i], want)
					}
				}
				if got := header.Get("X-Fairlead-Wait-Us"); tc.leave == 0 && len(tc.want) > 0 && (got == "") != (tc.total == 0) {
					t.Errorf("X-Fairlead-Wait-Us is %q for %s of waiting", got, tc.total)
				}
			})
		})
	}
}
