package ledger

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/money"
)

// totals holds the most recently received sums of all replicas for one budget.
type totals struct {
	spent     money.Amount
	totalHeld money.Amount // sum of all holds
	inflated  bool         // whether spent may include charges twice, until a new base is loaded
}

// totalsOf reads totals from three elements of a reply.
func totalsOf(reply []any, i int) totals {
	return totals{spent: amountOf(reply, i), totalHeld: amountOf(reply, i+1), inflated: textOf(reply, i+2) != ""}
}

// budgetState is this replica's state of a budget that it shares with other replicas. All fields except calls are
// guarded by the ledger's lock.
type budgetState struct {
	calls sync.RWMutex // read-locked during a call that adds to the sums in Redis, write-locked during a call that replaces them
	budgetWindow
	ownAmounts
	redisState

	known bool // whether the totals have been received or loaded
	totals

	allowanceRenewed time.Time // time of the heartbeat that last renewed localAllowance
	syncedAt         time.Time // time of the latest comparison with Redis
	refresh          allowanceRefresh
	failure          error     // error of the last load
	retry            time.Time // time of the next attempt to load
}

// budgetWindow is the current window of a budget.
type budgetWindow struct {
	budget     Budget // budget settings from the most recent call
	zone       *time.Location
	start, end time.Time
	rolls      int64 // number of windows that have ended
	used       time.Time
}

// ownAmounts holds the amounts that this replica has reserved and charged in the current window.
type ownAmounts struct {
	held           money.Amount
	localAllowance money.Amount // amount that this replica may spend without Redis
	charged        money.Amount // charges since the base (a sum from the database) was loaded into Redis
	charges        amountLog    // charges of this replica in this window
	delivered      amountLog    // part of charges that is in the database
	unsentFreed    money.Amount // settled holds that Redis does not have yet
	unsentCost     money.Amount // settled costs that Redis does not have yet
	sendingFreed   money.Amount // part of unsentFreed in a running call
	sendingCost    money.Amount // part of unsentCost in a running call
}

// redisState describes how the amounts of this replica relate to the amounts in Redis.
type redisState struct {
	baseID           string // ID of the base to which charged is relative; empty before the first load
	generation       int64
	epoch            string // epoch of the Redis data that includes all amounts of this replica
	outcomeUnknown   bool   // whether the outcome of the last call is unknown
	allowanceReduced bool   // whether localAllowance is smaller than the one stored in Redis
	mayDoubleCount   bool   // whether charged may include amounts that the base includes
	raisedBase       string // ID of the latest base above the sum in the database
}

func newBudgetState(b *Budget, zone *time.Location, now time.Time) *budgetState {
	start, end := Window(b.Period, zone, now)
	return &budgetState{budgetWindow: budgetWindow{budget: *b, zone: zone, start: start, end: end, used: now}}
}

// spanOf returns the period and zone of a budget as text.
func spanOf(b *Budget) string { return string(b.Period) + " " + b.Zone }

func (w *budgetWindow) over(now time.Time) bool { return !w.end.IsZero() && !now.Before(w.end) }

// roll begins the next window. Nothing has been spent in the next window, and open holds belong to the previous window.
func (t *budgetState) roll(now time.Time) {
	t.start, t.end = Window(t.budget.Period, t.zone, now)
	t.rolls++
	t.ownAmounts = ownAmounts{}
	t.baseID, t.outcomeUnknown, t.mayDoubleCount = "", false, false
	t.totals, t.refresh, t.failure = totals{}, allowanceRefresh{}, nil
}

// edit starts a new window because the period or zone has changed. It keeps holds; the amount spent must be loaded again.
func (t *budgetState) edit(b *Budget, zone *time.Location, now time.Time) {
	t.budget, t.zone = *b, zone
	t.start, t.end = Window(b.Period, zone, now)
	t.charged, t.unsentFreed, t.unsentCost, t.localAllowance, t.baseID = 0, 0, 0, 0, ""
	t.sendingFreed, t.sendingCost = 0, 0
	t.known, t.totals, t.refresh, t.failure = false, totals{totalHeld: t.held}, allowanceRefresh{}, nil
}

func (t *budgetState) setTotals(n totals) { t.known, t.totals = true, n }

// spentNow and heldNow return the totals including the settlements that Redis does not have yet.
func (t *budgetState) spentNow() money.Amount { return t.spent.Add(t.unsentCost) }
func (t *budgetState) heldNow() money.Amount  { return max(t.totalHeld.Sub(t.unsentFreed), t.held) }

func (t *budgetState) left() money.Amount { return t.budget.Amount.Sub(t.spentNow()).Sub(t.heldNow()) }

func (t *budgetState) status(amount money.Amount) Status {
	return Status{Loaded: t.known, Spent: t.spentNow(), Held: t.heldNow(), Start: t.start, End: t.end, Percent: percent(t.spentNow(), amount)}
}

// settle records the end of a hold and reports whether the budget's warning level was passed.
func (t *budgetState) settle(amount, cost money.Amount, at time.Time) (warn bool) {
	before := percent(t.spentNow(), t.budget.Amount)
	t.held = max(t.held-amount, 0)
	t.charged = t.charged.Add(cost)
	t.charges.add(at, cost)
	t.unsentFreed, t.unsentCost = t.unsentFreed.Add(amount), t.unsentCost.Add(cost)
	level := t.budget.WarnPercent
	if level <= 0 && t.budget.WarnOnly {
		level = 100
	}
	return t.known && level > 0 && before < float64(level) && percent(t.spentNow(), t.budget.Amount) >= float64(level)
}

// idle reports whether nothing is held and Redis has every settlement.
func (t *budgetState) idle() bool {
	return t.held == 0 && t.unsentFreed == 0 && t.unsentCost == 0 && !t.outcomeUnknown
}

// missing returns this replica's charges that a base loaded at the given time does not include. If ours is true, this replica loaded
// the base.
func (a *ownAmounts) missing(at time.Time, ours bool) money.Amount {
	if ours { // the base includes the entries in this replica's spool
		return a.charges.since(at)
	}
	return max(a.charges.sum.Sub(a.delivered.sum.Sub(a.delivered.since(at))), 0)
}

const (
	logInterval = 20 * time.Millisecond
	logSpan     = time.Minute
)

// amountLog is a sum that also records when its most recent amounts were added.
type amountLog struct {
	sum     money.Amount
	times   []int64 // start times of the intervals in Unix milliseconds, ascending
	amounts []money.Amount
}

func (l *amountLog) add(at time.Time, amount money.Amount) {
	if amount == 0 {
		return
	}
	l.sum = l.sum.Add(amount)
	ms, last := at.UnixMilli(), len(l.times)-1
	if last >= 0 && ms < l.times[last]+logInterval.Milliseconds() { // after the clock steps back, the last interval stays in use
		l.amounts[last] = l.amounts[last].Add(amount)
		return
	}
	drop := 0
	for drop < len(l.times) && l.times[drop] < ms-logSpan.Milliseconds() {
		drop++
	}
	l.times, l.amounts = append(l.times[drop:], ms), append(l.amounts[drop:], amount)
}

// since returns the sum of the amounts that may have been added at or after the given time, within logSpan.
func (l *amountLog) since(at time.Time) money.Amount {
	var sum money.Amount
	for i, ms := range l.times {
		if ms+logInterval.Milliseconds() > at.UnixMilli() {
			sum = sum.Add(l.amounts[i])
		}
	}
	return sum
}

// baseTime returns when a base was loaded: the first part of its ID.
func baseTime(baseID string) time.Time {
	at, _, _ := strings.Cut(baseID, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
