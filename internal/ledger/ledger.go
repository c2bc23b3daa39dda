// Package ledger tracks spending. Before a request is dispatched, it holds the request's maximum cost on every budget
// that applies; afterwards it settles the actual cost. The durable record of a charge is the request's log entry. A
// ledger keeps only the running sums needed for admission.
package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/money"
)

// Period is the interval after which a budget resets.
type Period string

// Periods of a budget.
const (
	Daily   Period = "day"
	Weekly  Period = "week" // starts on Monday
	Monthly Period = "month"
	Total   Period = "total" // the budget never resets
)

// Budget limits the spending of a key, a workspace, or a session or end user of a key.
type Budget struct {
	ID          string // budget ID, such as "key:key_01J…" or "ws:ws_01J…"
	Name        string // name of the key, the workspace, the session or the end user
	Amount      money.Amount
	Period      Period
	Zone        string // IANA time zone; empty for UTC
	WarnPercent int    // percentage of Amount that triggers a warning; 0 for none, or for 100 with WarnOnly
	WarnOnly    bool   // whether requests that exceed the budget cause only a warning and are not rejected
}

// Status is the state of a budget in its current window.
type Status struct {
	Loaded  bool // whether the amount spent is loaded; false until the budget is first used
	Spent   money.Amount
	Held    money.Amount
	Start   time.Time // start of the window; zero for Total
	End     time.Time // end of the window; zero for Total
	Percent float64   // percentage of Amount that has been spent
}

// Ledger reserves and charges amounts on budgets. Implementations keep the sums in the process or share them between replicas.
type Ledger interface {
	// Hold reserves the amount on all budgets or on none. It returns an *llm.Error: BudgetExceeded when too little is left, RateLimited when
	// only the reservations of other requests prevent the hold, LedgerUnavailable when the amount spent is unknown or only other replicas may
	// spend the rest of a budget, or ClientCancelled when ctx is done. Hold waits up to two seconds for reservations to end, in the order of
	// the calls. The hold must be settled or released. Hold uses the settings in budgets: edits take effect immediately and keep the amount
	// spent.
	Hold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error)
	// TryHold is Hold without waiting. It also returns RateLimited while other requests wait for one of the budgets.
	TryHold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error)
	// Status returns the state of a budget without loading anything.
	Status(b Budget) Status
}

// Hold is a reservation. Its methods are safe for concurrent use. Only the first call of Settle or Release has an
// effect.
type Hold struct {
	amount money.Amount
	done   atomic.Bool
	end    func(cost money.Amount)
}

// NewHold returns a hold for an implementation of Ledger. end is called exactly once, with the cost.
func NewHold(amount money.Amount, end func(cost money.Amount)) *Hold {
	return &Hold{amount: amount, end: end}
}

// Amount returns the reserved amount.
func (h *Hold) Amount() money.Amount { return h.amount }

// Settle charges the cost and frees the rest of the reservation. A negative cost is an error of the provider and
// charges nothing.
func (h *Hold) Settle(cost money.Amount) {
	if h.done.CompareAndSwap(false, true) {
		h.end(max(cost, 0))
	}
}

// Release frees the whole reservation. It does nothing after Settle, so it can be deferred.
func (h *Hold) Release() { h.Settle(0) }
