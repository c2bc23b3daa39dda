package proofs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

var baselineDefaults = sync.OnceValues(catalog.Default)

type noAbilities struct{}

func (noAbilities) Ability(*catalog.Model) predict.Ability { return predict.Ability{} }

// snapshot returns a provider with a small and a large model and a model for embeddings. The price of the large model is in dollars
// per million input tokens; output costs twice as much, and cached input a tenth. If large is 0, the price is unknown.
func snapshot(t *testing.T, large float64) *route.Snapshot {
	t.Helper()
	known, err := baselineDefaults()
	if err != nil {
		t.Fatal(err)
	}
	target := func(name string, op llm.Op, price *catalog.Price) *provider.Target {
		return &provider.Target{Provider: "acme", Model: &catalog.Model{Name: name, Op: op}, Upstream: name, Price: price}
	}
	var price *catalog.Price
	if large > 0 {
		price = &catalog.Price{Input: money.PerMillion(large), Output: money.PerMillion(2 * large), CacheRead: new(money.PerMillion(large / 10)), Source: "list"}
	}
	return route.NewSnapshot(known, []*provider.Provider{{Name: "acme", Targets: []*provider.Target{
		target("our-small", llm.Chat, &catalog.Price{
			Input: money.PerMillion(1), Output: money.PerMillion(1), Source: "list", Search: &catalog.SearchFee{Rate: new(money.PerMillion(10_000))},
		}),
		target("our-large", llm.Chat, price),
		target("our-embed", llm.Embed, &catalog.Price{Input: money.PerMillion(1), Source: "list"}),
	}}}, noAbilities{})
}

// memoryLog holds entries, newest first.
type memoryLog struct {
	entries []requestlog.Entry
	failing bool
	pages   int
}

var errDisk = errors.New("disk failed")

func (l *memoryLog) Entries(_ context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	l.pages++
	if l.failing {
		return nil, errDisk
	}
	var list []requestlog.Entry
	for i := range l.entries {
		e := l.entries[i]
		if f.Match(&e) && (p.Before == "" || e.ID < p.Before) && len(list) < p.Limit {
			list = append(list, e)
		}
	}
	return list, nil
}

// served returns an entry with 1,000 input and 500 output tokens that cost one cent.
func served(age time.Duration, change func(*requestlog.Entry)) requestlog.Entry {
	at := noon.Add(-age)
	e := requestlog.Entry{
		ID: id.Floor("req", at), Owner: requestlog.Owner{WorkspaceID: "ws", KeyID: "key_1"},
		Timing: requestlog.Timing{Time: at}, Call: requestlog.Call{Endpoint: "chat/completions"},
		Routing:  requestlog.Routing{Model: "our-small", Provider: "acme", Versions: route.Versions{Snapshot: "now"}},
		Result:   requestlog.Result{Outcome: requestlog.OK},
		Charge:   requestlog.Charge{Usage: llm.Usage{Input: 1000, Output: 500}, Cost: new(money.Dollar / 100)},
		Baseline: requestlog.Baseline{BaselineModel: "other", BaselineCost: new(9 * money.Dollar)},
	}
	if change != nil {
		change(&e)
	}
	return e
}

func compute(t *testing.T, log BaselineLog, o BaselineOptions, past map[string]*route.Snapshot) *Baseline {
	t.Helper()
	if o.Limit == 0 {
		o.Limit = 1000
	}
	o.Filter, o.Within, o.Model = requestlog.Filter{WorkspaceID: "ws", From: noon.AddDate(0, 0, -30), To: noon}, time.Minute, "our-large"
	r, err := newBaseline(t.Context(), log, func(_ context.Context, v route.Versions) (*route.Snapshot, bool) {
		if snap, ok := past[v.Snapshot]; ok {
			return snap, true
		}
		return past["now"], false
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCostUsesRecordedTokensAndThePriceOfTheTime(t *testing.T) {
	t.Parallel()
	past := map[string]*route.Snapshot{"now": snapshot(t, 10), "before": snapshot(t, 20), "unpriced": snapshot(t, 0)}
	// At 10 dollars, 1,000 input tokens cost 1 cent and 500 output tokens 1 cent.
	cent := money.Dollar / 100
	for _, test := range []struct {
		name   string
		change func(*requestlog.Entry)
		cost   *money.Amount
		want   Coverage
	}{
		{"the current price", nil, new(2 * cent), Coverage{Repriced: 1}},
		{"the price of the recorded version", func(e *requestlog.Entry) { e.Versions.Snapshot = "before" }, new(4 * cent), Coverage{Repriced: 1}},
		{"a version that is not stored", func(e *requestlog.Entry) { e.Versions.Snapshot = "gone" }, new(2 * cent), Coverage{Repriced: 1, CurrentPrices: 1}},
		{"cached tokens at the rate of the model", func(e *requestlog.Entry) { e.Usage = llm.Usage{CacheRead: 10_000, Output: 500} }, new(2 * cent), Coverage{Repriced: 1, CacheUnknown: 1}},
		{"the recorded cost for a recorded baseline", func(e *requestlog.Entry) { e.BaselineModel = "our-large" }, new(900 * cent), Coverage{Recorded: 1}},
		{"searches at the fee of the served model", func(e *requestlog.Entry) { e.Usage.Searches = 1 }, new(3 * cent), Coverage{Repriced: 1}},
		{"a model without a price", func(e *requestlog.Entry) { e.Versions.Snapshot = "unpriced" }, nil, Coverage{Unpriced: 1}},
		{"no token counts", func(e *requestlog.Entry) { e.Usage = llm.Usage{} }, nil, Coverage{Unpriced: 1}},
		{"embeddings", func(e *requestlog.Entry) { e.Model = "our-embed" }, nil, Coverage{OtherKind: 1}},
		{"a request that was not served", func(e *requestlog.Entry) { e.Model, e.Cost = "", nil }, nil, Coverage{}},
		{"a response from the cache", func(e *requestlog.Entry) { e.Cache = &requestlog.Cache{Status: requestlog.CacheHit} }, nil, Coverage{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := compute(t, &memoryLog{entries: []requestlog.Entry{served(time.Hour, test.change)}}, BaselineOptions{}, past)
			test.want.Model, test.want.From, test.want.Complete, test.want.Logged = "our-large", noon.AddDate(0, 0, -30), true, 1
			if diff := cmp.Diff(test.want, r.Coverage); diff != "" {
				t.Error(diff)
			}
			var want money.Amount
			if test.cost != nil {
				want = *test.cost
			}
			if r.Total.BaselineCost != want || (r.Total.Compared == 1) != (test.cost != nil) {
				t.Errorf("baseline cost %s of %d compared requests, want %s", r.Total.BaselineCost, r.Total.Compared, want)
			}
		})
	}
}

func TestReportSumsByModelAndKey(t *testing.T) {
	t.Parallel()
	log := &memoryLog{}
	const n = 1350 // three pages of requests
	for i := range n {
		log.entries = append(log.entries, served(time.Duration(i+1)*time.Minute, func(e *requestlog.Entry) {
			e.KeyID = fmt.Sprintf("key_%d", i%2)
			if i%3 == 0 {
				e.Model = "our-large"
			}
		}))
	}
	r := compute(t, log, BaselineOptions{Limit: 2000}, map[string]*route.Snapshot{"now": snapshot(t, 10)})
	if r.Logged != n || r.Total.Compared != n || r.Total.BaselineCost != 27*money.Dollar || log.pages != 3 || !r.Complete {
		t.Errorf("%+v in %d pages, %s", r.Coverage, log.pages, r.Total.BaselineCost)
	}
	if r.Models["our-large"].Requests != n/3 || r.Models["our-small"].BaselineCost != 18*money.Dollar || r.Keys["key_1"].Requests != n/2 {
		t.Errorf("models %v, keys %v", r.Models, r.Keys)
	}
}

func TestReportCoversTheNewestRequestsUpToTheLimit(t *testing.T) {
	t.Parallel()
	log := &memoryLog{}
	for i := range 1200 {
		log.entries = append(log.entries, served(time.Duration(i+1)*time.Minute, nil))
	}
	r := compute(t, log, BaselineOptions{Limit: 700}, map[string]*route.Snapshot{"now": snapshot(t, 10)})
	if r.Complete || r.Logged != 1000 || !r.From.Equal(noon.Add(-1000*time.Minute)) { // two pages of requests
		t.Errorf("%+v", r.Coverage)
	}
}

func TestReportReturnsErrorsOfTheLog(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, 10)
	_, err := newBaseline(t.Context(), &memoryLog{failing: true}, func(context.Context, route.Versions) (*route.Snapshot, bool) { return snap, true }, BaselineOptions{Limit: 1, Within: time.Second})
	if !errors.Is(err, errDisk) {
		t.Errorf("got %v, want errDisk", err)
	}
}
