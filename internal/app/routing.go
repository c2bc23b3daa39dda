package app

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead/internal/catalog"
	"fairlead/internal/config"
	"fairlead/internal/explain"
	"fairlead/internal/feedback"
	"fairlead/internal/policy"
	"fairlead/internal/policystore"
	"fairlead/internal/predict"
	"fairlead/internal/promptcache"
	"fairlead/internal/providerset"
	"fairlead/internal/settings"
	"fairlead/internal/signals"
)

// freshness is the interval at which policies and ratings of other processes are read.
const freshness = 5 * time.Second

// openRouting loads the policies, ratings and prompt-cache estimates that decisions depend on.
func (a *App) openRouting(ctx context.Context, c config.Config, f *providerset.Set) error {
	a.policies = policystore.New(a.db.Config, f.Policies, f.World(), nil)
	if err := a.policies.Reload(ctx); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	a.feedback = feedback.NewIndex(a.db.Feedback, a.db.Feedback, feedback.Options{
		Base: func(model string) (predict.Ability, bool) { return a.providers.Load().Snapshot().Ability(model) }, Predictor: a.predictor.Version(),
		HalfLife: a.halfLife,
	})
	a.providers.Store(f)
	if err := a.feedback.Refresh(ctx); err != nil {
		return fmt.Errorf("read ratings: %w", err)
	}
	a.signals = signals.New(a.feedback.Signal, func(err error) { a.report("write signals", err) })
	a.decisions = &explain.Service{
		Policies: a.policies, Feedback: a.feedback, Predictor: a.predictor, Accounts: a.accounts, Store: a.db, Spool: a.spool,
		Catalog: func() *catalog.Catalog { return a.providers.Load().Catalog }, Routes: settings.Routes(),
	}
	a.keeper = explain.NewVersionKeeper(a.decisions, a.report)
	return a.openPrefixes(c)
}

// halfLife returns the configured half-life of ratings.
func (a *App) halfLife() time.Duration { return a.loaded().Config.Routing.HalfLife }

// openPrefixes creates the store of cached prefixes: in memory, shared through Redis if there is one.
func (a *App) openPrefixes(c config.Config) error {
	memory := promptcache.NewMemory(promptcache.DefaultLinks)
	a.prefixes = memory
	if c.Redis == "" {
		return nil
	}
	options, err := redis.ParseURL(c.Redis)
	if err != nil {
		return fmt.Errorf("parse redis url: %w", err)
	}
	a.redis = redis.NewClient(options)
	a.shared = promptcache.NewShared(memory, promptcache.NewRedis(a.redis))
	a.prefixes = a.shared
	return nil
}

// startRouting starts the background tasks of routing.
func (a *App) startRouting(ctx context.Context) {
	a.tasks.Go(func() { a.keepRouting(ctx) })
	a.tasks.Go(func() { a.keeper.Run(ctx) })
	a.tasks.Go(func() { a.signals.Run(ctx) })
	if a.shared != nil {
		a.tasks.Go(func() { a.shared.Run(ctx) })
	}
}

func (a *App) keepRouting(ctx context.Context) {
	tick := time.NewTicker(freshness)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		a.report("read policies", a.policies.Reload(ctx))
		a.report("read ratings", a.feedback.Refresh(ctx))
	}
}

// refreshModelLists reads the model lists of providers periodically and rebuilds the provider set when one has changed.
func (a *App) refreshModelLists(ctx context.Context) {
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	for {
		allowUnpriced := a.loaded().Config.AllowUnpriced || a.keyring.AllowsUnpriced()
		if a.loader.Listed.Refresh(ctx, a.egress, a.providers.Load().Providers, allowUnpriced, a.log) {
			if err := a.rebuild(ctx); err != nil && ctx.Err() == nil {
				a.report("add listed models", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// instancePolicies reads the policies of a configuration. Policies of the active configuration were checked when it was
// loaded: names that have disappeared since do not make a provider set invalid.
func (a *App) instancePolicies(loaded *config.Loaded, f *providerset.Set) (*policy.Set, error) {
	w := f.World()
	w.AllowUnknown = a.providers.Load() != nil && loaded == a.loaded()
	return providerset.ReadPolicies(loaded, w)
}
