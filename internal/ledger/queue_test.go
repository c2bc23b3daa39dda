package ledger

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Every request reserves far more than it costs, so a few reservations exhaust the budget.
func TestRequestsWaitForReservedMoney(t *testing.T) {
	t.Parallel()
	workspace := Budget{ID: "ws:ws_1", Name: "Acme", Amount: money.Dollar, Period: Monthly}
	for name, budgets := range map[string][]Budget{
		"key":       {key(money.Dollar)},
		"workspace": {workspace},
		"both":      {key(money.Dollar), workspace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := New(Options{Spent: nothingSpent})
				var served atomic.Int64
				var all sync.WaitGroup
				for range 40 {
					all.Go(func() {
						h, err := m.Hold(t.Context(), budgets, 10*cent)
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(400 * time.Millisecond) // the provider responds; four rounds of ten requests
						h.Settle(cent / 10)
						served.Add(1)
					})
				}
				all.Wait()
				if s := m.Status(budgets[0]); served.Load() != 40 || s.Held != 0 || s.Spent != 4*cent {
					t.Errorf("served %d, held %s, spent %s; want 40, 0 and %s", served.Load(), s.Held, s.Spent, 4*cent)
				}
				if n := m.queue.waiting.Load(); n != 0 || len(m.queue.byBudget) != 0 {
					t.Errorf("%d requests and %d queues remain, want none", n, len(m.queue.byBudget))
				}
			})
		})
	}
}

func TestWaitForReservedMoneyIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Spent: nothingSpent, Now: func() time.Time { return at(t, "2026-11-13T10:00:00Z") }})
		b := key(money.Dollar)
		mustHold(t, m, 3*cent, b).Settle(2 * cent)
		mustHold(t, m, 95*cent, b)
		began := time.Now()
		e := mustRefuse(t, m, llm.RateLimited, 10*cent, b)
		if waited := time.Since(began); waited != reservedWait {
			t.Errorf("waited %s, want %s", waited, reservedWait)
		}
		const want = `Key "ci" has spent $0.02000 of its monthly budget of $1.00 (resets 1 Dec), and the rest is reserved by requests in progress. Retry in 1 second, allow fewer output tokens or raise the budget in API key settings.`
		if diff := cmp.Diff(want, e.Message); diff != "" {
			t.Error(diff)
		}
		if e.Kind.Code() != "RATE_LIMITED" || e.Status() != 429 || !e.Retryable() || e.RetryAfter != time.Second {
			t.Errorf("code %s, status %d, retryable %v after %s; want RATE_LIMITED, 429, true after 1s",
				e.Kind.Code(), e.Status(), e.Retryable(), e.RetryAfter)
		}
		wantDetails := map[string]any{
			"budget_usd": "1.00", "spent_usd": "0.02", "held_usd": "0.95", "resets_at": "2026-12-01T00:00:00Z",
			"limit": map[string]any{"name": "budget", "limit": "1.00", "used": "0.97"},
		}
		if diff := cmp.Diff(wantDetails, e.Details); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSpentMoneyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Spent: nothingSpent})
		small, large := key(10*cent), Budget{ID: "ws:ws_1", Name: "Acme", Amount: money.Dollar, Period: Total}
		mustHold(t, m, 95*cent, large)             // other requests reserve most of the workspace's budget
		mustHold(t, m, 5*cent, small).Settle(cent) // the key has 9 cents left
		began := time.Now()
		mustRefuse(t, m, llm.BudgetExceeded, 10*cent, large, small)
		mustRefuse(t, m, llm.BudgetExceeded, 10*cent, small, large)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s for a spent budget, want 0", waited)
		}
	})
}

func TestReservedMoneyGoesToFirstWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Spent: nothingSpent})
		b := key(money.Dollar)
		running := mustHold(t, m, 90*cent, b)
		var order []int
		var all sync.WaitGroup
		for i, amount := range []money.Amount{money.Dollar, 5 * cent, 96 * cent} { // no two consecutive amounts fit into the budget
			all.Go(func() {
				h, err := m.Hold(t.Context(), []Budget{b}, amount)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i) // the next one is admitted after this one is released
				time.Sleep(time.Millisecond)
				h.Settle(0)
			})
			synctest.Wait()
		}
		if _, err := m.TryHold(t.Context(), []Budget{b}, cent); llm.AsError(err).Kind != llm.RateLimited {
			t.Errorf("TryHold: %v, want RateLimited while other requests wait", err)
		}
		running.Release()
		all.Wait()
		if diff := cmp.Diff([]int{0, 1, 2}, order); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWaitForReservedMoneyEndsWithTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Spent: nothingSpent})
		b := key(money.Dollar)
		running := mustHold(t, m, 60*cent, b)
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := m.Hold(ctx, []Budget{b}, 90*cent)
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ClientCancelled {
				t.Errorf("Hold: %v, want ClientCancelled", err)
			}
		})
		synctest.Wait()
		began := time.Now()
		all.Go(func() {
			if _, err := m.Hold(t.Context(), []Budget{b}, 40*cent); err != nil {
				t.Errorf("Hold of the next request in the queue: %v", err)
			}
		})
		synctest.Wait()
		leave()
		all.Wait()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s after the client disconnected", waited)
		}
		running.Release()
	})
}

// Waiting requests must not slow down requests that settle: only the first in a queue retries.
func TestOnlyFirstWaiterRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const requests = 500
		var q waitQueue
		var tries atomic.Int64
		var all sync.WaitGroup
		for range requests {
			all.Go(func() {
				_, _ = q.hold(t.Context(), []Budget{key(1)}, time.Second, 0, func() (*Hold, error) {
					tries.Add(1)
					return nil, &reservedError{budgetID: key(1).ID, err: &llm.Error{Kind: llm.RateLimited}}
				})
			})
			synctest.Wait()
		}
		before := tries.Load()
		for range 100 {
			q.released(key(1).ID)
			synctest.Wait()
		}
		if n := tries.Load() - before; n != 100 {
			t.Errorf("%d attempts after 100 releases with %d waiting requests, want 100", n, requests)
		}
		all.Wait()
	})
}

func TestReservedMoneyOfAnotherReplicaIsWaitedFor(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	d.ledgers[1].wait = time.Minute
	for name, b := range map[string]Budget{
		"key":       total(money.Dollar),
		"workspace": {ID: "ws:ws_1", Name: "Acme", Amount: money.Dollar, Period: Monthly},
	} {
		running := d.hold(t, 0, b, 80*cent)
		admitted := make(chan error)
		go func() {
			h, err := d.ledgers[1].Hold(t.Context(), []Budget{b}, 50*cent)
			if err == nil {
				h.Release()
			}
			admitted <- err
		}()
		for d.ledgers[1].queue.waiting.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		running.Settle(cent)
		d.ledgers[0].flush(t.Context())
		d.beat(t) // the other replica returns its allowance
		if err := <-admitted; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.ledgers[1].flush(t.Context())
	}
}
