package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

// Eight concurrent requests share a budget of $0.05. The prompt of each request is text that looks like an image, and no request has an
// output limit. Even if the provider charges every byte of the prompt and every allowed output token, the total stays within the budget.
// The usage that the provider reports is even higher than that.
func TestConcurrentRequestsStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(k *kit) { k.inside = true })
		limit := &account.Budget{Amount: money.Dollar / 20, Period: account.Daily}
		k.keys.grant.Key.Budget = limit
		var mu sync.Mutex
		var billed, highest money.Amount // maximum cost of the calls in flight, and the highest such cost
		lying := simulator.Behaviour{Text: []string{"alpha"}, Usage: `{"prompt_tokens":90000,"completion_tokens":9e5,"total_tokens":990000}`, Before: func(call *simulator.Call) {
			most := rawjson.Get(call.Body, "max_tokens").Int()
			if most == 0 {
				t.Errorf("no max_tokens in the request: %.80s", call.Body)
			}
			cost := money.PerMillion(2).Cost(int64(len(call.Body))).Add(money.PerMillion(8).Cost(most))
			mu.Lock()
			billed = billed.Add(cost)
			highest = max(highest, billed)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			billed = billed.Sub(cost)
			mu.Unlock()
		}}
		k.alpha.Always(lying)
		k.beta.Always(lying)
		body := `{"model":"large","messages":[{"role":"user","content":"data:image/png;base64,` + strings.Repeat("QUJD", 1000) + `"}]}`

		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { k.post("/chat/completions", body) })
		}
		all.Wait()

		s := k.ledger.Status(budget.Applied(k.keys.grant)[0])
		if calls := len(k.alpha.Calls()); calls == 0 || len(k.beta.Calls()) > 0 || highest > limit.Amount || s.Spent > limit.Amount || s.Held != 0 {
			t.Errorf("%d calls, of %s at the same time, %s spent and %s held of %s", calls, highest, s.Spent, s.Held, limit.Amount)
		}
	})
}

// Eight parallel requests on a key with a budget take as long as without a budget and are served by the same model: the output limit is
// lowered until all of them fit.
func TestParallelRequestsDoNotWaitForTheBudget(t *testing.T) {
	t.Parallel()
	for name, amount := range map[string]money.Amount{"no budget": 0, "half a dollar": money.Dollar / 2, "20 dollars": 20 * money.Dollar} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(k *kit) { k.inside = true })
				if amount > 0 {
					k.keys.grant.Key.Budget = &account.Budget{Amount: amount, Period: account.Monthly}
				}
				k.alpha.Always(slow(time.Second, "Hi."))
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						if got := k.post("/chat/completions", hello); got.status != http.StatusOK {
							t.Errorf("status %d: %s", got.status, got.body)
						}
					})
				}
				all.Wait()
				for range 8 {
					if e := k.entry(); e.Model != "large" || e.Latency != time.Second || e.Wait != 0 {
						t.Errorf("served by %s in %s with %s of waiting", e.Model, e.Latency, e.Wait)
					}
				}
			})
		})
	}
}

// A fallback that costs more than the budget has left does not prevent the first choice from being called.
func TestTargetsThatDoNotFitTheBudgetLeaveThePlan(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar / 1000, Period: account.Daily}
	k.alpha.Always(simulator.Fail(500))
	got := k.post("/chat/completions", `{"model":"small","models":["large"],"max_tokens":1000,"messages":[{"role":"user","content":"hello"}]}`)
	if e := k.entry(); got.status == http.StatusOK || len(k.beta.Calls()) > 0 || e.Attempts[0].Model != "small" {
		t.Errorf("status %d, attempts %+v", got.status, e.Attempts)
	}
}

func TestExceededBudgetSaysWhatWouldFit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		budget money.Amount
		body   string
		want   string
	}{
		"fewer tokens":   {money.Dollar / 100, `{"model":"large","max_tokens":5000,"messages":[{"role":"user","content":"hello"}]}`, " large with at most 1"},
		"another model":  {money.Dollar / 5000, `{"model":"large","max_tokens":300,"messages":[{"role":"user","content":"hello"}]}`, " small with at most 300 output tokens would fit: it may cost up to $0.000"},
		"nothing":        {money.Dollar / 1e6, `{"model":"large","max_tokens":300,"messages":[{"role":"user","content":"hello"}]}`, " The cheapest model for this request is small, which may cost up to $0.000"},
		"nothing of all": {money.Dollar / 1e6, withModel("auto"), " The cheapest model for this request is small, which may cost up to $0.000"},
	} {
		k := newKit(t)
		k.keys.grant.Key.Budget = &account.Budget{Amount: tc.budget, Period: account.Daily}
		got := k.post("/chat/completions", tc.body)
		if message, _ := got.json(t)["error"].(string); got.status != http.StatusPaymentRequired || !strings.Contains(message, tc.want) {
			t.Errorf("%s: status %d, %q; want %q", name, got.status, message, tc.want)
		}
	}
}

func TestBudgetedRequestIsSentTheOutputLimitThatWasHeld(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		budget *account.Budget
		body   string
		want   int64 // output limit that the provider receives; 0 for none
	}{
		"limit of the model":             {&account.Budget{Amount: money.Dollar, Period: account.Daily}, hello, 8000},
		"limit of the caller":            {&account.Budget{Amount: money.Dollar, Period: account.Daily}, strings.Replace(hello, "{", `{"max_tokens":7,`, 1), 7},
		"no budget":                      {nil, hello, 0},
		"warn-only budget":               {&account.Budget{Amount: money.Dollar, Period: account.Daily, WarnOnly: true}, hello, 0},
		"prompt near the context window": {&account.Budget{Amount: money.Dollar, Period: account.Daily}, strings.Replace(hello, "hello", strings.Repeat("hello ", 62_000), 1), 256},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.keys.grant.Key.Budget = tc.budget
			got := k.post("/chat/completions", tc.body)
			calls := k.alpha.Calls()
			if got.status != http.StatusOK || len(calls) != 1 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if sent := rawjson.Get(calls[0].Body, "max_tokens").Int(); tc.want != 256 && sent != tc.want || tc.want == 256 && (sent < 256 || sent > 8000) {
				t.Errorf("max_tokens %d was sent, want %d", sent, tc.want)
			}
			if warned := got.header.Get("X-Fairlead-Warnings"); tc.want == 8000 && warned != "" {
				t.Errorf("warning %q for the limit of the model, want none", warned)
			}
		})
	}
}

// The target costs $2 per million input tokens and $8 per million output tokens.
func TestOutputIsAtMostTheRequestedLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		members, usage string
		believed       bool
	}{
		"all of it":                  {`"max_tokens":5`, `{"prompt_tokens":11,"completion_tokens":5}`, true},
		"far more":                   {`"max_tokens":5`, `{"prompt_tokens":11,"completion_tokens":900000}`, false},
		"far more, as a power":       {`"max_tokens":5`, `{"prompt_tokens":11,"completion_tokens":9e5}`, false},
		"far more, as a fraction":    {`"max_tokens":5`, `{"prompt_tokens":11,"completion_tokens":900000.0}`, false},
		"more, with reasoning":       {`"max_tokens":5`, `{"prompt_tokens":11,"completion_tokens":5,"total_tokens":116,"completion_tokens_details":{"reasoning_tokens":100}}`, false},
		"several answers":            {`"max_tokens":5,"n":3`, `{"prompt_tokens":11,"completion_tokens":15}`, true},
		"more than several answers":  {`"max_tokens":5,"n":3`, `{"prompt_tokens":11,"completion_tokens":1500}`, false},
		"a rejected prediction":      {`"max_tokens":5,"prediction":{"type":"content","content":"a text of some length"}`, `{"prompt_tokens":11,"completion_tokens":20}`, true},
		"more than the whole prompt": {`"max_tokens":5`, `{"prompt_tokens":90000,"completion_tokens":5}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar / 20, Period: account.Daily}
			k.alpha.Always(simulator.Behaviour{Usage: tc.usage})
			k.post("/chat/completions", strings.Replace(hello, "{", "{"+tc.members+",", 1))
			e := k.entry()
			if e.Cost == nil || *e.Cost > money.Dollar/1000 || e.Usage.Estimated == tc.believed {
				t.Fatalf("cost %s, usage %+v, want reported usage believed: %t", e.Cost, e.Usage, tc.believed)
			}
			reported := e.Attempts[0].Reported
			if tc.believed && (e.UsageFlag != "" || reported != nil) || !tc.believed && (e.UsageFlag != requestlog.UsageRejected || reported == nil) {
				t.Errorf("flagged %q, reported %+v", e.UsageFlag, reported)
			}
		})
	}
}

// A provider adds 15,000 tokens to a prompt of a few bytes: that is plausible, but above the hold.
func TestUsageAboveTheHoldIsChargedAtTheHold(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	limit := &account.Budget{Amount: money.Dollar, Period: account.Daily}
	k.keys.grant.Key.Budget = limit
	var held money.Amount
	k.alpha.Always(simulator.Behaviour{Usage: `{"prompt_tokens":15000,"completion_tokens":3}`, Before: func(*simulator.Call) {
		held = k.ledger.Status(budget.Applied(k.keys.grant)[0]).Held
	}})
	k.post("/chat/completions", strings.Replace(hello, "{", `{"max_tokens":5,`, 1))
	e := k.entry()
	last := e.Bill.Rows[len(e.Bill.Rows)-1]
	if *e.Cost != held || e.UsageFlag != requestlog.UsageAboveHold || last.Class != "above_hold" || last.Amount >= 0 {
		t.Errorf("%s charged, %s held, flagged %q, %+v", e.Cost, held, e.UsageFlag, e.Bill)
	}
	if s := k.ledger.Status(budget.Applied(k.keys.grant)[0]); s.Spent != held || s.Held != 0 {
		t.Errorf("%s spent, %s held", s.Spent, s.Held)
	}
}
