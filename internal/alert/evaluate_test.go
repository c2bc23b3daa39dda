package alert

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC) // 2026-11-17 is a Tuesday

// run evaluates a rule on successive values, one per minute, and returns the types of the events.
func run(r *Rule, values ...float64) []EventType {
	var states []State
	var events []EventType
	for i, v := range values {
		now := noon.Add(time.Duration(i) * time.Minute)
		one := Measurement{Value: v, Known: v != unknown}
		for _, c := range Evaluate(r, states, []Measurement{one}, now) {
			c.Next.Revision++
			states = []State{c.Next}
			if c.Event != nil {
				events = append(events, c.Event.Type)
			}
		}
	}
	return events
}

const unknown = -1e9

func TestEvaluateReportsEachCrossingOnce(t *testing.T) {
	t.Parallel()
	errorRate := &Rule{Kind: ErrorRate, Threshold: 5, Window: "5m", Channels: []string{"c"}}
	expiry := &Rule{Kind: KeyExpiry, Threshold: 7}
	quality := &Rule{Kind: Quality, Threshold: -2, Window: "30d"}
	silence := &Rule{Kind: Requests, Threshold: 1, Window: "15m"}
	few := &Rule{Kind: Requests, Threshold: 100, Window: "1h"}
	free := &Rule{Kind: Savings, Threshold: 0, Window: "7d"}
	for _, test := range []struct {
		name   string
		rule   *Rule
		values []float64
		want   []EventType
	}{
		{"below the bound", errorRate, []float64{1, 4.99, 0}, nil},
		{"one crossing", errorRate, []float64{1, 5, 9, 12, 7}, []EventType{Firing}},
		{"a value near the bound does not flap", errorRate, []float64{5, 4.9, 5.1, 4.6, 5.2}, []EventType{Firing}},
		{"recovers by a margin", errorRate, []float64{5, 4.9, 4.4, 4.9, 5}, []EventType{Firing, Recovered, Firing}},
		{"a low value fires", expiry, []float64{30, 6.9, 3}, []EventType{Firing}},
		{"an extended key recovers", expiry, []float64{6, 7.1, 90}, []EventType{Firing, Recovered}},
		{"a negative bound", quality, []float64{-1, -2.1, -1.9, -1.4}, []EventType{Firing, Recovered}},
		{"a bound of 0 has a margin", free, []float64{1, -0.1, 0.2, 0.6}, []EventType{Firing, Recovered}},
		{"no requests, then one", silence, []float64{3, 1, 0, 0, 1}, []EventType{Firing, Recovered}},
		{"few requests recover by a margin", few, []float64{120, 99, 109, 110}, []EventType{Firing, Recovered}},
		{"unknown values change nothing", errorRate, []float64{unknown, 9, unknown, unknown, 9}, []EventType{Firing}},
		{"recovers after a window without data", errorRate, []float64{9, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown}, []EventType{Firing, Recovered}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, run(test.rule, test.values...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEvaluateSeparatesSubjects(t *testing.T) {
	t.Parallel()
	r := &Rule{ID: "rule_1", Name: "Keys", Kind: KeyExpiry, Threshold: 7, Channels: []string{"c"}}
	first := Evaluate(r, nil, []Measurement{{Subject: "key_a", Label: "a", Value: 3, Known: true}, {Subject: "key_b", Label: "b", Value: 30, Known: true}}, noon)
	if len(first) != 2 || first[0].Event == nil || first[0].Event.Label != "a" || first[1].Event != nil {
		t.Fatalf("first evaluation: %+v", first)
	}
	states := []State{first[0].Next, first[1].Next}
	second := Evaluate(r, states, []Measurement{{Subject: "key_b", Label: "b", Value: 30, Known: true}}, noon.Add(time.Hour))
	if len(second) != 2 || !second[1].Remove || second[1].Event == nil || second[1].Event.Type != Recovered || !second[1].Event.Since.Equal(noon) {
		t.Errorf("after the key was deleted: %+v", second)
	}
}

func TestMutedRulesRecordCrossingsWithoutSending(t *testing.T) {
	t.Parallel()
	r := &Rule{Kind: ErrorRate, Threshold: 5, Channels: []string{"c"}, MutedUntil: noon.Add(time.Minute)}
	fired := Evaluate(r, nil, []Measurement{{Value: 9, Known: true}}, noon)[0]
	if fired.Event == nil || !fired.Event.Muted || fired.Next.Notified {
		t.Fatalf("while muted: %+v", fired)
	}
	recovered := Evaluate(r, []State{fired.Next}, []Measurement{{Value: 0, Known: true}}, noon.Add(time.Hour))[0]
	if recovered.Event == nil || !recovered.Event.Muted {
		t.Errorf("recovery of a muted alert: got event %+v, want a muted one", recovered.Event)
	}
}

func TestWindowsStart(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 17, 12, 30, 0, 0, time.UTC)
	for window, want := range map[Window]string{
		"15m": "2026-11-17T12:15:00Z", "7d": "2026-11-10T12:30:00Z", "day": "2026-11-17T00:00:00Z", "week": "2026-11-16T00:00:00Z", "month": "2026-11-01T00:00:00Z",
	} {
		if got := window.Start(at).Format(time.RFC3339); got != want {
			t.Errorf("%s starts at %s, want %s", window, got, want)
		}
	}
	if sunday := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC); Window("week").Start(sunday).Day() != 16 {
		t.Errorf("the week of a Sunday starts on %s, want the 16th", Window("week").Start(sunday))
	}
}

func TestFiguresBecomeValues(t *testing.T) {
	t.Parallel()
	f := requestlog.Figures{
		RequestCounts: requestlog.RequestCounts{Requests: 100, Served: 80, Errors: 7, Fallbacks: 8, Compared: 50},
		Spending:      requestlog.Spending{Cost: 3 * money.Dollar, ComparedCost: 2 * money.Dollar, BaselineCost: 8 * money.Dollar},
		Quantiles:     requestlog.Quantiles{LatencyP95: 1200},
	}
	for kind, want := range map[Kind]float64{Spend: 3, ErrorRate: 7, FallbackRate: 10, LatencyP95: 1200, Requests: 100, Savings: 75} {
		if got := fromFigures(kind, &f); !got.Known || got.Value != want {
			t.Errorf("%s: %+v, want %v", kind, got, want)
		}
	}
	few := requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 19, Served: 19, Errors: 19, Compared: 19}}
	for _, kind := range []Kind{ErrorRate, FallbackRate, LatencyP95, Savings} {
		if got := fromFigures(kind, &few); got.Known {
			t.Errorf("%s of 19 requests is known: %+v", kind, got)
		}
	}
	for _, kind := range []Kind{Spend, Requests} {
		if got := fromFigures(kind, &requestlog.Figures{}); !got.Known || got.Value != 0 {
			t.Errorf("%s without requests: %+v, want a known 0", kind, got)
		}
	}
}

func TestRequestsRuleWaitsForAWholeWindow(t *testing.T) {
	t.Parallel()
	d := new(desk)
	for age, want := range map[time.Duration]bool{0: false, 14 * time.Minute: false, 15 * time.Minute: true} {
		r := Rule{Kind: Requests, Threshold: 1, Window: "15m", CreatedAt: noon.Add(-age)}
		list, err := NewMeter(Sources{Figures: d}).begin(noon).measure(t.Context(), &r)
		if err != nil || len(list) != 1 || list[0].Known != want {
			t.Errorf("after %s: %+v %v, want known %v", age, list, err, want)
		}
	}
}

// budgetFacts implements Facts with budgets and without keys.
type budgetFacts []budget.Item

func (f budgetFacts) Keys(context.Context, string) ([]account.Key, error)    { return nil, nil }
func (f budgetFacts) Operators(context.Context) (string, error)              { return "", nil }
func (f budgetFacts) Budgets(context.Context, string) ([]budget.Item, error) { return f, nil }

func TestBudgetRulesUseTheForecastOfTheBudget(t *testing.T) {
	t.Parallel()
	item := func(id, keyID string, f budget.Forecast, end time.Time) budget.Item {
		return budget.Item{
			ID: id, KeyID: keyID, Budget: ledger.Budget{Name: id, Amount: 100 * money.Dollar}, Status: ledger.Status{Spent: 40 * money.Dollar, End: end}, Forecast: f,
		}
	}
	end := noon.AddDate(0, 0, 14)
	facts := budgetFacts{
		item("ws", "", budget.Forecast{Outlook: budget.RunsOut, Expected: 110 * money.Dollar, UsedUp: noon.AddDate(0, 0, 12)}, end),
		item("key_new", "key_new", budget.Forecast{Outlook: budget.Unknown, Expected: 40 * money.Dollar}, end),
		item("key_total", "key_total", budget.Forecast{Outlook: budget.Lasts}, time.Time{}),
	}
	texts := func(r Rule) []string {
		list, err := NewMeter(Sources{Facts: facts}).begin(noon).measure(t.Context(), &r)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range list {
			out = append(out, fmt.Sprintf("%s %.0f %s", m.Label, m.Value, m.Detail))
		}
		return out
	}
	if diff := cmp.Diff([]string{
		"ws 110 Spent $40.00 of $100.00. Expected at the end of the period: $110.00. Runs out around 29 November 12:00 UTC.",
		"key_new 40 Spent $40.00 of $100.00. Not enough data for a forecast.",
	}, texts(Rule{Kind: Forecast})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"key_total 40 Spent $40.00 of $100.00."}, texts(Rule{Kind: Budget, KeyID: "key_total"})); diff != "" {
		t.Error(diff)
	}
}
