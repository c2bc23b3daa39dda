package ledger

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// The model keeps every charge with its admission time, like the log, and computes the sums from the charges.
func TestLedgerAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		t.Repeat(map[string]func(*rapid.T){
			"hold":    m.hold,
			"settle":  m.settle,
			"release": m.release,
			"wait":    m.wait,
			"edit":    m.edit,
			"crash":   m.crash,
			"":        m.check,
		})
	})
}

type model struct {
	now     time.Time
	ledger  *Memory
	budgets []Budget
	charges []charge
	holds   []*modelHold
}

type charge struct {
	budget string
	at     time.Time
	cost   money.Amount
}

type modelHold struct {
	hold    *Hold
	at      time.Time
	budgets []Budget
	amount  money.Amount
}

func newModel() *model {
	m := &model{
		now: time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC),
		budgets: []Budget{
			{ID: "key:a", Amount: 100, Period: Daily, Zone: "Europe/Berlin"},
			{ID: "key:b", Amount: 50, Period: Weekly},
			{ID: "ws:w", Amount: 1000, Period: Total},
		},
	}
	m.restart()
	return m
}

func (m *model) restart() {
	m.holds = nil
	m.ledger = New(Options{
		Now: func() time.Time { return m.now },
		Spent: func(_ context.Context, id string, since time.Time) (money.Amount, error) {
			return m.spent(id, since, time.Time{}), nil
		},
	})
	m.ledger.wait = 0 // no other goroutine releases a hold
}

func (m *model) spent(id string, from, to time.Time) money.Amount {
	var sum money.Amount
	for _, c := range m.charges {
		if c.budget == id && !c.at.Before(from) && (to.IsZero() || c.at.Before(to)) {
			sum += c.cost
		}
	}
	return sum
}

// held returns the sum of the holds that were admitted in the budget's current window.
func (m *model) held(b Budget, from time.Time) money.Amount {
	var sum money.Amount
	for _, h := range m.holds {
		for _, on := range h.budgets {
			if on.ID == b.ID && !h.at.Before(from) {
				sum += h.amount
			}
		}
	}
	return sum
}

func (m *model) window(b Budget) (start, end time.Time) {
	zone, err := time.LoadLocation(b.Zone)
	if err != nil {
		panic(err)
	}
	return Window(b.Period, zone, m.now)
}

func (m *model) hold(t *rapid.T) {
	amount := money.Amount(rapid.Int64Range(0, 40).Draw(t, "amount"))
	budgets := []Budget{m.budgets[rapid.IntRange(0, 1).Draw(t, "key")], m.budgets[2]}
	var want llm.Kind
	for _, b := range budgets {
		start, end := m.window(b)
		spent := m.spent(b.ID, start, end)
		taken := spent + m.held(b, start)
		switch {
		case spent >= b.Amount || spent+amount > b.Amount:
			want = llm.BudgetExceeded
		case (taken >= b.Amount || taken+amount > b.Amount) && want == "":
			want = llm.RateLimited
		}
	}
	h, err := m.ledger.Hold(t.Context(), budgets, amount)
	var got llm.Kind
	if e, refused := errors.AsType[*llm.Error](err); refused {
		got = e.Kind
	}
	if got != want || (err == nil) != (want == "") {
		t.Fatalf("Hold: %v, want kind %q", err, want)
	}
	if err == nil {
		m.holds = append(m.holds, &modelHold{h, m.now, budgets, amount})
	}
}

func (m *model) take(t *rapid.T) *modelHold {
	if len(m.holds) == 0 {
		t.Skip("no holds: this step does not apply")
	}
	i := rapid.IntRange(0, len(m.holds)-1).Draw(t, "hold")
	h := m.holds[i]
	m.holds = append(m.holds[:i], m.holds[i+1:]...)
	return h
}

func (m *model) settle(t *rapid.T) {
	h := m.take(t)
	cost := money.Amount(rapid.Int64Range(-3, int64(h.amount)+2).Draw(t, "cost"))
	h.hold.Settle(cost)
	h.hold.Release()
	for _, b := range h.budgets {
		m.charges = append(m.charges, charge{b.ID, h.at, max(cost, 0)})
	}
}

func (m *model) release(t *rapid.T) {
	h := m.take(t)
	h.hold.Release()
	h.hold.Settle(1000)
}

func (m *model) wait(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.Int64Range(0, 30*3600).Draw(t, "seconds")) * time.Second)
}

func (m *model) edit(t *rapid.T) {
	i := rapid.IntRange(0, 2).Draw(t, "budget")
	m.budgets[i].Amount = money.Amount(rapid.Int64Range(0, 300).Draw(t, "new amount"))
}

// crash restarts the ledger without its holds. The log keeps the charges.
func (m *model) crash(*rapid.T) { m.restart() }

func (m *model) check(t *rapid.T) {
	for _, b := range m.budgets {
		s := m.ledger.Status(b)
		if !s.Loaded {
			continue
		}
		start, end := m.window(b)
		if !s.Start.Equal(start) || !s.End.Equal(end) {
			t.Fatalf("%s: window %v to %v, want %v to %v", b.ID, s.Start, s.End, start, end)
		}
		if spent, held := m.spent(b.ID, start, end), m.held(b, start); s.Spent != spent || s.Held != held {
			t.Fatalf("%s: spent %d, held %d; want %d and %d", b.ID, s.Spent, s.Held, spent, held)
		}
	}
}
