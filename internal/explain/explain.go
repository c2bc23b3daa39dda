// Package explain recomputes routing decisions with the active configuration. It explains requests, runs backtests and verifies logged
// decisions. It also stores the versions of targets, policies and corrections that verification needs later.
package explain

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/spool"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/wire/openai"
)

const (
	recentRequest = time.Minute            // maximum age of a request whose entry may still be in the spool
	arrivalTime   = 2 * time.Second        // maximum wait for the entry of a recent request
	arrivalPause  = 100 * time.Millisecond // interval between two reads
)

// Service recomputes decisions. All fields except Spool must be set before the first call.
type Service struct {
	Gateway  *gateway.Gateway
	Policies *policystore.Store
	Feedback *feedback.Index
	Accounts *account.Service
	Store    *store.DB
	Spool    *spool.Spool // spool of the gateway process; nil in CLI commands
	Catalog  func() *catalog.Catalog
	Routes   []gateway.Route // routes whose formats decode stored request bodies
}

// Explain computes the routing decision for a request without sending it. If no target is available, it returns the decision and
// an *llm.Error.
func (s *Service) Explain(ctx context.Context, q policies.ExplainQuery) (*route.Decision, error) {
	if q.RequestID != "" {
		return s.explainLogged(ctx, q)
	}
	op := llm.Chat
	if q.Endpoint == "embeddings" {
		op = llm.Embed
	}
	req, err := openai.Format{}.DecodeRequest(ctx, op, q.Body)
	if err != nil {
		return nil, err
	}
	workspace, err := s.Accounts.Workspace(ctx, q.WorkspaceID)
	if err != nil {
		return nil, err
	}
	grant := &account.Grant{Key: &account.Key{}, Workspace: &workspace}
	if q.KeyID != "" {
		key, err := s.Accounts.Key(ctx, q.WorkspaceID, q.KeyID)
		if err != nil {
			return nil, err
		}
		grant.Key = &key
	}
	call := gateway.Call{Grant: grant, Tags: grant.Key.Tags, Options: gateway.Options{Tradeoff: q.Tradeoff}}
	return s.Gateway.Explain(ctx, call, req, q.Draft)
}

// explainLogged recomputes the routing decision for a logged request, with its recorded features and the current targets and
// prices.
func (s *Service) explainLogged(ctx context.Context, q policies.ExplainQuery) (*route.Decision, error) {
	e, err := s.Entry(ctx, q.WorkspaceID, q.RequestID)
	if err != nil {
		return nil, err
	}
	if e.Decision == nil {
		return nil, llm.Errorf(llm.InvalidRequest, "Request %s was rejected before a routing decision was made. It cannot be explained.", q.RequestID)
	}
	in := e.Decision.Input
	if in.Predictor != predict.Version() {
		// Difficulties of another version of the tables are not comparable.
		in.Features = predict.Features{Task: in.Features.Task, Language: in.Features.Language}
	}
	rules := s.ActiveRules(q.WorkspaceID, q.Draft)
	return route.Decide(&in, rules.Snapshot, replay.Recorded(e.Decision, &rules))
}

// ActiveRules returns the rules that apply to requests of a workspace. If draft is not nil, it replaces the policies.
func (s *Service) ActiveRules(workspaceID string, draft *policy.Set) replay.Rules {
	rules := replay.Rules{Snapshot: s.Gateway.Targets(), Policies: s.Policies.For(workspaceID)}
	if draft != nil {
		rules.Policies = draft
	}
	if corrections := s.Feedback.For(workspaceID); corrections != nil {
		rules.Corrections, rules.Feedback = corrections, corrections.Version
	}
	return rules
}

// Trial holds the rules that a backtest uses instead of the active ones. A zero field keeps the active value.
type Trial struct {
	Policies  *policy.Set
	Objective *route.Objective // objective to use instead of the objective of each request
}

// BacktestOptions returns the options of a backtest that compares the rules of the trial with the active rules, or that uses only the
// active rules if the trial is zero. The caller selects the requests.
func (s *Service) BacktestOptions(workspaceID string, try Trial) replay.Options {
	o := replay.Options{Live: s.ActiveRules(workspaceID, nil), Predictor: predict.Version()}
	if try == (Trial{}) {
		return o
	}
	tried := s.ActiveRules(workspaceID, try.Policies)
	tried.Objective = try.Objective
	o.Draft = &tried
	return o
}

// Backtest recomputes the routing decisions of stored requests. It uses at most half of the CPU cores.
func (s *Service) Backtest(ctx context.Context, q policies.BacktestQuery, progress func(replay.Progress)) (*replay.Report, error) {
	o := s.BacktestOptions(q.Filter.WorkspaceID, Trial{Policies: q.Draft, Objective: q.Objective})
	o.Filter, o.Limit, o.Total, o.Workers = q.Filter, q.Limit, q.Total, max(1, runtime.GOMAXPROCS(0)/2)
	return replay.Run(ctx, s.Store.Log, o, progress)
}

// Verify recomputes a logged decision with the versions that were active when it was made.
func (s *Service) Verify(ctx context.Context, e *requestlog.Entry) (replay.Verification, error) {
	body, err := s.Store.Log.EntryBody(ctx, e.WorkspaceID, e.ID)
	if err != nil && !errors.Is(err, requestlog.ErrNotFound) {
		return replay.Verification{}, err
	}
	return s.VerifyBody(ctx, e, body), nil
}

// VerifyBody is like Verify for a body that was already read. If the prompt was stored unchanged, its features are also
// recomputed.
func (s *Service) VerifyBody(ctx context.Context, e *requestlog.Entry, body requestlog.Body) replay.Verification {
	var versions route.Versions
	var features *predict.Features
	if e.Decision != nil {
		versions = e.Decision.Versions
		if version := e.Decision.Input.Predictor; version != "" && version == predict.Version() {
			features = s.features(ctx, &e.Decision.Input, body.Request)
		}
	}
	library := replay.NewLibrary(s.Store.Config, s.Catalog(), time.LoadLocation)
	return replay.Verify(e, library.Load(ctx, versions), features)
}

// PastSnapshots returns a function that reads the targets and prices of past decisions and caches them. If a version is not stored,
// the function returns the current targets and prices, and false.
func (s *Service) PastSnapshots() func(ctx context.Context, v route.Versions) (*route.Snapshot, bool) {
	library := replay.NewLibrary(s.Store.Config, s.Catalog(), time.LoadLocation)
	current := s.Gateway.Targets()
	return func(ctx context.Context, v route.Versions) (*route.Snapshot, bool) {
		if v.Snapshot == current.Version() || v.Snapshot == "" {
			return current, v.Snapshot != ""
		}
		if past := library.Load(ctx, route.Versions{Router: v.Router, Catalog: v.Catalog, Snapshot: v.Snapshot}).Snapshot; past != nil {
			return past, true
		}
		return current, false
	}
}

// Entry reads an entry. It waits for the entry of a recent request, because clients receive the request ID before the entry
// leaves the spool of this or another replica.
func (s *Service) Entry(ctx context.Context, workspaceID, requestID string) (requestlog.Entry, error) {
	e, err := s.Store.Log.Entry(ctx, workspaceID, requestID)
	received, _ := id.Time(requestID)
	recent := strings.HasPrefix(requestID, "req_") && time.Since(received).Abs() < recentRequest
	if !recent || !errors.Is(err, requestlog.ErrNotFound) || s.Spool == nil {
		return e, err
	}
	arriving, cancel := context.WithTimeout(ctx, arrivalTime)
	defer cancel()
	if err := s.Spool.Flush(arriving); err != nil {
		return e, requestlog.ErrNotFound
	}
	tick := time.NewTicker(arrivalPause)
	defer tick.Stop()
	for {
		e, err = s.Store.Log.Entry(ctx, workspaceID, requestID)
		if !errors.Is(err, requestlog.ErrNotFound) {
			return e, err
		}
		select {
		case <-tick.C:
		case <-arriving.Done():
			return e, err
		}
	}
}
