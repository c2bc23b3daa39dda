package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// trio returns a snapshot with a small, a medium and a large model at two providers each. They cost 1, 4 and 16 dollars
// per million input and output tokens.
func trio(t testing.TB) *route.Snapshot {
	t.Helper()
	rows := abilities{}
	var providers []*provider.Provider
	for _, name := range []string{"east", "west"} {
		p := &provider.Provider{Name: name}
		for i, model := range []string{"small", "middle", "large"} {
			rate := money.PerMillion(math.Pow(4, float64(i)))
			if name == "west" {
				rate = rate * 11 / 10 // provider east is cheaper than provider west
			}
			price := &catalog.Price{Input: rate, Output: rate, CacheRead: new(rate / 10)}
			p.Targets = append(p.Targets, &provider.Target{
				Provider: name, Upstream: model, Price: price,
				Model: &catalog.Model{Name: model, Op: llm.Chat, Context: 128_000, Abilities: llm.Tools},
			})
			rows[model] = abilityAt(0.2 * float64(i))
		}
		providers = append(providers, p)
	}
	return route.NewSnapshot(knownModels(t), providers, rows)
}

func abilityAt(level float64) (a predict.Ability) {
	for i := range a.Levels {
		a.Levels[i] = level
	}
	return a
}

// mediumChat are the features of every request.
var mediumChat = predict.Features{Task: predict.Chat, Difficulty: 2}

// qualityOf returns the predicted quality of a model of trio.
func qualityOf(place int) float64 {
	return predict.Success(&mediumChat, new(abilityAt(0.2*float64(place))), "").Probability
}

// asked returns a request for auto. Simple requests are routed to the small model, hard ones to the large model.
func asked(n int, tradeoff float64) route.Input {
	return route.Input{
		Op: llm.Chat, Model: "auto", Objective: route.Objective{Name: "number", Tradeoff: tradeoff}, Prediction: route.Prediction{Predictor: predictor, Features: mediumChat}, ResponseOptions: route.ResponseOptions{Choices: 1},
		PromptSize: route.PromptSize{InputTokens: 100}, At: noon.Add(-time.Duration(n) * time.Minute),
	}
}

// logged returns the entry of a request without policies that was served by its first choice.
func logged(t testing.TB, n int, in route.Input, snap *route.Snapshot, c route.Conditions) requestlog.Entry {
	t.Helper()
	d, err := route.Decide(&in, snap, c)
	at := noon.Add(-time.Duration(n) * time.Minute)
	e := requestlog.Entry{ID: id.Floor("req", at), Timing: requestlog.Timing{Time: at}, Routing: requestlog.Routing{Decision: d}}
	if err == nil {
		first := d.Plan[0]
		e.Model, e.Provider, e.Usage = first.Model.Name, first.Provider, llm.Usage{Input: 1000, Output: 500}
		e.Cost = new(first.Price.Cost(e.Usage))
		e.BaselineCost = amount("0.024")
	}
	return e
}

func run(t testing.TB, source Source, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), source, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var roughly = cmpopts.EquateApprox(0, 1e-9)

func TestBacktestReportsChangesOfDraft(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	var source traffic
	for n, tradeoff := range []float64{0, 0, 0, 1} { // three requests for the small model, one for the large
		e := logged(t, n, asked(n, tradeoff), snap, route.Conditions{})
		source = append(source, row(t, &e))
	}
	draft := Rules{Snapshot: snap, Policies: parse(t, snap, `
policies:
  - {name: better, when: "time.hour == 11", pin: middle}
  - {name: never, when: "time.hour == 3", deny: "No."}
  - {name: off, enabled: false, deny: "No."}
  - {name: everywhere, exclude: {models: [large]}}
`)}

	got := run(t, source, Options{Live: Rules{Snapshot: snap}, Draft: &draft, Predictor: predictor})

	// At noon no request is pinned. After noon, two requests for the small model and the request for the large model
	// are pinned.
	change := func(n int, from, to string, before, after string, chances ...float64) Change {
		at := noon.Add(-time.Duration(n) * time.Minute)
		return Change{
			RequestID: id.Floor("req", at), Time: at, From: from, To: to, CostBefore: amount(before), CostAfter: amount(after),
			SuccessBefore: &chances[0], SuccessAfter: &chances[1], Policy: "better",
		}
	}
	small, middle, large := qualityOf(0), qualityOf(1), qualityOf(2)
	down := change(3, "east/large", "east/middle", "0.024", "0.006", large, middle)
	up2, up1 := change(2, "east/small", "east/middle", "0.0015", "0.006", small, middle), change(1, "east/small", "east/middle", "0.0015", "0.006", small, middle)
	steps := []float64{0, middle - small, middle - small, middle - large}
	var m mean
	for _, s := range steps {
		m.add(s)
	}
	low, high := m.interval()
	want := Comparison{
		Changed: 3, Unchanged: 1, Rejected: []Rejection{},
		Routes: []Flow{
			{From: "small", To: "middle", Requests: 2, Priced: 2, Change: *amount("0.009")},
			{From: "large", To: "middle", Requests: 1, Priced: 1, Change: *amount("-0.018")},
		},
		Cost: Costs{
			Priced: 4, Coverage: 1, Before: *amount("0.0285"), After: *amount("0.0195"), Change: *amount("-0.009"),
			Baseline: amount("0.096"), Based: 4,
		},
		Quality: Quality{
			Requests: 4, Before: (3*small + large) / 4, After: (small + 3*middle) / 4, Change: (middle-small)/2 + (middle-large)/4, Low: low, High: high,
		},
		ByCost:    []Change{down, up1, up2},
		ByQuality: []Change{up1, up2, down},
	}
	if diff := cmp.Diff(want, got.Logged, roughly); diff != "" {
		t.Errorf("against the log: %s", diff)
	}
	if diff := cmp.Diff(&want, got.InLive, roughly); diff != "" {
		t.Errorf("versus live: %s", diff)
	}
	wantPolicies := []PolicyFigures{
		{Name: "better", Source: "workspace", Matched: 3, Decided: 3, Priced: 3, Saved: *amount("0.009")},
		{Name: "never", Source: "workspace"},
		{Name: "everywhere", Source: "workspace", Matched: 4},
	}
	if diff := cmp.Diff(wantPolicies, got.Policies); diff != "" {
		t.Errorf("policies: %s", diff)
	}
	if got.Considered != 4 || got.Decided != 4 || got.Same || got.Limited || !got.To.Equal(noon) || !got.From.Equal(noon.Add(-3*time.Minute)) {
		t.Errorf("report %+v", got)
	}
}

// An instance policy and a workspace policy may have the same name.
func TestPoliciesWithSameNameAreDistinguished(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	e := logged(t, 0, asked(0, 0), snap, route.Conditions{})
	joined := policy.Join(parse(t, snap, "policies: [{name: same, pin: large}]"), parse(t, snap, "policies: [{name: same, objective: cost}]"))

	got := run(t, traffic{row(t, &e)}, Options{Live: Rules{Snapshot: snap}, Draft: &Rules{Snapshot: snap, Policies: joined}, Predictor: predictor})

	want := []PolicyFigures{
		{Name: "same", Source: "workspace", Matched: 1, Decided: 1, Priced: 1, Saved: *amount("-0.0225")},
		{Name: "same", Source: "workspace", Matched: 1},
	}
	if diff := cmp.Diff(want, got.Policies); diff != "" {
		t.Error(diff)
	}
}

func TestDeniedRequestsAreCountedByPolicy(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	var source traffic
	for n := range 5 {
		e := logged(t, n, asked(n, 0), snap, route.Conditions{})
		source = append(source, row(t, &e))
	}
	rejected := logged(t, 5, asked(5, 0), snap, route.Conditions{Policies: parse(t, snap, `policies: [{name: "no", deny: "No."}]`)})
	source = append(source, row(t, &rejected))
	draft := Rules{Snapshot: snap, Policies: parse(t, snap, `
policies:
  - {name: stop, when: "time.at >= timestamp('2026-11-15T11:59:00Z')", deny: "No."}
  - {name: nothing-left, when: "time.at >= timestamp('2026-11-15T11:58:00Z')", allow: {models: [small]}, exclude: {models: [small]}}
`)}

	got := run(t, source, Options{Live: Rules{Snapshot: snap}, Draft: &draft, Predictor: predictor})

	want := []Rejection{{Code: "POLICY_REJECTED", Policy: "stop", Requests: 2}, {Code: "NO_ROUTE", Requests: 1}}
	if diff := cmp.Diff(want, got.Logged.Rejected); diff != "" {
		t.Error(diff)
	}
	flows := []Flow{{From: "small", Requests: 3}, {To: "small", Requests: 1}}
	if diff := cmp.Diff(flows, got.Logged.Routes); diff != "" {
		t.Error(diff)
	}
	if got.Logged.Accepted != 1 || got.Logged.Unchanged != 2 || got.Policies[0].Denied != 2 || got.Logged.Cost.Priced != 2 {
		t.Errorf("report %+v, want 1 accepted, 2 unchanged and 2 denied by the first policy", got)
	}
}

func TestObjectiveReplacesThatOfRequests(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	auto := logged(t, 0, asked(0, 0), snap, route.Conditions{})
	explicit := asked(1, 0)
	explicit.Model = "small"
	named := logged(t, 1, explicit, snap, route.Conditions{})
	source := traffic{row(t, &auto), row(t, &named)}
	best := route.Objective{Name: "quality", Tradeoff: 1}

	got := run(t, source, Options{Live: Rules{Snapshot: snap}, Draft: &Rules{Snapshot: snap, Objective: &best}, Predictor: predictor, All: true})

	if got.Logged.Changed != 1 || got.Logged.Unchanged != 1 || got.Logged.Routes[0].To != "large" {
		t.Errorf("comparison %+v, want one changed request to large and one unchanged", got.Logged)
	}
	if diff := cmp.Diff(&best, got.Draft.Objective); diff != "" {
		t.Error(diff)
	}
}

func TestRequestsAreSkippedWithReason(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	change := func(n int, change func(*requestlog.Entry)) Row {
		e := logged(t, n, asked(n, 0), snap, route.Conditions{})
		change(&e)
		return row(t, &e)
	}
	source := traffic{
		change(0, func(*requestlog.Entry) {}),
		change(1, func(e *requestlog.Entry) { e.Decision = nil }),
		change(2, func(e *requestlog.Entry) { e.Decision.Input.Model = "small" }),
		change(3, func(e *requestlog.Entry) { e.Decision.Input.Op = llm.Embed }),
		change(4, func(e *requestlog.Entry) { e.Decision.Input.Op = llm.Moderate }),
		change(5, func(e *requestlog.Entry) { e.Decision.Input.Predictor = "older" }),
		change(6, func(e *requestlog.Entry) { e.Decision.Input.Predictor = "older" }),
		{ID: "req_1", Trace: func([]byte) ([]byte, error) { return nil, errors.New("broken") }},
	}
	for _, test := range []struct {
		all     bool
		decided int64
		want    map[Reason]int64
	}{
		{false, 1, map[Reason]int64{NoTrace: 1, Explicit: 1, Embeddings: 1, Moderations: 1, OtherPredictor: 2, Unreadable: 1}},
		{true, 4, map[Reason]int64{NoTrace: 1, OtherPredictor: 2, Unreadable: 1}},
	} {
		t.Run(fmt.Sprint("all ", test.all), func(t *testing.T) {
			t.Parallel()
			got := run(t, source, Options{Live: Rules{Snapshot: snap}, Predictor: predictor, All: test.all})
			skipped := map[Reason]int64{}
			for _, s := range got.Skipped {
				skipped[s.Reason] = s.Requests
				if s.Words == "" || s.Words == string(s.Reason) {
					t.Errorf("%s has no description", s.Reason)
				}
			}
			if diff := cmp.Diff(test.want, skipped); diff != "" {
				t.Error(diff)
			}
			if got.Considered != 8 || got.Decided != test.decided || !got.Same || got.InLive != nil {
				t.Errorf("report %+v, want 8 considered and %d decided", got, test.decided)
			}
		})
	}
}

func TestBacktestUsesRecordedConditions(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	down := route.Conditions{
		State: func(target string) route.State { return route.State{Open: target == "east/small"} },
	}
	e := logged(t, 0, asked(0, 0), snap, down)
	source := traffic{row(t, &e)}

	recorded := run(t, source, Options{Live: Rules{Snapshot: snap}, Predictor: predictor})

	if recorded.Logged.Unchanged != 1 {
		t.Errorf("with the recorded conditions %+v, want unchanged", recorded.Logged)
	}
}

func TestCachedPrefixIsPricedAsCached(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	warm := route.Conditions{CacheHit: func(target *provider.Target, _ int64, _ bool) route.CacheHit {
		if target.ID() == "east/large" {
			return route.CacheHit{Read: 60}
		}
		return route.CacheHit{}
	}}
	e := logged(t, 0, asked(0, 0), snap, warm)
	draft := Rules{Snapshot: snap, Policies: parse(t, snap, `policies: [{name: up, pin: east/large}]`)}

	got := run(t, traffic{row(t, &e)}, Options{Live: Rules{Snapshot: snap}, Draft: &draft, Predictor: predictor})

	// 1440 tokens at 16 dollars per million and 60 tokens from the cache at a tenth of the price.
	if want := *amount("0.023136"); got.Logged.Cost.After != want {
		t.Errorf("cost after is %s, want %s", got.Logged.Cost.After, want)
	}
}

func TestRemovedModelKeepsRecordedQuality(t *testing.T) {
	t.Parallel()
	then := trio(t)
	e := logged(t, 0, asked(0, 1), then, route.Conditions{})
	east, _ := then.Provider("east")
	rows := abilities{}
	for _, name := range []string{"small", "middle"} {
		rows[name], _ = then.Ability(name)
	}
	now := route.NewSnapshot(then.Catalog, []*provider.Provider{{Name: "east", Targets: east.Targets[:2]}}, rows)

	got := run(t, traffic{row(t, &e)}, Options{Live: Rules{Snapshot: now}, Predictor: predictor})

	change := got.Logged.ByQuality[0]
	if change.From != "east/large" || change.To != "east/middle" || math.Abs(*change.SuccessBefore-qualityOf(2)) > 1e-6 {
		t.Errorf("change %+v, want east/large to east/middle with the recorded quality", change)
	}
	if got.Logged.Routes[0].From != "large" || got.Logged.Cost.Priced != 1 {
		t.Errorf("comparison %+v, want a route from large and one priced request", got.Logged)
	}
}

func TestUnknownCostsAreExcludedAndCounted(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	priced, unpriced := logged(t, 0, asked(0, 0), snap, route.Conditions{}), logged(t, 1, asked(1, 0), snap, route.Conditions{})
	unpriced.Cost = nil

	got := run(t, traffic{row(t, &priced), row(t, &unpriced)}, Options{Live: Rules{Snapshot: snap}, Predictor: predictor})

	if c := got.Logged.Cost; c.Priced != 1 || c.Coverage != 0.5 || c.Before != *priced.Cost || c.After != *priced.Cost {
		t.Errorf("cost %+v, want one of two requests priced at %s", c, *priced.Cost)
	}
}

func TestReportDoesNotDependOnNumberOfWorkers(t *testing.T) {
	t.Parallel()
	m := newMaker(t, 11)
	snap := m.snapshot(12, 3)
	policies := m.policies(snap)
	var source traffic
	for i := range 3 * pageSize / 2 {
		c := m.conditions(snap)
		d, _ := route.Decide(new(m.input(snap)), snap, c)
		e := m.entry(i, d, snap)
		source = append(source, row(t, &e))
	}
	o := Options{Live: Rules{Snapshot: snap}, Draft: &Rules{Snapshot: snap, Policies: policies}, Predictor: predictor, All: true, Workers: 1}
	want := run(t, source, o)

	o.Workers = 7
	got := run(t, source, o)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want.Logged.Changed == 0 || want.Logged.Unchanged == 0 || len(want.Logged.ByCost) != 20 {
		t.Errorf("the report has no changes to compare: %+v", want)
	}
	if n := sum(want.Logged); n != want.Decided {
		t.Errorf("%d requests reported, %d decided", n, want.Decided)
	}
}

func sum(c Comparison) int64 {
	n := c.Changed + c.Moved + c.Unchanged + c.Accepted
	for _, r := range c.Rejected {
		n += r.Requests
	}
	return n
}

func TestLimitSelectsNewestRequests(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	var source traffic
	for n := range 9 {
		e := logged(t, n, asked(n, 0), snap, route.Conditions{})
		source = append(source, row(t, &e))
	}
	var reported []Progress
	got, err := Run(t.Context(), source, Options{Live: Rules{Snapshot: snap}, Predictor: predictor, Limit: 4, Total: 9}, func(p Progress) { reported = append(reported, p) })
	if err != nil {
		t.Fatal(err)
	}
	if got.Considered != 4 || !got.Limited || !got.From.Equal(noon.Add(-3*time.Minute)) {
		t.Errorf("report %+v, want the four newest requests", got)
	}
	if diff := cmp.Diff([]Progress{{Done: 4, Total: 9}}, reported); diff != "" {
		t.Error(diff)
	}
}

func TestCancelledBacktestReturnsPartialReport(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	var source traffic
	for n := range 4 * pageSize {
		e := logged(t, 0, asked(0, 0), snap, route.Conditions{})
		e.ID = fmt.Sprintf("req_%06d", n)
		source = append(source, row(t, &e))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	got, err := Run(ctx, source, Options{Live: Rules{Snapshot: snap}, Predictor: predictor}, func(Progress) { cancel() })

	if !errors.Is(err, context.Canceled) || got.Considered == 0 || got.Considered == int64(len(source)) {
		t.Errorf("%d of %d requests, error %v; want a part and context.Canceled", got.Considered, len(source), err)
	}
}

func TestRareFlowsAreSummed(t *testing.T) {
	t.Parallel()
	v := newVersus(3)
	for i := range 30 {
		from, to := fmt.Sprintf("from-%02d", i), fmt.Sprintf("to-%02d", i)
		for range 31 - i {
			v.add(&result{id: from}, &choice{target: "p/" + from, model: from, cost: amount("1")}, &choice{target: "p/" + to, model: to, cost: amount("3")})
		}
	}
	got := v.comparison().Routes
	last := got[len(got)-1]
	if len(got) != 20+1 || got[0].Requests != 31 || last.From != Others || last.Requests != 65 || last.Change != *amount("130") {
		t.Errorf("routes %+v, want 20 routes and the sum of the others", got)
	}
}

func TestLargestChangesAreListed(t *testing.T) {
	t.Parallel()
	m := newMaker(t, 5)
	kept := largest{maximum: 10}
	var all []weighted
	for i := range 1000 {
		one := weighted{float64(m.IntN(200) - 100), Change{RequestID: fmt.Sprintf("req_%04d", i)}}
		kept.add(one.weight, &one.Change)
		if one.weight != 0 {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b weighted) int { return order(&a, &b) })
	var want []Change
	for _, one := range all[:10] {
		want = append(want, one.Change)
	}
	if diff := cmp.Diff(want, kept.list()); diff != "" {
		t.Error(diff)
	}
}

func TestConfidenceInterval(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name               string
		values             []float64
		average, low, high float64
	}{
		{"nothing", nil, 0, 0, 0},
		{"one", []float64{0.2}, 0.2, 0.2, 0.2},
		{"equal values", []float64{0.2, 0.2, 0.2}, 0.2, 0.2, 0.2},
		{"two", []float64{0, 1}, 0.5, 0.5 - 1.959963984540054*0.5, 0.5 + 1.959963984540054*0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var m mean
			for _, v := range test.values {
				m.add(v)
			}
			low, high := m.interval()
			if diff := cmp.Diff([]float64{test.average, test.low, test.high}, []float64{m.average, low, high}, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
