package app

import (
	"context"
	"errors"
	"runtime"

	"fairlead/internal/admin/policies"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/predict"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// inForce are the rules that requests of a workspace are decided by now. A draft stands in for the policies where it is
// not nil.
func (a *App) inForce(workspaceID string, draft *policy.Set) replay.Rules {
	rules := replay.Rules{Snapshot: a.gateway.Targets(), Policies: a.rules.For(workspaceID)}
	if draft != nil {
		rules.Policies = draft
	}
	if corrections := a.feedback.For(workspaceID); corrections != nil {
		rules.Corrections, rules.Feedback = corrections, corrections.Version
	}
	return rules
}

// explainLogged decides a logged request again: by what was seen of it then, at the targets and prices of today.
func (b bridge) explainLogged(ctx context.Context, q policies.ExplainQuery) (*route.Decision, error) {
	e, err := b.app.logged(ctx, q.WorkspaceID, q.RequestID)
	if err != nil {
		return nil, err
	}
	if e.Decision == nil {
		return nil, llm.Errorf(llm.InvalidRequest, "Request %s was refused before a decision was made, so that there is nothing to decide again.", q.RequestID)
	}
	in := e.Decision.Input
	if in.Predictor != b.app.predictor.Version() {
		// What another predictor saw is not measured in the same skills: models count with what they do in general.
		in.Features = predict.Features{Task: in.Features.Task, Language: in.Features.Language}
	}
	rules := b.app.inForce(q.WorkspaceID, q.Draft)
	return route.Decide(&in, rules.Snapshot, replay.Recorded(e.Decision, &rules))
}

// routing is the view that commands and the admin API share.
func (b bridge) routing() *Routing { return &Routing{Rules: b.app.rules, app: b.app} }

// Backtest decides stored requests anew. It leaves half of the cores to the gateway.
func (b bridge) Backtest(ctx context.Context, q policies.BacktestQuery, told func(replay.Progress)) (*replay.Report, error) {
	o := b.routing().Backtest(q.Filter.WorkspaceID, q.Draft, q.Objective)
	o.Filter, o.Limit, o.Total, o.Workers = q.Filter, q.Limit, q.Total, max(1, runtime.GOMAXPROCS(0)/2)
	return replay.Run(ctx, b.app.db.Log, o, told)
}

// Verify computes a logged decision again in the world it was made in.
func (b bridge) Verify(ctx context.Context, e *requestlog.Entry) (replay.Verification, error) {
	body, err := b.app.db.Log.EntryBody(ctx, e.WorkspaceID, e.ID)
	if err != nil && !errors.Is(err, requestlog.ErrNotFound) {
		return replay.Verification{}, err
	}
	return b.routing().Verify(ctx, e, body), nil
}
