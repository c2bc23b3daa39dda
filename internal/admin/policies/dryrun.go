package policies

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

const (
	trialTime = 10 * time.Second    // time limit of a comparison
	trialSpan = 30 * 24 * time.Hour // period from which recent requests are taken
)

// PolicyTrial compares a policy draft with the active policies.
type PolicyTrial struct {
	Trials []TrialView    `json:"trials" doc:"Result for the given request, then for the logged requests in the order of request_ids."`
	Recent *replay.Report `json:"recent,omitempty" doc:"Comparison of the newest requests. Absent unless requested."`
}

// TrialView compares the decision for a request under the active policies with the decision under the draft.
type TrialView struct {
	RequestID *string     `json:"request_id" doc:"ID of the logged request. null for the given request."`
	Live      Explanation `json:"live" doc:"Decision under the active policies."`
	Draft     Explanation `json:"draft" doc:"Decision under the draft."`
	Changed   bool        `json:"changed" doc:"Whether the draft changes the target or whether the request is served."`
}

type tryPoliciesInput struct {
	Body struct {
		Source     string          `json:"source" maxLength:"65536" doc:"Policy draft as YAML, used instead of the workspace's policies."`
		Request    json.RawMessage `json:"request,omitempty" doc:"Request body as sent by a client."`
		RequestIDs []string        `json:"request_ids,omitempty" maxItems:"20" doc:"IDs of logged requests. They are routed with the logged features and the current targets and prices."`
		Recent     int64           `json:"recent,omitempty" minimum:"0" maximum:"200" doc:"Number of recent requests to compare in addition."`
		Endpoint   string          `json:"endpoint,omitempty" enum:"chat/completions,embeddings" default:"chat/completions" doc:"Endpoint of request."`
		KeyID      string          `json:"key_id,omitempty" maxLength:"64" doc:"Key whose restrictions apply to request. None if omitted."`
		Tradeoff   string          `json:"tradeoff,omitempty" maxLength:"20" doc:"Value of x-fairlead-tradeoff for request: 0 cheapest, 1 best."`
	}
}

func (a *handlers) registerPolicyTrial() {
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "try-policies", Method: http.MethodPost, Path: "/policies/dry-run", Tags: []string{"routing"},
		Summary:     "Compare a policy draft with the active policies",
		Description: "Calls no provider and stores nothing. An invalid draft is rejected as in save-policies.",
	}, func(ctx context.Context, c *adminapi.Call, in *tryPoliciesInput) (*adminapi.Output[PolicyTrial], error) {
		draft, err := a.draft("source", in.Body.Source)
		if err != nil {
			return nil, err
		}
		if err := a.knownKey(ctx, c.WorkspaceID, in.Body.KeyID); err != nil {
			return nil, err
		}
		queries := in.queries(c.WorkspaceID)
		if len(queries) == 0 && in.Body.Recent == 0 {
			return nil, adminapi.Invalid("body", "request", "set request, request_ids or recent")
		}
		result := PolicyTrial{Trials: make([]TrialView, 0, len(queries))}
		for _, q := range queries {
			one, err := a.trial(ctx, q, draft)
			if err != nil {
				return nil, err
			}
			result.Trials = append(result.Trials, one)
		}
		if in.Body.Recent > 0 {
			if result.Recent, err = a.recent(ctx, c.WorkspaceID, draft, in.Body.Recent); err != nil {
				return nil, err
			}
		}
		return adminapi.Respond(result), nil
	})
}

func (in *tryPoliciesInput) queries(workspaceID string) []ExplainQuery {
	var list []ExplainQuery
	if len(in.Body.Request) > 0 {
		list = append(list, ExplainQuery{
			WorkspaceID: workspaceID, KeyID: in.Body.KeyID, Endpoint: in.Body.Endpoint, Body: in.Body.Request, Tradeoff: in.Body.Tradeoff,
		})
	}
	for _, id := range in.Body.RequestIDs {
		list = append(list, ExplainQuery{WorkspaceID: workspaceID, RequestID: id})
	}
	return list
}

func (a *handlers) trial(ctx context.Context, q ExplainQuery, draft *policy.Set) (TrialView, error) {
	live, err := a.explained(ctx, q)
	if err != nil {
		return TrialView{}, err
	}
	q.Draft = draft
	tried, err := a.explained(ctx, q)
	if err != nil {
		return TrialView{}, err
	}
	return TrialView{
		RequestID: adminapi.NonEmpty(q.RequestID), Live: live, Draft: tried,
		Changed: live.Choice() != tried.Choice(),
	}, nil
}

// Choice returns the selected target, or an empty string for a rejected request.
func (e *Explanation) Choice() string {
	if e.Refusal != nil || e.Decision == nil {
		return ""
	}
	for i := range e.Decision.Candidates {
		if c := &e.Decision.Candidates[i]; c.Rank == 1 {
			return c.Target
		}
	}
	return ""
}

// recent compares the draft with the active policies on the newest requests.
func (a *handlers) recent(ctx context.Context, workspaceID string, draft *policy.Set, limit int64) (*replay.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	now := a.Now()
	return a.Backtester.Backtest(ctx, BacktestQuery{
		Filter: requestlog.Filter{WorkspaceID: workspaceID, From: now.Add(-trialSpan), To: now}, Limit: limit, Draft: draft,
	}, nil)
}
