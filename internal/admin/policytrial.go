package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/policy"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

const (
	trialTime = 10 * time.Second    // bounds a comparison on recent traffic
	trialSpan = 30 * 24 * time.Hour // how far back recent traffic is looked for
)

// PolicyTrial is what a draft does to requests, beside what is in force.
type PolicyTrial struct {
	Trials []TrialView    `json:"trials" doc:"The request of the call first, then the logged ones in the order of request_ids."`
	Recent *replay.Report `json:"recent,omitempty" doc:"The newest requests under the draft, beside what was chosen and what would be chosen now; absent unless asked for."`
}

// TrialView is one request, decided twice.
type TrialView struct {
	RequestID *string     `json:"request_id" doc:"The logged request; null for the one in the call."`
	Live      Explanation `json:"live" doc:"Under the policies in force."`
	Draft     Explanation `json:"draft" doc:"Under the draft."`
	Changed   bool        `json:"changed" doc:"The draft chooses another target, or refuses what is served, or serves what is refused."`
}

type tryPoliciesInput struct {
	Body struct {
		Source     string          `json:"source" maxLength:"65536" doc:"The draft as YAML, in place of the workspace's own policies."`
		Request    json.RawMessage `json:"request,omitempty" doc:"A body as a client would send it."`
		RequestIDs []string        `json:"request_ids,omitempty" maxItems:"20" doc:"Logged requests. They are decided by what was seen of them then, at the targets and prices of today."`
		Recent     int64           `json:"recent,omitempty" minimum:"0" maximum:"200" doc:"How many of the newest requests to compare as well."`
		Endpoint   string          `json:"endpoint,omitempty" enum:"chat/completions,embeddings" default:"chat/completions" doc:"Of request."`
		KeyID      string          `json:"key_id,omitempty" maxLength:"64" doc:"Key whose rules apply to request; none when absent."`
		Tradeoff   string          `json:"tradeoff,omitempty" maxLength:"20" doc:"Of request, as x-fairlead-tradeoff: 0 cheapest, 1 best."`
	}
}

func (a *API) registerPolicyTrial() {
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "try-policies", Method: http.MethodPost, Path: "/policies/dry-run", Tags: []string{"routing"},
		Summary:     "Decide on requests under a draft of policies and under those in force",
		Description: "Nothing is sent, saved or logged. A draft with problems is refused as save-policies refuses it.",
	}, a.tryPolicies)
}

func (a *API) tryPolicies(ctx context.Context, c *call, in *tryPoliciesInput) (*output[PolicyTrial], error) {
	draft, err := a.draft("source", in.Body.Source)
	if err != nil {
		return nil, err
	}
	if err := a.knownKey(ctx, c.workspaceID, in.Body.KeyID); err != nil {
		return nil, err
	}
	queries := in.queries(c.workspaceID)
	if len(queries) == 0 && in.Body.Recent == 0 {
		return nil, invalid("body", "request", "give a request, request_ids of logged ones, or how many recent ones")
	}
	answer := PolicyTrial{Trials: make([]TrialView, 0, len(queries))}
	for _, q := range queries {
		one, err := a.trial(ctx, q, draft)
		if err != nil {
			return nil, err
		}
		answer.Trials = append(answer.Trials, one)
	}
	if in.Body.Recent > 0 {
		if answer.Recent, err = a.recent(ctx, c.workspaceID, draft, in.Body.Recent); err != nil {
			return nil, err
		}
	}
	return &output[PolicyTrial]{answer}, nil
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

func (a *API) trial(ctx context.Context, q ExplainQuery, draft *policy.Set) (TrialView, error) {
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
		RequestID: text(q.RequestID), Live: live, Draft: tried,
		Changed: live.choice() != tried.choice(),
	}, nil
}

// choice is the target that a request would go to; empty when it would be refused.
func (e *Explanation) choice() string {
	if e.Refusal != nil || e.Decision == nil {
		return ""
	}
	return firstChoice(e.Decision)
}

func firstChoice(d *route.Decision) string {
	for i := range d.Candidates {
		if d.Candidates[i].Rank == 1 {
			return d.Candidates[i].Target
		}
	}
	return ""
}

// recent compares the newest requests.
func (a *API) recent(ctx context.Context, workspaceID string, draft *policy.Set, limit int64) (*replay.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	now := a.Now()
	return a.Replayer.Backtest(ctx, BacktestQuery{
		Filter: requestlog.Filter{WorkspaceID: workspaceID, From: now.Add(-trialSpan), To: now}, Limit: limit, Draft: draft,
	}, nil)
}
