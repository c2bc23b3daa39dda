// Package budget describes the budgets of a workspace: the amount spent, the time at which a budget will be used up at the current rate,
// the keys and models with the highest cost, and the rejected requests. The ledger enforces budgets; this package only reads.
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
	maxPoints    = 48                   // maximum number of points of a forecast curve
)

// Forecast is the expected spending if the recent rate continues.
type Forecast struct {
	Outlook Outlook
	PerDay  money.Amount // average recent spending per 24 hours
	// Expected is the expected spending at the reset. Low and High are the bounds of the 80 % interval. Without enough data, all three
	// are the amount spent; they are 0 for a budget without a reset.
	Expected, Low, High money.Amount
	// UsedUp is the time at which the budget will be used up. Earliest and Latest are the bounds of the 80 % interval. A time is zero if it
	// would be after the reset or, for a budget that never resets, more than a year away.
	UsedUp, Earliest, Latest time.Time

	curve curve
}

// Point is one point of a forecast curve: the expected spending at a time, with the bounds of the 80 % interval.
type Point struct {
	At                  time.Time
	Expected, Low, High money.Amount
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

// curve is a linear extrapolation whose uncertainty grows with time.
type curve struct {
	from   time.Time
	spent  float64
	rate   float64       // mean spending per interval
	spread float64       // standard deviation of the spending in an interval
	count  float64       // number of intervals observed
	factor float64       // half the width of the 80 % interval, in standard deviations
	step   time.Duration // length of an interval
}

// at returns the expected spending and its bounds at the given time. The variance is the sum of two parts: the variance of the remaining
// intervals, and the variance of the rate, which was estimated from count intervals.
func (c curve) at(t time.Time) (expected, low, high float64) {
	n := max(t.Sub(c.from), 0).Hours() / c.step.Hours()
	half := c.factor * c.spread * math.Sqrt(n+n*n/c.count)
	expected = c.spent + c.rate*n
	return expected, max(expected-half, c.spent), expected + half
}

// Predict extrapolates the recent spending of a budget to its reset.
func Predict(b *ledger.Budget, s ledger.Status, recent RecentSpending, now time.Time) Forecast {
	f := Forecast{Outlook: Unknown}
	if !s.End.IsZero() {
		f.Expected, f.Low, f.High = s.Spent, s.Spent, s.Spent
	}
	sums, total := recent.intervals(now)
	if covered := now.Sub(recent.From); covered > 0 && len(sums) > 0 {
		f.PerDay = amount(float64(total) * 24 / covered.Hours())
	}
	switch {
	case s.Spent >= b.Amount:
		f.Outlook, f.UsedUp, f.Earliest, f.Latest = UsedUp, now, now, now
	case len(sums) < minIntervals:
		return f
	case total == 0:
		f.Outlook = Idle
	default:
		f.Outlook = Lasts
	}
	if len(sums) < minIntervals {
		return f
	}
	f.curve = curve{
		from: now, spent: float64(s.Spent), step: recent.Step, count: float64(len(sums)), factor: quantile(len(sums) - 1),
		rate: float64(f.PerDay) * recent.Step.Hours() / 24, spread: deviation(sums),
	}
	end := s.End
	if end.IsZero() {
		end = now.Add(horizon)
	} else {
		expected, low, high := f.curve.at(end)
		f.Expected, f.Low, f.High = amount(expected), amount(low), amount(high)
	}
	if f.Outlook == UsedUp {
		return f
	}
	left := float64(b.Amount)
	f.UsedUp = f.curve.reaches(end, left, func(expected, _, _ float64) float64 { return expected })
	f.Earliest = f.curve.reaches(end, left, func(_, _, high float64) float64 { return high })
	f.Latest = f.curve.reaches(end, left, func(_, low, _ float64) float64 { return low })
	if !f.UsedUp.IsZero() {
		f.Outlook = RunsOut
	}
	return f
}

// Points returns the forecast curve up to the given time. It is empty if there is too little data, or if until is not after the time of the
// forecast.
func (f *Forecast) Points(until time.Time) []Point {
	if f.curve.step == 0 || !until.After(f.curve.from) {
		return nil
	}
	n := min(max(int(until.Sub(f.curve.from)/time.Hour), 1), maxPoints)
	points := make([]Point, 0, n+1)
	for i := range n + 1 {
		at := f.curve.from.Add(time.Duration(float64(until.Sub(f.curve.from)) * float64(i) / float64(n)))
		expected, low, high := f.curve.at(at)
		points = append(points, Point{At: at, Expected: amount(expected), Low: amount(low), High: amount(high)})
	}
	return points
}

// reaches returns the first time before end at which the spending reaches the given amount, or the zero time. line selects the expected
// spending or one of its bounds.
func (c curve) reaches(end time.Time, amount float64, line func(expected, low, high float64) float64) time.Time {
	const steps = 1000
	span := end.Sub(c.from)
	at := func(i int) time.Time { return c.from.Add(time.Duration(float64(span) * float64(i) / steps)) }
	for i := 1; i <= steps; i++ {
		if line(c.at(at(i))) < amount {
			continue
		}
		low, high := at(i-1), at(i)
		for high.Sub(low) > time.Minute {
			if middle := low.Add(high.Sub(low) / 2); line(c.at(middle)) < amount {
				low = middle
			} else {
				high = middle
			}
		}
		if !high.Before(end) {
			return time.Time{}
		}
		return high
	}
	return time.Time{}
}

// intervals returns the spending in each complete interval, newest first, and the total of all charges. The newest interval ends with the
// last complete hour.
func (s RecentSpending) intervals(now time.Time) (sums []float64, total money.Amount) {
	end := now.Truncate(time.Hour)
	if s.Step <= 0 || s.From.IsZero() || !s.From.Before(end) {
		return nil, 0
	}
	sums = make([]float64, end.Sub(s.From)/s.Step)
	for _, c := range s.Charges {
		if c.At.Before(s.From) {
			continue
		}
		total = total.Add(c.Amount)
		if i := int((end.Sub(c.At) - 1) / s.Step); c.At.Before(end) && i < len(sums) {
			sums[i] += float64(c.Amount)
		}
	}
	return sums, total
}

// deviation returns the sample standard deviation of at least two values.
func deviation(values []float64) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}

// quantile returns the 90 % quantile of the t distribution with the given degrees of freedom. It is the factor for a two-sided 80 %
// interval.
func quantile(freedom int) float64 {
	small := [...]float64{3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372}
	if freedom <= len(small) {
		return small[max(freedom, 1)-1]
	}
	return 1.282 + 0.9/float64(freedom) // within 0.003 of the exact value
}

// amount rounds a number of nano-dollars to a money.Amount.
func amount(nano float64) money.Amount {
	if nano >= float64(money.Max) {
		return money.Max
	}
	return money.Amount(math.Round(nano))
}
