// Package budget describes the budgets of a workspace: the amount spent, and the time at which a budget will be used up at the current rate.
// The ledger enforces budgets; this package only reads.
package budget

import (
	"math"
	"time"

	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
)

// Charge is the spending in an interval that begins at At.
type Charge struct {
	At     time.Time
	Amount money.Amount
}

// RecentSpending holds the recent charges from which a forecast is extrapolated.
type RecentSpending struct {
	Step    time.Duration // length of an interval
	From    time.Time     // start of the first interval; zero if no interval exists
	Charges []Charge      // charges per interval; intervals without spending may be missing
}

// Outlook is the one-word result of a forecast.
type Outlook string

// Budget outlooks.
const (
	Unknown Outlook = "unknown"  // there is too little data for a forecast
	Idle    Outlook = "idle"     // there is no recent spending
	Lasts   Outlook = "lasts"    // the budget lasts until the reset, or for a year if it never resets
	RunsOut Outlook = "runs_out" // the budget will be used up before the reset, or within a year if it never resets
	UsedUp  Outlook = "used_up"  // the budget has been used up
)

const (
	minIntervals = 3                    // minimum number of complete intervals for a forecast
	horizon      = 365 * 24 * time.Hour // maximum time over which a budget without a reset is extrapolated
)

// Forecast is the expected spending if the recent rate continues.
type Forecast struct {
	Outlook  Outlook
	PerDay   money.Amount // average recent spending per 24 hours
	Expected money.Amount // expected spending at the reset; without enough data the amount spent, and 0 for a budget without a reset
	UsedUp   time.Time    // when the budget will be used up; zero if not before the reset or, if it never resets, more than a year away
}

// NewRecentSpending returns the intervals for a budget, without charges: hourly intervals of the last 24 hours for a daily budget, otherwise
// 24-hour intervals of the last 7 days. Intervals begin at full hours, because charges are stored as sums per hour. The first interval does
// not begin before the hour of since, the time at which the owner's spending began.
func NewRecentSpending(p ledger.Period, since, now time.Time) RecentSpending {
	span, step := 7*24*time.Hour, 24*time.Hour
	if p == ledger.Daily {
		span, step = 24*time.Hour, time.Hour
	}
	from := now.Add(-span).Truncate(time.Hour)
	if since.After(from) {
		from = since.Truncate(time.Hour)
	}
	return RecentSpending{Step: step, From: from.UTC()}
}

// Predict extrapolates the recent spending of a budget to its reset.
func Predict(b *ledger.Budget, s ledger.Status, recent RecentSpending, now time.Time) Forecast {
	f := Forecast{Outlook: Unknown}
	if !s.End.IsZero() {
		f.Expected = s.Spent
	}
	intervals, total := recent.sum(now)
	perHour := 0.0
	if covered := now.Sub(recent.From); covered > 0 && intervals > 0 {
		perHour = float64(total) / covered.Hours()
		f.PerDay = amount(perHour * 24)
	}
	end := s.End
	if end.IsZero() {
		end = now.Add(horizon)
	} else if intervals >= minIntervals {
		f.Expected = amount(float64(s.Spent) + perHour*max(end.Sub(now), 0).Hours())
	}
	hoursLeft := float64(b.Amount-s.Spent) / perHour
	switch {
	case s.Spent >= b.Amount:
		f.Outlook, f.UsedUp = UsedUp, now
	case intervals < minIntervals:
	case total == 0:
		f.Outlook = Idle
	case hoursLeft < end.Sub(now).Hours():
		f.Outlook, f.UsedUp = RunsOut, now.Add(time.Duration(hoursLeft*float64(time.Hour)))
	default:
		f.Outlook = Lasts
	}
	return f
}

// sum returns the number of complete intervals and the total of all charges. The newest interval ends with the last complete hour.
func (s RecentSpending) sum(now time.Time) (intervals int, total money.Amount) {
	end := now.Truncate(time.Hour)
	if s.Step <= 0 || s.From.IsZero() || !s.From.Before(end) {
		return 0, 0
	}
	for _, c := range s.Charges {
		if !c.At.Before(s.From) {
			total = total.Add(c.Amount)
		}
	}
	return int(end.Sub(s.From) / s.Step), total
}

// amount rounds a number of nano-dollars to a money.Amount.
func amount(nano float64) money.Amount {
	if nano >= float64(money.Max) {
		return money.Max
	}
	return money.Amount(math.Round(nano))
}
