// Package ledger owns spending: it holds the maximum cost of a request on every budget that applies before the request is
// dispatched, and settles the actual cost afterwards. The record of a charge is the request's entry; a ledger keeps only
// the running sums that admission needs.
package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"fairlead/internal/money"
)

// Period is how often a budget resets.
type Period string

// The periods of a budget.
const (
	Daily   Period = "day"
	Weekly  Period = "week" // from Monday
	Monthly Period = "month"
	Total   Period = "total" // never
)

// Budget limits the spending of a key, a workspace, or a session or end user of a key.
type Budget struct {
	ID          string // such as "key:key_01J…" or "ws:ws_01J…"
	Name        string // of the key, the workspace, the session or the end user
	Amount      money.Amount
	Period      Period
	Zone        string // IANA name; empty for UTC
	WarnPercent int    // report when this much is spent; 0 for no report
	WarnOnly    bool   // report, but never reject
}

// Status is the state of a budget in its current window.
type Status struct {
	Loaded  bool // false until the budget is first used; Spent is unknown until then
	Spent   money.Amount
	Held    money.Amount
	Start   time.Time // zero for Total
	End     time.Time // zero for Total
	Percent float64   // spent of the amount
}

// Ledger admits spending. Implementations may keep the sums in this process or share them between replicas.
type Ledger interface {
	// Hold reserves the amount on all budgets, or on none and returns an *llm.Error: BudgetExceeded when the money spent leaves too
	// little, RateLimited when the reservations of other requests do, or LedgerUnavailable when the money spent is unknown. Hold
	// waits up to two seconds for reservations to end, in the order of the calls. The hold must be settled or released. The
	// budgets apply as passed: edits take effect immediately and keep the money spent.
	Hold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error)
	// TryHold is Hold without the wait. It also returns RateLimited while other requests wait for one of the budgets.
	TryHold(ctx context.Context, budgets []Budget, amount money.Amount) (*Hold, error)
	// Status returns the state of a budget without loading anything.
	Status(b Budget) Status
}

// Hold is a reservation. Its methods may be called from any goroutine; the first of them counts.
type Hold struct {
	amount money.Amount
	done   atomic.Bool
	end    func(cost money.Amount)
}

// NewHold returns a hold for an implementation of Ledger; end is called exactly once, with the cost.
func NewHold(amount money.Amount, end func(cost money.Amount)) *Hold {
	return &Hold{amount: amount, end: end}
}

// Amount returns the reserved amount.
func (h *Hold) Amount() money.Amount { return h.amount }

// Settle charges the cost and frees the rest. A negative cost is an error of the provider and charges nothing.
func (h *Hold) Settle(cost money.Amount) {
	if h.done.CompareAndSwap(false, true) {
		h.end(max(cost, 0))
	}
}

// Release frees the whole reservation. After Settle it does nothing, so that it can be deferred.
func (h *Hold) Release() { h.Settle(0) }
