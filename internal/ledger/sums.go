package ledger

import (
	"time"

	"fairlead.dev/internal/money"
)

// window holds the sums of one budget over one period. It is guarded by the ledger's lock.
type window struct {
	id         string // ID of the budget
	budget     Budget // budget settings from the most recent call
	zone       *time.Location
	start, end time.Time
	spent      money.Amount
	held       money.Amount
	warned     bool
	used       time.Time

	loaded  bool
	loading chan struct{} // closed when the running load ends
	failure error         // error of the last load
	retry   time.Time     // time of the next attempt to load

	successor *window // window that replaced this one after an edit
}

// newWindow returns the window that follows old, which may be nil. If old has ended, nothing has been spent in the new
// window and nothing needs loading, because every charge belongs to the window in which it was admitted. If an edit
// changed the period or the zone, the sum must be loaded, and open holds count in both windows.
func newWindow(b *Budget, zone *time.Location, now time.Time, old *window) *window {
	start, end := Window(b.Period, zone, now)
	w := &window{id: b.ID, budget: *b, zone: zone, start: start, end: end, used: now}
	switch {
	case old == nil:
	case old.sameSpans(b):
		w.loaded = old.loaded
	default:
		w.held = old.held
		old.successor = w
	}
	return w
}

func (w *window) sameSpans(b *Budget) bool {
	return w.budget.Period == b.Period && w.budget.Zone == b.Zone
}

// settle replaces a hold with its cost. It appends the window to warned if the cost passes the warning level.
func (w *window) settle(held, cost money.Amount, warned []*window) []*window {
	w.held = max(w.held-held, 0) // the sum of holds is too small if it was capped at the largest amount
	w.spent = w.spent.Add(cost)
	if w.successor != nil {
		return w.successor.settle(held, cost, warned)
	}
	if !w.warned && w.loaded && w.atWarning() {
		w.warned = true
		warned = append(warned, w)
	}
	return warned
}

func (w *window) atWarning() bool {
	level := w.budget.WarnPercent
	if level <= 0 && w.budget.WarnOnly {
		level = 100
	}
	return level > 0 && percent(w.spent, w.budget.Amount) >= float64(level)
}

func percent(spent, amount money.Amount) float64 {
	if amount <= 0 {
		return 100
	}
	return 100 * float64(spent) / float64(amount)
}

func (w *window) status(amount money.Amount) Status {
	return Status{Loaded: w.loaded, Spent: w.spent, Held: w.held, Start: w.start, End: w.end, Percent: percent(w.spent, amount)}
}
