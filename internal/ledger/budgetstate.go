package ledger

import (
	"strconv"
	"sync"
	"time"

	"fairlead/internal/money"
)

// tab is what this replica knows of one budget that it shares with others. All but calls is guarded by the ledger's lock.
type tab struct {
	calls sync.RWMutex // held for reading while a step is on its way to Redis, for writing while everything is written anew

	budget     Budget // as last seen
	zone       *time.Location
	start, end time.Time
	rolls      int64 // counts the windows that have ended
	used       time.Time

	// Ours, as it is here.
	held    money.Amount
	purse   money.Amount // kept for us: what we may spend without Redis
	charged money.Amount // since the base in Redis was taken
	log     amountLog    // what we charged in this window
	arrived amountLog    // of that, what the database has
	free    money.Amount // of what has been settled and Redis was not told: held no more,
	cost    money.Amount // and charged

	sentFree money.Amount // part of free that a call under way carries
	sentCost money.Amount // part of cost that a call under way carries

	// Ours, as Redis has it.
	born       string // the base that charged counts from; empty before the first
	generation int64
	epoch      string // of Redis, in which it was told of everything
	unsure     bool   // a step may or may not have been taken
	returned   bool   // our purse has become smaller, and Redis keeps the larger one until it is told so
	rough      bool   // charged may count twice what the base includes

	// Everybody's, as last heard.
	known bool
	spent money.Amount
	all   money.Amount // held

	renewed time.Time // with which heartbeat its purse was
	looked  time.Time // when its place in Redis was last looked at
	share   share
	failure error     // of the last load
	retry   time.Time // when it may be tried again
}

func newTab(b *Budget, zone *time.Location, now time.Time) *tab {
	t := &tab{budget: *b, zone: zone, used: now}
	t.start, t.end = Window(b.Period, zone, now)
	return t
}

// spanOf names the period and zone of the window.
func spanOf(b *Budget) string { return string(b.Period) + " " + b.Zone }

func (t *tab) over(now time.Time) bool { return !t.end.IsZero() && !now.Before(t.end) }

// roll begins the next window. Nothing has been spent in it, and what is held belongs to the last one.
func (t *tab) roll(now time.Time) {
	t.start, t.end = Window(t.budget.Period, t.zone, now)
	t.rolls++
	t.held, t.charged, t.log, t.arrived, t.free, t.cost = 0, 0, amountLog{}, amountLog{}, 0, 0
	t.sentFree, t.sentCost = 0, 0
	t.born, t.unsure, t.rough = "", false, false
	t.purse, t.spent, t.all, t.share, t.failure = 0, 0, 0, share{}, nil
}

// edit begins a window of another period or zone: what is held counts on, what was spent must be asked for.
func (t *tab) edit(b *Budget, zone *time.Location, now time.Time) {
	t.budget, t.zone = *b, zone
	t.start, t.end = Window(b.Period, zone, now)
	t.charged, t.free, t.cost, t.purse, t.born = 0, 0, 0, 0, ""
	t.sentFree, t.sentCost = 0, 0
	t.known, t.spent, t.all, t.share, t.failure = false, 0, t.held, share{}, nil
}

func (t *tab) hear(spent, held money.Amount) {
	t.known, t.spent, t.all = true, spent, held
}

// spentNow and heldNow are everybody's sums with our steps that Redis was not told of.
func (t *tab) spentNow() money.Amount { return t.spent.Add(t.cost) }
func (t *tab) heldNow() money.Amount  { return max(t.all.Sub(t.free), t.held) }

func (t *tab) left() money.Amount { return t.budget.Amount.Sub(t.spentNow()).Sub(t.heldNow()) }

func (t *tab) status(amount money.Amount) Status {
	return Status{Loaded: t.known, Spent: t.spentNow(), Held: t.heldNow(), Start: t.start, End: t.end, Percent: percent(t.spentNow(), amount)}
}

// settle takes an end of one of our holds in, and says whether it passed the level of the budget's warning.
func (t *tab) settle(amount, cost money.Amount, at time.Time) (warn bool) {
	before := percent(t.spentNow(), t.budget.Amount)
	t.held = max(t.held-amount, 0)
	t.charged = t.charged.Add(cost)
	t.log.add(at, cost)
	t.free, t.cost = t.free.Add(amount), t.cost.Add(cost)
	level := t.budget.WarnPercent
	if level <= 0 && t.budget.WarnOnly {
		level = 100
	}
	return t.known && level > 0 && before < float64(level) && percent(t.spentNow(), t.budget.Amount) >= float64(level)
}

// idle says that Redis knows of everything and nothing is held.
func (t *tab) idle() bool { return t.held == 0 && t.free == 0 && t.cost == 0 && !t.unsure }

// missing is what we have charged in this window and a base that was taken at a moment does not include.
func (t *tab) missing(at time.Time, ours bool) money.Amount {
	if ours { // what waits in our own spool was counted with it
		return t.log.since(at)
	}
	return max(t.log.sum.Sub(t.arrived.sum.Sub(t.arrived.since(at))), 0)
}

const (
	logGrain = 20 * time.Millisecond
	logSpan  = time.Minute
)

// amountLog keeps a sum and when its last parts were added.
type amountLog struct {
	sum     money.Amount
	times   []int64 // beginnings of the grains, unix milliseconds, ascending
	amounts []money.Amount
}

func (l *amountLog) add(at time.Time, amount money.Amount) {
	if amount == 0 {
		return
	}
	l.sum = l.sum.Add(amount)
	ms, last := at.UnixMilli(), len(l.times)-1
	if last >= 0 && ms < l.times[last]+logGrain.Milliseconds() { // a clock that stepped back stays where it was
		l.amounts[last] = l.amounts[last].Add(amount)
		return
	}
	drop := 0
	for drop < len(l.times) && l.times[drop] < ms-logSpan.Milliseconds() {
		drop++
	}
	l.times, l.amounts = append(l.times[drop:], ms), append(l.amounts[drop:], amount)
}

// since sums what may have been added at a moment or later, as far as that is remembered.
func (l *amountLog) since(at time.Time) money.Amount {
	var sum money.Amount
	for i, ms := range l.times {
		if ms+logGrain.Milliseconds() > at.UnixMilli() {
			sum = sum.Add(l.amounts[i])
		}
	}
	return sum
}

// bornAt writes and bornTime reads the moment of a base, which also names it.
func bornAt(at time.Time, by string) string { return strconv.FormatInt(at.UnixMilli(), 10) + " " + by }

func bornTime(born string) time.Time {
	for i := range born {
		if born[i] == ' ' {
			born = born[:i]
			break
		}
	}
	ms, err := strconv.ParseInt(born, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
