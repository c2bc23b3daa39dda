package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/proofs"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// measured returns 100 recent samples. In every tenth sample, the routed response is worse than the baseline response.
type measured struct{ asked []time.Time }

func (c *measured) Samples(_ context.Context, workspace string, from, to time.Time) ([]proof.Sample, error) {
	c.asked = append(c.asked, from, to)
	if workspace != home {
		return nil, nil
	}
	var list []proof.Sample
	for i := range 100 {
		s := proof.Sample{
			Request: fmt.Sprintf("req_%d", i), Shadow: fmt.Sprintf("req_s%d", i), At: noon.Add(-time.Duration(i) * time.Hour), Key: "key_read",
			Task: "code", Model: "small", Baseline: "large", Propensity: 0.1, Method: "judge", Reason: "quotes the prompt",
		}
		if i%10 == 0 {
			s.Difference = -1
		}
		list = append(list, s)
	}
	return list, nil
}

func (c *measured) ComparisonCost(context.Context, string, time.Time, time.Time) (money.Amount, error) {
	return money.Dollar / 4, nil
}

func TestProofReturnsSavingsAndQuality(t *testing.T) {
	t.Parallel()
	compared := &measured{}
	s := newSite(t, func(p *Parts) { p.Proofs.Samples, p.Proofs.Costs = compared, compared })
	figures := requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 110, Served: 100, Priced: 99, Compared: 98}, Spending: requestlog.Spending{Cost: 10 * money.Dollar, ComparedCost: 9 * money.Dollar, BaselineCost: 30 * money.Dollar}}
	s.log.groups[""] = []requestlog.Group{{Figures: figures}}
	s.log.groups["model"] = []requestlog.Group{{Name: "small", Figures: figures}, {Name: "only attempts"}}
	s.log.groups["key"] = []requestlog.Group{{Name: "key_read", Figures: figures}}
	s.fake.keys[home][1].Name = "ci"
	var got proofs.Proof
	s.call("GET", "/proof?from=now-7d", "", as("acc_developer")).want(200).into(&got)
	if got.Savings.Saved != 21*money.Dollar || len(got.Models) != 1 || got.Models[0].Saved != 21*money.Dollar || got.Keys[0].Label != "ci" {
		t.Errorf("savings %+v, models %+v, keys %+v", got.Savings, got.Models, got.Keys)
	}
	q := got.Quality
	if q == nil || q.Samples != 100 || q.Difference == nil || q.Difference.Value > -0.09 || len(q.Worst) != 5 || q.Worst[0].Shadow == "" {
		t.Fatalf("quality %+v", q)
	}
	if *got.ComparisonCost != money.Dollar/4 {
		t.Errorf("cost %v, want %v", got.ComparisonCost, money.Dollar/4)
	}
	if !compared.asked[0].Equal(noon.AddDate(0, 0, -7)) || !compared.asked[1].Equal(noon) {
		t.Errorf("asked for %v", compared.asked)
	}
	if query := s.log.queries[0]; query.Source != requestlog.SourceKey || query.WorkspaceID != home {
		t.Errorf("query %+v", query)
	}
	s.call("GET", "/proof?from=now-500d", "", as("acc_developer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
}

func TestProofWithoutComparisonHasNoQuality(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var got proofs.Proof
	s.call("GET", "/proof", "", as("acc_viewer")).want(200).into(&got)
	if got.Quality != nil || got.ComparisonCost != nil || got.Models == nil || got.Keys == nil {
		t.Errorf("%+v", got)
	}
}

// pastPrices returns the same snapshot for every past version. The price of its model is 3 dollars per million tokens.
type pastPrices struct{ snap *route.Snapshot }

func (p pastPrices) PastSnapshots() func(context.Context, route.Versions) (*route.Snapshot, bool) {
	return func(_ context.Context, v route.Versions) (*route.Snapshot, bool) { return p.snap, v.Snapshot != "" }
}

type noAbilities struct{}

func (noAbilities) Ability(*catalog.Model) predict.Ability { return predict.Ability{} }

func TestProofAgainstAChosenModelIsComputedFromTheLog(t *testing.T) {
	t.Parallel()
	known, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	price := &catalog.Price{Input: money.PerMillion(3), Output: money.PerMillion(3), Source: "list"}
	snap := route.NewSnapshot(known, []*provider.Provider{{Name: "acme", Targets: []*provider.Target{
		{Provider: "acme", Model: &catalog.Model{Name: "odd", Op: llm.Chat}, Upstream: "odd", Price: price},
	}}}, noAbilities{})
	s := newSite(t, func(p *Parts) { p.Proofs.Prices = pastPrices{snap} })
	s.log.groups[""] = []requestlog.Group{{Figures: requestlog.Figures{RequestCounts: requestlog.RequestCounts{Requests: 5, Compared: 5}, Spending: requestlog.Spending{BaselineCost: 90 * money.Dollar}}}}
	for i := range 4 {
		at := noon.Add(-time.Duration(4-i) * time.Hour)
		e := requestlog.Entry{
			ID: id.Floor("req", at), Owner: requestlog.Owner{WorkspaceID: home, KeyID: "key_read"},
			Timing:   requestlog.Timing{Time: at},
			Routing:  requestlog.Routing{Model: "small", Provider: "acme", Versions: route.Versions{Snapshot: "v1"}},
			Result:   requestlog.Result{Outcome: requestlog.OK},
			Charge:   requestlog.Charge{Usage: llm.Usage{Input: 1_000_000, Output: 1_000_000}, Cost: new(money.Dollar)},
			Baseline: requestlog.Baseline{BaselineCost: new(9 * money.Dollar), BaselineModel: "other"},
		}
		if i == 0 {
			e.KeyID, e.AccountID = "", "acc_owner" // the request was sent from the playground, which savings exclude
		}
		s.log.entries = append(s.log.entries, e)
	}
	var got proofs.Proof
	s.call("GET", "/proof?from=now-7d&baseline=odd", "", as("acc_viewer")).want(200).into(&got)
	if got.Savings.Saved != 15*money.Dollar || got.Requests != 5 || len(got.Models) != 1 || got.Models[0].Baseline != 18*money.Dollar || got.Keys[0].Label == "" {
		t.Errorf("savings %+v, models %+v, keys %+v", got.Savings, got.Models, got.Keys)
	}
	if a := got.Against; a == nil || a.Model != "odd" || a.Logged != 3 || a.Repriced != 3 || !a.Complete {
		t.Errorf("against %+v", a)
	}
	s.call("GET", "/proof?baseline=nothing-like-this", "", as("acc_viewer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
}

func TestStatementIsDownloaded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	figures := requestlog.Figures{
		RequestCounts: requestlog.RequestCounts{Requests: 1200, Priced: 1200, Compared: 1200},
		Spending:      requestlog.Spending{Cost: money.Dollar, ComparedCost: money.Dollar, BaselineCost: 3*money.Dollar + 1},
	}
	s.log.groups[""] = []requestlog.Group{{Figures: figures}}
	s.log.groups["model"] = []requestlog.Group{{Name: "small", Figures: figures}, {Name: "only attempts"}}
	s.log.groups["key"] = []requestlog.Group{{Figures: figures}, {Name: "key_read", Figures: figures}}
	s.log.buckets = []requestlog.Bucket{{Start: noon.Truncate(24 * time.Hour), Figures: figures}}
	s.fake.keys[home][1].Name = `</td><script>alert(1)</script>`
	got := s.call("GET", "/statement?month=2026-11&format=csv", "", as("acc_viewer")).want(200)
	want := `row,name,key_name,requests,errors,input_tokens,output_tokens,priced,cost_usd,compared,baseline_cost_usd,saved_usd
model,small,,1200,0,0,0,1200,1,1200,3.000000001,2.000000001
key,playground,,1200,0,0,0,1200,1,1200,3.000000001,2.000000001
key,key_read,</td><script>alert(1)</script>,1200,0,0,0,1200,1,1200,3.000000001,2.000000001
day,2026-11-15,,1200,0,0,0,1200,1,1200,3.000000001,2.000000001
total,,,1200,0,0,0,1200,1,1200,3.000000001,2.000000001
`
	if diff := cmp.Diff(want, got.Body.String()); diff != "" {
		t.Error(diff)
	}
	if name := got.Header().Get("Content-Disposition"); name != `attachment; filename="statement-2026-11.csv"` {
		t.Errorf("disposition %s", name)
	}
	if q := s.log.queries[0]; q.From != time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) || !q.To.Equal(noon) || q.WorkspaceID != home || q.Simulated == nil || *q.Simulated {
		t.Errorf("query %+v", q)
	}
	page := s.call("GET", "/statement?month=2026-11", "", as("acc_viewer")).want(200)
	text := page.Body.String()
	for _, want := range []string{"Statement 2026-11", "1,200", "&lt;script&gt;", "the month has not ended"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q:\n%s", want, text)
		}
	}
	for _, month := range []string{"2026-13", "november", "2027-01"} {
		s.call("GET", "/statement?month="+month, "", as("acc_viewer")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	}
}
