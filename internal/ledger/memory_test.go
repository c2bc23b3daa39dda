package ledger

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

const cent = money.Dollar / 100

func nothingSpent(context.Context, string, time.Time) (money.Amount, error) { return 0, nil }

func key(amount money.Amount) Budget {
	return Budget{ID: "key:key_1", Name: "ci", Amount: amount, Period: Monthly}
}

func mustHold(t *testing.T, m *Memory, amount money.Amount, budgets ...Budget) *Hold {
	t.Helper()
	h, err := m.Hold(t.Context(), budgets, amount)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustRefuse(t *testing.T, m *Memory, kind llm.Kind, amount money.Amount, budgets ...Budget) *llm.Error {
	t.Helper()
	_, err := m.Hold(t.Context(), budgets, amount)
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("Hold: %v, want kind %s", err, kind)
	}
	return e
}

func TestExtremeAmountsNeverIncreaseBudget(t *testing.T) {
	t.Parallel()
	m := New(Options{Spent: nothingSpent})
	b := key(cent)
	mustHold(t, m, -5*money.Dollar, b).Settle(-5 * money.Dollar)
	if s := m.Status(b); s.Spent != 0 || s.Held != 0 {
		t.Errorf("spent %s, held %s after negative amounts; want 0 and 0", s.Spent, s.Held)
	}
	mustRefuse(t, m, llm.BudgetExceeded, money.Max, b)
	mustHold(t, m, 1, b).Settle(money.Max)
	mustRefuse(t, m, llm.BudgetExceeded, 0, b)
}

func TestThousandConcurrentHoldsOnTenCents(t *testing.T) {
	t.Parallel()
	m := New(Options{Spent: nothingSpent})
	b := key(10 * cent)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			h, err := m.Hold(t.Context(), []Budget{b}, cent/10)
			if err != nil {
				return
			}
			admitted.Add(1)
			h.Settle(cent / 10)
		})
	}
	wg.Wait()
	if s := m.Status(b); admitted.Load() != 100 || s.Spent != 10*cent || s.Held != 0 {
		t.Errorf("admitted %d, spent %s, held %s; want 100, %s and 0", admitted.Load(), s.Spent, s.Held, 10*cent)
	}
}

func TestChargeBelongsToTheWindowOfItsAdmission(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-30T23:59:59Z")
	m := New(Options{Spent: nothingSpent, Now: func() time.Time { return now }})
	b := key(money.Dollar)
	m.wait = 0
	h := mustHold(t, m, money.Dollar, b)
	mustRefuse(t, m, llm.RateLimited, cent, b)

	now = at(t, "2026-12-01T00:00:00Z")
	fresh := mustHold(t, m, money.Dollar, b)
	h.Settle(money.Dollar)
	s := m.Status(b)
	if s.Spent != 0 || s.Held != money.Dollar || !s.Start.Equal(now) {
		t.Errorf("status in the new window is %+v; want one dollar held and nothing spent", s)
	}
	now = at(t, "2026-11-30T23:00:00Z") // stepping back does not reopen the old window
	fresh.Settle(money.Dollar)
	mustRefuse(t, m, llm.BudgetExceeded, cent, b)
}

func TestEditTakesEffectImmediatelyAndKeepsSpending(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-13T10:00:00Z")
	charged := money.Amount(0)
	m := New(Options{
		Spent: func(context.Context, string, time.Time) (money.Amount, error) { return charged, nil },
		Now:   func() time.Time { return now },
	})
	b := key(money.Dollar)
	m.wait = 0
	h := mustHold(t, m, money.Dollar, b)
	mustRefuse(t, m, llm.RateLimited, cent, b)
	b.Amount = 2 * money.Dollar
	mustHold(t, m, money.Dollar, b).Release()
	b.Amount = money.Dollar / 2
	mustRefuse(t, m, llm.RateLimited, 1, b)

	b.Amount, b.Period = 2*money.Dollar, Daily
	open := mustHold(t, m, money.Dollar, b) // the open hold still counts
	mustRefuse(t, m, llm.RateLimited, cent, b)
	h.Settle(money.Dollar)
	open.Settle(cent)
	if s := m.Status(b); s.Spent != money.Dollar+cent || s.Held != 0 {
		t.Errorf("status after the period changed is %+v; want %s spent, nothing held", s, money.Dollar+cent)
	}
}

func TestWarningIsReportedOncePerWindow(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-13T10:00:00Z")
	var got []Status
	m := New(Options{
		Spent: nothingSpent, Now: func() time.Time { return now },
		OnWarn: func(_ Budget, s Status) { got = append(got, s) },
	})
	b := Budget{ID: "key:1", Amount: money.Dollar, Period: Daily, WarnPercent: 80, WarnOnly: true}
	for range 2 {
		for range 4 {
			mustHold(t, m, 40*cent, b).Settle(40 * cent) // 1.60 dollars in total, never rejected because of WarnOnly
		}
		now = now.AddDate(0, 0, 1)
	}
	if len(got) != 2 || got[0].Spent != 80*cent || got[0].Percent != 80 {
		t.Errorf("warnings: %+v, want one at 80 %% in each window", got)
	}
}

func TestPassedWarningIsNotReportedAgainAfterRestart(t *testing.T) {
	t.Parallel()
	m := New(Options{
		Spent:  func(context.Context, string, time.Time) (money.Amount, error) { return 90 * cent, nil },
		OnWarn: func(_ Budget, s Status) { t.Errorf("the warning was reported again: %+v", s) },
	})
	mustHold(t, m, cent, Budget{ID: "key:1", Amount: money.Dollar, Period: Total, WarnPercent: 80}).Settle(cent)
}

func TestSpentIsLoadedOnceForWaitingRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		m := New(Options{Spent: func(context.Context, string, time.Time) (money.Amount, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return 95 * cent, nil
		}})
		b := key(money.Dollar)
		leaving, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var admitted atomic.Int64
		ask := func(ctx context.Context) {
			if _, err := m.Hold(ctx, []Budget{b}, cent); err == nil {
				admitted.Add(1)
			}
		}
		wg.Go(func() { ask(leaving) }) // the client whose request loads the sum disconnects
		synctest.Wait()
		cancel()
		for range 50 {
			wg.Go(func() { ask(t.Context()) })
		}
		wg.Wait()
		if calls.Load() != 1 || admitted.Load() != 5 {
			t.Errorf("%d loads, %d admitted; want 1 and 5", calls.Load(), admitted.Load())
		}
	})
}

func TestUnknownSpendingIsRejectedAndLoadedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		m := New(Options{Spent: func(ctx context.Context, _ string, _ time.Time) (money.Amount, error) {
			if calls.Add(1) > 1 {
				return 0, nil
			}
			<-ctx.Done() // the database hangs
			return 0, ctx.Err()
		}})
		b := key(money.Dollar)
		began := time.Now()
		e := mustRefuse(t, m, llm.LedgerUnavailable, cent, b)
		if waited := time.Since(began); waited > 2*time.Second || e.RetryAfter <= 0 || !e.Retryable() {
			t.Errorf("rejected after %v with RetryAfter %v, retryable %t", waited, e.RetryAfter, e.Retryable())
		}
		for range 100 {
			mustRefuse(t, m, llm.LedgerUnavailable, cent, b)
		}
		if calls.Load() != 1 {
			t.Errorf("%d loads shortly after a failed load, want 1", calls.Load())
		}
		time.Sleep(time.Second)
		mustHold(t, m, cent, b).Release()
	})
}

func TestIdleBudgetsAreRemovedAboveMaximum(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-11-13T10:00:00Z")
	m := New(Options{Spent: nothingSpent, Now: func() time.Time { return now }, MaxIdle: 10})
	kept := mustHold(t, m, cent, Budget{ID: "key:kept", Amount: money.Dollar, Period: Total})
	for i := range 9 {
		mustHold(t, m, cent, Budget{ID: string(rune('a' + i)), Amount: money.Dollar, Period: Total}).Release()
	}
	now = now.Add(2 * time.Hour)
	mustHold(t, m, cent, Budget{ID: "key:new", Amount: money.Dollar, Period: Total}).Release()
	if len(m.budgets) != 2 || m.budgets["key:kept"] == nil {
		t.Errorf("%d budgets kept, want the held one and the new one", len(m.budgets))
	}
	kept.Release()
}

func TestUnknownZoneIsRejected(t *testing.T) {
	t.Parallel()
	m := New(Options{Spent: nothingSpent})
	if _, err := m.Hold(t.Context(), []Budget{{ID: "key:1", Amount: money.Dollar, Period: Daily, Zone: "Mars/Olympus"}}, 1); err == nil {
		t.Error("Hold with an unknown time zone succeeded, want an error")
	}
}
