package policies

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/requestlog"
)

// policyRows is the maximum number of policies in a response.
const policyRows = 1000

// PolicyTraffic holds the figures of policies in a period.
type PolicyTraffic struct {
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to"`
	Requests int64        `json:"requests" doc:"Number of requests in the period."`
	Policies []PolicyHits `json:"policies" doc:"Active policies in evaluation order, then removed policies."`
}

// PolicyHits describes the requests that a policy changed or rejected.
type PolicyHits struct {
	Name         string       `json:"name"`
	Source       string       `json:"source" enum:"instance,workspace,gone" doc:"Owner of the policy. gone if the policy was removed."`
	Enabled      bool         `json:"enabled"`
	Requests     int64        `json:"requests"`
	SharePercent *float64     `json:"share_percent" doc:"Share of all requests."`
	Denied       int64        `json:"denied" doc:"Rejected requests."`
	Priced       int64        `json:"priced" doc:"Requests with a known cost."`
	Compared     int64        `json:"compared" doc:"Requests with a known cost and a known baseline cost. saved_usd covers only these."`
	Cost         money.Amount `json:"cost_usd"`
	BaselineCost money.Amount `json:"baseline_cost_usd" doc:"Cost of the compared requests at the baseline model."`
	Saved        money.Amount `json:"saved_usd" doc:"Baseline cost minus cost of the compared requests. Can be negative."`
	SavedPercent *float64     `json:"saved_percent"`
}

type policyTrafficInput struct {
	From string `query:"from" default:"now-24h" doc:"Inclusive start: RFC 3339 or relative, such as now-24h."`
	To   string `query:"to" default:"now" doc:"Exclusive end: RFC 3339 or relative, such as now."`
}

func (a *handlers) registerPolicyTraffic() {
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "get-policy-hits", Method: http.MethodGet, Path: "/policies/hits", Tags: []string{"routing"},
		Summary:     "Get requests and savings by policy",
		Description: "Computed from roll-ups. Excludes playground requests.",
	}, func(ctx context.Context, c *adminapi.Call, in *policyTrafficInput) (*adminapi.Output[PolicyTraffic], error) {
		f, err := requests.ParseRollup(c, &requests.FigureFilters{From: in.From, To: in.To}, a.Now())
		if err != nil {
			return nil, err
		}
		f.Source = requestlog.SourceKey
		all, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, Limit: 1})
		if err != nil {
			return nil, err
		}
		total := int64(0)
		if len(all) > 0 {
			total = all[0].Requests
		}
		groups, err := a.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, By: "policy", Limit: policyRows})
		if err != nil {
			return nil, err
		}
		tally := policyTally{figures: map[string]*requestlog.Figures{}, requests: total, list: []PolicyHits{}}
		for i := range groups {
			if groups[i].Name != "" { // the group with an empty name contains the requests that no policy changed
				tally.figures[groups[i].Name] = &groups[i].Figures
			}
		}
		tally.add("instance", a.Policies.Instance())
		tally.add(workspaceSet, a.Policies.Own(c.WorkspaceID))
		for i := range groups {
			if tally.figures[groups[i].Name] != nil { // the policy was deleted: add has removed the figures of all existing policies
				tally.list = append(tally.list, tally.hits(groups[i].Name, "gone", false))
			}
		}
		return adminapi.Respond(PolicyTraffic{From: f.From.UTC(), To: f.To.UTC(), Requests: total, Policies: tally.list}), nil
	})
}

// policyTally builds the list of policies with their figures. figures contains only the policies that are not in list yet.
type policyTally struct {
	figures  map[string]*requestlog.Figures
	requests int64
	list     []PolicyHits
}

// add lists the policies of a set. If two sets have a policy with the same name, the figures belong to the first set, which is
// evaluated first.
func (t *policyTally) add(source string, set *policy.Set) {
	for _, p := range set.Policies() {
		t.list = append(t.list, t.hits(p.Name, source, p.Active()))
		delete(t.figures, p.Name)
	}
}

func (t *policyTally) hits(name, source string, enabled bool) PolicyHits {
	f := t.figures[name]
	if f == nil {
		f = &requestlog.Figures{}
	}
	saved := f.BaselineCost.Sub(f.ComparedCost)
	return PolicyHits{
		Name: name, Source: source, Enabled: enabled, Requests: f.Requests, SharePercent: adminapi.Share(f.Requests, t.requests), Denied: f.Rejected,
		Priced: f.Priced, Compared: f.Compared, Cost: f.Cost, BaselineCost: f.BaselineCost, Saved: saved, SavedPercent: money.SavedPercent(saved, f.BaselineCost),
	}
}
