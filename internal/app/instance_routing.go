package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/admin/policies"
	"fairlead/internal/feedback"
	"fairlead/internal/gateway"
	"fairlead/internal/health"
	"fairlead/internal/policy"
	"fairlead/internal/policystore"
	"fairlead/internal/predict"
	"fairlead/internal/predict/ability"
	"fairlead/internal/promptcache"
	"fairlead/internal/providerset"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
	"fairlead/internal/simulator"
)

// Routing is what a server with this configuration, environment and store would decide by. What a running one has seen of
// its providers, it does not know: to it every circuit is closed, and no prompt is warm.
type Routing struct {
	Rules *policystore.Store

	app *App
}

// Routing puts together what decisions depend on. Credentials that cannot be opened are reported to log and left out.
func (i *Instance) Routing(ctx context.Context, env func(string) string, version string, log *slog.Logger) (*Routing, error) {
	a := &App{
		options: Options{Env: env}, version: version, log: log, db: i.Store, vault: i.vault, accounts: i.Accounts,
		simulator: simulator.NewSimulator(simulator.Options{}),
	}
	a.config.Store(i.loaded)
	if i.Config.Detect {
		a.local = providerset.FindLocal(ctx)
	}
	var err error
	if a.predictor, err = predict.Embedded(); err != nil {
		return nil, fmt.Errorf("read the predictor: %w", err)
	}
	a.fitter = ability.New(a.predictor)
	f, err := a.build(ctx, i.loaded)
	if err != nil {
		return nil, err
	}
	if f.Policies, err = providerset.ReadPolicies(i.loaded, f.World()); err != nil {
		return nil, err
	}
	if err := a.openRules(ctx, f); err != nil {
		return nil, err
	}
	c := i.Config
	a.gateway = gateway.New(gateway.Parts{
		Health: health.New(health.Options{Failures: c.Breaker.Failures, ProbeAfter: c.Breaker.ProbeAfter}), Logger: log,
		Settings: gatewaySettings(c), Snapshot: f.Snapshot(),
		Routing: gateway.Routing{
			Predictor: a.predictor, Policies: a.rules, Feedback: ratings{a}, Prefixes: promptcache.NewMemory(1),
			Draw: func() float64 { return 1 }, // disables exploration
		},
	})
	return &Routing{Rules: a.rules, app: a}, nil
}

// openRules reads policies and ratings once.
func (a *App) openRules(ctx context.Context, f *providerset.Set) error {
	a.fleet.Store(f)
	a.rules = policystore.New(a.db.Config, f.Policies, f.World(), nil)
	if err := a.rules.Reload(ctx); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	a.feedback = feedback.NewIndex(a.db.Feedback, a.db.Feedback, feedback.Options{
		Base: f.Snapshot().Ability, Predictor: a.predictor.Version(), HalfLife: a.halfLife,
	})
	if err := a.feedback.Refresh(ctx); err != nil {
		return fmt.Errorf("read ratings: %w", err)
	}
	return nil
}

// draftSet is what policies that are tried are called in decisions.
const draftSet = "draft"

// Draft reads policies that might become a workspace's. Those of the instance come before them, as they always do.
func (r *Routing) Draft(source []byte) (*policy.Set, []policy.Problem) {
	set, problems := policy.Parse(draftSet, source, r.Rules.Inventory())
	if len(problems) > 0 {
		return nil, problems
	}
	joined := policy.Join(r.Rules.Instance(), set)
	if joined == nil {
		joined = set // a draft without policies is one all the same
	}
	return joined, nil
}

// Explain decides on a request, and calls nobody. Where there is no target it returns the decision with an *llm.Error.
func (r *Routing) Explain(ctx context.Context, q policies.ExplainQuery) (*route.Decision, error) {
	return bridge{r.app}.Explain(ctx, q)
}

// Backtest is how stored traffic of a workspace is decided anew: by a draft of policies, or with an objective in place of
// the requests' own, or by what is in force when both are nil. The caller says which requests.
func (r *Routing) Backtest(workspaceID string, draft *policy.Set, objective *route.Objective) replay.Options {
	o := replay.Options{Live: r.app.inForce(workspaceID, nil), Predictor: r.app.predictor.Version()}
	if draft != nil || objective != nil {
		tried := r.app.inForce(workspaceID, draft)
		tried.Objective = objective
		o.Draft = &tried
	}
	return o
}

// Verify computes a logged decision again in the world it was made in. Where the text is stored as it came, it sees again
// what the prompt asks for.
func (r *Routing) Verify(ctx context.Context, e *requestlog.Entry, body requestlog.Body) replay.Verification {
	var versions route.Versions
	if e.Decision != nil {
		versions = e.Decision.Versions
	}
	library := replay.NewLibrary(r.app.db.Config, r.app.fleet.Load().Catalog, time.LoadLocation)
	return replay.Verify(e, library.World(ctx, versions), r.app.sketchAgain(ctx, e, body.Request))
}

// commandLine is who changed policies on the machine itself.
const commandLine = "command line"

// Apply saves a text as the newest version of a workspace's policies, and notes that in the audit log. It returns problems
// instead when the text has any, and rulebook.ErrConflict when basedOn is not the newest version.
func (r *Routing) Apply(ctx context.Context, workspaceID, source string, basedOn int64, note string) (policystore.Version, []policy.Problem, error) {
	return r.change(ctx, workspaceID, "policies.save", func() (policystore.Version, []policy.Problem, error) {
		return r.Rules.Save(ctx, workspaceID, source, basedOn, note, commandLine)
	})
}

// RollBack saves an earlier version of a workspace's policies as a new one, and notes that in the audit log.
func (r *Routing) RollBack(ctx context.Context, workspaceID string, number int64) (policystore.Version, []policy.Problem, error) {
	return r.change(ctx, workspaceID, "policies.rollback", func() (policystore.Version, []policy.Problem, error) {
		return r.Rules.Rollback(ctx, workspaceID, number, commandLine)
	})
}

func (r *Routing) change(ctx context.Context, workspaceID, action string, save func() (policystore.Version, []policy.Problem, error)) (policystore.Version, []policy.Problem, error) {
	before, err := r.Newest(ctx, workspaceID)
	if err != nil {
		return policystore.Version{}, nil, err
	}
	saved, problems, err := save()
	if err != nil || len(problems) > 0 || saved.Number == before.Number {
		return saved, problems, err
	}
	return saved, nil, r.app.accounts.Note(ctx, account.CommandLine(workspaceID), action, "policies", noted(before), noted(saved))
}

// Newest returns the version in force, or one with the number 0 while there is none.
func (r *Routing) Newest(ctx context.Context, workspaceID string) (policystore.Version, error) {
	v, err := r.Rules.Version(ctx, workspaceID, 0)
	if errors.Is(err, policystore.ErrNotFound) {
		return policystore.Version{}, nil
	}
	return v, err
}

// noted is a version as the audit log shows it; nil for none.
func noted(v policystore.Version) any {
	if v.Number == 0 {
		return nil
	}
	return map[string]any{"version": v.Number, "hash": v.Hash, "note": v.Note}
}
