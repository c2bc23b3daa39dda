package budget

import (
	"testing"
	"time"

	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// month returns a budget of 100 dollars in November with 40 dollars spent.
func month() (ledger.Budget, ledger.Status) {
	b := ledger.Budget{ID: "key:k", Amount: 100 * money.Dollar, Period: ledger.Monthly}
	start, end := ledger.Window(ledger.Monthly, time.UTC, noon)
	return b, ledger.Status{Loaded: true, Spent: 40 * money.Dollar, Start: start, End: end}
}

// daily returns recent spending with the given amounts in dollars, one per day, newest first.
func daily(perDay ...float64) RecentSpending {
	s := NewRecentSpending(ledger.Monthly, noon.AddDate(0, 0, -len(perDay)), noon)
	for i, dollars := range perDay {
		s.Charges = append(s.Charges, Charge{At: noon.Add(-time.Duration(24*i+5) * time.Hour), Amount: money.Amount(dollars * float64(money.Dollar))})
	}
	return s
}

func TestPredictExtrapolatesRecentSpending(t *testing.T) {
	t.Parallel()
	b, s := month()
	s.End = noon.AddDate(0, 0, 14)
	f := Predict(&b, s, daily(5, 5, 5, 5, 5, 5, 5), noon)
	if f.Outlook != RunsOut || f.Expected != 110*money.Dollar || f.PerDay != 5*money.Dollar {
		t.Errorf("%+v", f)
	}
	if want := noon.AddDate(0, 0, 12); f.UsedUp.Sub(want).Abs() > time.Hour {
		t.Errorf("used up %s, want %s", f.UsedUp, want)
	}
	s.End = noon.Add(-time.Hour)
	if f := Predict(&b, s, daily(5, 5, 5), noon); f.Expected != s.Spent || !f.UsedUp.IsZero() {
		t.Errorf("after the end: %+v", f)
	}
}

func TestPredictOutlook(t *testing.T) {
	t.Parallel()
	b, s := month()
	spent := s
	spent.Spent = 101 * money.Dollar
	total, forever := b, ledger.Status{Loaded: true, Spent: 40 * money.Dollar}
	total.Period = ledger.Total
	for name, test := range map[string]struct {
		budget ledger.Budget
		status ledger.Status
		recent RecentSpending
		want   Outlook
	}{
		"two days of data":         {b, s, daily(9, 9), Unknown},
		"no start":                 {b, s, RecentSpending{}, Unknown},
		"three days of data":       {b, s, daily(9, 9, 9), RunsOut},
		"low spending":             {b, s, daily(1, 2, 1, 2, 1), Lasts},
		"no spending":              {b, s, daily(0, 0, 0, 0), Idle},
		"exceeded, little data":    {b, spent, daily(3), UsedUp},
		"exceeded":                 {b, spent, daily(3, 3, 3), UsedUp},
		"never resets, high rate":  {total, forever, daily(1, 1, 1, 1, 1, 1, 1), RunsOut},
		"never resets, slow rate":  {total, forever, daily(0.01, 0.01, 0.01), Lasts},
		"now is before the start":  {b, s, RecentSpending{Step: time.Hour, From: noon.Add(time.Hour)}, Unknown},
		"charges before the start": {b, s, RecentSpending{Step: 24 * time.Hour, From: noon.AddDate(0, 0, -4), Charges: []Charge{{noon.AddDate(0, 0, -5), 99 * money.Dollar}}}, Idle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Predict(&test.budget, test.status, test.recent, noon)
			if got.Outlook != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
			if (got.Outlook == RunsOut || got.Outlook == UsedUp) == got.UsedUp.IsZero() {
				t.Errorf("outlook %s does not match UsedUp = %s", got.Outlook, got.UsedUp)
			}
		})
	}
}

func TestRecentSpendingOfBudget(t *testing.T) {
	t.Parallel()
	at := noon.Add(40 * time.Minute)
	for name, test := range map[string]struct {
		period ledger.Period
		since  time.Time
		want   RecentSpending
		count  int
	}{
		"day":           {ledger.Daily, time.Time{}, RecentSpending{Step: time.Hour, From: noon.AddDate(0, 0, -1)}, 24},
		"month":         {ledger.Monthly, time.Time{}, RecentSpending{Step: 24 * time.Hour, From: noon.AddDate(0, 0, -7)}, 7},
		"new key":       {ledger.Weekly, noon.Add(-75 * time.Hour), RecentSpending{Step: 24 * time.Hour, From: noon.Add(-75 * time.Hour)}, 3},
		"just created":  {ledger.Total, at, RecentSpending{Step: 24 * time.Hour, From: noon}, 0},
		"in the future": {ledger.Daily, at.Add(time.Hour), RecentSpending{Step: time.Hour, From: noon.Add(time.Hour)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := NewRecentSpending(test.period, test.since, at)
			intervals, _ := got.sum(at)
			if got.Step != test.want.Step || !got.From.Equal(test.want.From) || intervals != test.count {
				t.Errorf("%+v with %d intervals, want %+v with %d", got, intervals, test.want, test.count)
			}
		})
	}
}

func TestSampleStartsWithItsOwner(t *testing.T) {
	t.Parallel()
	first := noon.Add(-50 * time.Hour)
	charges := []Charge{{At: first, Amount: 1}, {At: noon.Add(-time.Hour), Amount: 1}}
	for name, test := range map[string]struct {
		created time.Time
		charges []Charge
		want    time.Time
	}{
		"created before the charges": {noon.AddDate(0, 0, -3), charges, noon.AddDate(0, 0, -3)},
		"created in the same hour":   {first.Add(20 * time.Minute), charges, first.Add(20 * time.Minute)},
		"created after a charge":     {noon.Add(-10 * time.Hour), charges, time.Time{}},
		"session with charges":       {time.Time{}, charges, first},
		"session without charges":    {time.Time{}, nil, noon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := Item{since: test.created}
			if got := i.spendingStart(test.charges, noon); !got.Equal(test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
