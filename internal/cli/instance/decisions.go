package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/explain"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/settings"
)

// Routing computes decisions in the same way as a server with this configuration, environment and store. The state of a running
// server is not available: every circuit is closed and no prompt prefix is cached.
type Routing struct {
	*explain.Service
	Rules *policystore.Store

	set    *providerset.Set
	config config.Config
}

// Routing loads providers, policies and ratings. Credentials that cannot be decrypted are logged and excluded.
func (i *Instance) Routing(ctx context.Context, env func(string) string, version string, log *slog.Logger) (*Routing, error) {
	loader := i.loader(ctx, env, version, log)
	set, err := i.loadProviders(ctx, loader) // loading providers makes no calls
	if err != nil {
		return nil, err
	}
	rules := policystore.New(i.Store.Config, set.Policies, set.Inventory(), nil)
	if err := rules.Reload(ctx); err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	ratings := feedback.NewIndex(i.Store.Feedback, i.Store.Feedback, feedback.Options{
		Base: set.Snapshot().Ability, Predictor: predict.Version(), HalfLife: func() time.Duration { return i.Config.Routing.HalfLife },
		MinVerdicts: feedback.MinVerdicts,
	})
	if err := ratings.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("read ratings: %w", err)
	}
	c := i.Config
	return &Routing{Rules: rules, set: set, config: c, Service: &explain.Service{
		Gateway: gateway.New(gateway.Parts{
			Health: health.New(health.Options{Failures: c.Breaker.Failures, ProbeAfter: c.Breaker.ProbeAfter}), Recording: gateway.Recording{Logger: log},
			Settings: settings.Gateway(c), Snapshot: set.Snapshot(),
			Routing: gateway.Routing{
				Policies: rules, Feedback: ratings, Prefixes: promptcache.NewMemory(1),
			},
		}),
		Policies: rules, Feedback: ratings, Accounts: i.Accounts, Store: i.Store,
		Catalog: func() *catalog.Catalog { return set.Catalog }, Routes: settings.Routes(),
	}}, nil
}

// Targets returns the snapshot of targets, prices and abilities.
func (r *Routing) Targets() *route.Snapshot { return r.set.Snapshot() }

// InstanceRoutes returns the routes of the configuration file.
func (r *Routing) InstanceRoutes() []route.Route { return settings.RoutesOf(r.config) }

// Known reports whether a model exists. If not, it returns similar names.
func (r *Routing) Known(model string) (bool, []string) { return providerset.Known(r.Targets(), model) }

// Draft parses source as a draft of workspace policies and combines it with the instance's policies, which come first.
func (r *Routing) Draft(source []byte) (*policy.Set, []policy.Problem) {
	set, problems := policy.Parse("draft", source, r.Rules.Inventory())
	if len(problems) > 0 {
		return nil, problems
	}
	joined := policy.Join(r.Rules.Instance(), set)
	if joined == nil {
		joined = set // must not be nil: a nil draft selects the active policies
	}
	return joined, nil
}

// commandLine is the author recorded for policies that a command saves.
const commandLine = "command line"

// Apply saves source as the newest version of a workspace's policies and writes an audit event. It returns problems if the source
// is invalid, and policystore.ErrConflict if basedOn is not the newest version.
func (r *Routing) Apply(ctx context.Context, workspaceID, source string, basedOn int64, note string) (policystore.Version, []policy.Problem, error) {
	return r.change(ctx, workspaceID, "policies.save", func() (policystore.Version, []policy.Problem, error) {
		return r.Rules.Save(ctx, workspaceID, source, basedOn, note, commandLine)
	})
}

// RollBack saves an earlier version of a workspace's policies as a new version and writes an audit event.
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
	return saved, nil, r.Accounts.Note(ctx, account.CommandLine(workspaceID), action, "policies", auditDetails(before), auditDetails(saved))
}

// Newest returns the active version, or a version with number 0 if there is none.
func (r *Routing) Newest(ctx context.Context, workspaceID string) (policystore.Version, error) {
	v, err := r.Rules.Version(ctx, workspaceID, 0)
	if errors.Is(err, policystore.ErrNotFound) {
		return policystore.Version{}, nil
	}
	return v, err
}

// auditDetails returns the fields of a version for the audit log, or nil for number 0.
func auditDetails(v policystore.Version) any {
	if v.Number == 0 {
		return nil
	}
	return map[string]any{"version": v.Number, "hash": v.Hash, "note": v.Note}
}
