package app

import (
	"context"
	"sync/atomic"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/simulator"
)

// providerParts holds the providers, their connections and their health.
type providerParts struct {
	loader    *providerset.Loader
	providers atomic.Pointer[providerset.Set]
	egress    *egress.Client
	health    *health.Tracker
}

// openProviders loads the provider set and the parts that routing decisions depend on.
func (a *App) openProviders(ctx context.Context, c config.Config) (set *providerset.Set, err error) {
	a.loader = &providerset.Loader{
		Settings: a.db, Connected: a.db.Config, Vault: a.vault, Env: a.options.Env, Version: a.version, Simulator: simulator.NewSimulator(simulator.Options{Latency: 1}),
		Client: func() *egress.Client { return a.egress }, Report: a.report,
	}
	if c.Detect {
		a.loader.Local = providerset.FindLocal(ctx)
	}
	if err := a.retryWhileUnreachable(ctx, func() (err error) {
		if err := a.loader.Listed.LoadSeen(ctx, a.db.Config); err != nil {
			return err
		}
		if set, err = a.build(ctx, a.loaded()); err != nil {
			return err
		}
		return a.openRouting(ctx, set)
	}); err != nil {
		return nil, err
	}
	a.egress = egress.New(set.EgressOptions(c))
	a.health = health.New(health.Options{Failures: c.Breaker.Failures, ProbeAfter: c.Breaker.ProbeAfter, OnHint: a.onHint})
	return set, nil
}

// adopt makes a provider set active.
func (a *App) adopt(f *providerset.Set) {
	a.providers.Store(f)
	var providers, models []string
	for _, t := range f.Snapshot().Targets() {
		providers, models = append(providers, t.Provider), append(models, t.Model.Name)
	}
	a.metrics.SetNames(providers, models)
}

// build loads the provider set and the instance policies of a configuration.
func (a *App) build(ctx context.Context, loaded *config.Loaded) (*providerset.Set, error) {
	set, err := a.loader.Load(ctx, loaded.Config)
	if err != nil {
		return nil, err
	}
	set.Policies, err = a.instancePolicies(loaded, set)
	return set, err
}
