package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

// hedged returns a kit that calls a second target after 100 ms.
func hedged(t *testing.T, adjust ...func(*kit)) *kit {
	t.Helper()
	return newKit(t, append(adjust, func(k *kit) {
		k.inside, k.settings.Attempts.Hedge, k.settings.Attempts.HedgeAfter = true, true, 100*time.Millisecond
	})...)
}

// slow returns a behaviour that responds with text after d.
func slow(d time.Duration, text ...string) simulator.Behaviour {
	return simulator.Behaviour{Text: text, Before: func(*simulator.Call) { time.Sleep(d) }}
}

func TestHedgeWinsOverASilentTarget(t *testing.T) {
	t.Parallel()
	for mode, body := range map[string]string{"whole": hello, "stream": streaming("large")} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := hedged(t)
				k.alpha.Always(slow(5*time.Second, "alpha speaks"))
				k.beta.Always(simulator.Behaviour{Text: []string{"beta ", "speaks"}})

				got := k.post("/chat/completions", body)

				if got.status != 200 || !strings.Contains(got.body, "speaks") || strings.Contains(got.body, "alpha") || got.header.Get("X-Fairlead-Attempts") != "2" {
					t.Fatalf("status %d, headers %v: %s", got.status, got.header, got.body)
				}
				e := k.entry()
				if e.Latency > 200*time.Millisecond || e.Outcome != requestlog.OK || e.Provider != "beta" {
					t.Errorf("%s by %s after %s", e.Outcome, e.Provider, e.Latency)
				}
				if diff := cmp.Diff([]string{"alpha hedge_lost", "beta"}, classes(e)); diff != "" || e.Attempts[0].Hedge || !e.Attempts[1].Hedge {
					t.Errorf("attempts %+v", e.Attempts)
				}
				lost, won := e.Attempts[0], e.Attempts[1]
				if lost.Cost == nil || *lost.Cost == 0 || !lost.Usage.Estimated || *e.Cost != *won.Cost || *e.OperatorCost() != *lost.Cost+*won.Cost {
					t.Errorf("the client pays %v for %v and %v, the operator %v", e.Cost, lost.Cost, won.Cost, e.OperatorCost())
				}
				if e.Overhead > 50*time.Millisecond {
					t.Errorf("overhead %s", e.Overhead)
				}
				time.Sleep(10 * time.Second) // the mock needs time to notice the cancelled call
			})
		})
	}
}

func TestFirstTargetMayWinOverTheHedge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := hedged(t)
		k.alpha.Always(slow(200*time.Millisecond, "alpha speaks"))
		k.beta.Always(slow(5*time.Second, "beta speaks"))

		got := k.post("/chat/completions", streaming("large"))

		e := k.entry()
		if got.status != 200 || e.Provider != "alpha" || e.DecisionKind != "expected" {
			t.Errorf("%d by %s, %s", got.status, e.Provider, e.DecisionKind)
		}
		if diff := cmp.Diff([]string{"alpha", "beta hedge_lost"}, classes(e)); diff != "" {
			t.Error(diff)
		}
		time.Sleep(10 * time.Second)
	})
}

func TestFastTargetIsNotHedged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := hedged(t)
		k.post("/chat/completions", streaming("large"))
		if e := k.entry(); len(e.Attempts) != 1 || len(k.beta.Calls()) != 0 {
			t.Errorf("attempts %+v", e.Attempts)
		}
	})
}

func TestOtherCallServesWhenOneOfTwoFails(t *testing.T) {
	t.Parallel()
	late := simulator.Fail(500)
	late.Before = func(*simulator.Call) { time.Sleep(200 * time.Millisecond) }
	for name, test := range map[string]struct {
		alpha, beta simulator.Behaviour
		want        []string
		status      int
	}{
		"the first":  {late, slow(time.Second, "beta"), []string{"alpha server_error", "beta"}, 200},
		"the second": {slow(time.Second, "alpha"), simulator.Fail(503), []string{"alpha", "beta overload"}, 200},
		"both":       {late, late, []string{"alpha server_error", "beta server_error", "beta server_error"}, 502},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := hedged(t)
				k.alpha.Always(test.alpha)
				k.beta.Always(test.beta)
				got := k.post("/chat/completions", streaming("large"))
				if diff := cmp.Diff(test.want, classes(k.entry())); diff != "" || got.status != test.status {
					t.Errorf("status %d: %s", got.status, diff)
				}
				time.Sleep(10 * time.Second)
			})
		})
	}
}

// The client pays for one response, but the maximum cost of both calls is reserved on the budget while they run.
func TestBudgetForOneResponsePreventsAHedge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget money.Amount
		calls  int
	}{"for one": {80_000_000, 0}, "for both": {200_000_000, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := hedged(t)
				k.keys.grant.Key.Budget = &account.Budget{Amount: test.budget, Period: "total"}
				k.alpha.Always(slow(time.Second, "alpha"))
				got := k.post("/chat/completions", strings.Replace(hello, "{", `{"max_tokens":8000,`, 1))
				if n := len(k.beta.Calls()); got.status != 200 || n != test.calls {
					t.Errorf("status %d, %d hedges: %s", got.status, n, got.body)
				}
				e := k.entry()
				s := k.ledger.Status(ledger.Budget{ID: "key:key_1", Amount: test.budget, Period: ledger.Total})
				if s.Held != 0 || s.Spent != *e.Cost {
					t.Errorf("held %s, spent %s, the request cost %s", s.Held, s.Spent, e.Cost)
				}
				time.Sleep(10 * time.Second)
			})
		})
	}
}

func TestDisconnectEndsBothCallsOfAHedge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := hedged(t, func(k *kit) { k.settings.Attempts.Total = time.Second })
		k.alpha.Always(simulator.Behaviour{Silent: true})
		k.beta.Always(simulator.Behaviour{Silent: true})
		got := k.post("/chat/completions", streaming("large"))
		if e := k.entry(); got.status != 504 || len(e.Attempts) != 2 || e.Latency > 1100*time.Millisecond {
			t.Errorf("status %d after %s, attempts %+v", got.status, e.Latency, e.Attempts)
		}
		synctest.Wait() // the calls to the providers end slightly later
		if k.alpha.Open()+k.beta.Open() != 0 {
			t.Errorf("open calls: alpha %d, beta %d; want none", k.alpha.Open(), k.beta.Open())
		}
	})
}

func TestHedgesAreLimitedLikeRepeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := hedged(t)
		k.alpha.Always(slow(300*time.Millisecond, "alpha"))
		k.beta.Always(simulator.Behaviour{Silent: true})
		for range 30 {
			k.post("/chat/completions", streaming("large"))
			k.entry()
		}
		if n := len(k.beta.Calls()); n != 10 {
			t.Errorf("%d of 30 requests were hedged, want the floor of ten", n)
		}
		time.Sleep(10 * time.Second)
	})
}

func TestHedgeDelayFollowsTheUsualFirstToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := hedged(t)
		k.settings.Attempts.HedgeAfter = 0
		k.gateway.Update(k.settings, k.snapshot)
		k.alpha.Always(slow(300*time.Millisecond, "alpha"))
		for range 8 {
			k.post("/chat/completions", streaming("large"))
			if e := k.entry(); len(e.Attempts) != 1 {
				t.Fatalf("attempts %+v, want 1", e.Attempts)
			}
		}
		k.alpha.Always(slow(5*time.Second, "alpha"))
		k.post("/chat/completions", streaming("large"))
		e := k.entry()
		if len(e.Attempts) != 2 || e.Attempts[1].Start < 290*time.Millisecond || e.Attempts[1].Start > 350*time.Millisecond {
			t.Errorf("attempts %+v", e.Attempts)
		}
		if e.Attempts[0].Class != llm.HedgeLost {
			t.Errorf("attempts %+v, want class HedgeLost first", e.Attempts)
		}
		time.Sleep(10 * time.Second)
	})
}
