package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/explain"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/settings"
)

const (
	// freshness is the interval at which policies, ratings and providers saved by other processes are loaded.
	freshness = 5 * time.Second
	// listLook is the maximum interval at which refreshModelLists checks whether a model list is due. The interval is a quarter of the
	// configured refresh interval if that is shorter, but at least minListLook.
	listLook    = 30 * time.Second
	minListLook = 250 * time.Millisecond
)

// routingParts holds the components that make routing decisions, explain them and learn from their outcomes.
type routingParts struct {
	policies  *policystore.Store
	feedback  *feedback.Index
	decisions *explain.Service
	keeper    *explain.VersionKeeper
	lengths   *lengthTracker
	prefixes  *promptcache.Memory
}

// openRouting loads the policies and ratings and creates the prompt-cache estimates that routing decisions depend on.
func (a *App) openRouting(ctx context.Context, f *providerset.Set) error {
	a.policies = policystore.New(a.db.Config, f.Policies, f.Inventory(), nil)
	if err := a.policies.Reload(ctx); err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	a.feedback = feedback.NewIndex(a.db.Feedback, a.db.Feedback, feedback.Options{
		Base: func(model string) (predict.Ability, bool) { return a.providers.Load().Snapshot().Ability(model) }, Predictor: predict.Version(),
		HalfLife: func() time.Duration { return a.loaded().Config.Routing.HalfLife }, MinVerdicts: feedback.MinVerdicts,
		Keep: func(ctx context.Context, c *feedback.Corrections) error {
			return replay.Keep(ctx, a.db.Config, nil, nil, c)
		},
	})
	a.providers.Store(f)
	if err := a.feedback.Refresh(ctx); err != nil {
		return fmt.Errorf("read ratings: %w", err)
	}
	a.decisions = &explain.Service{
		Policies: a.policies, Feedback: a.feedback, Accounts: a.accounts, Store: a.db, Spool: a.spool,
		Catalog: func() *catalog.Catalog { return a.providers.Load().Catalog }, Routes: settings.Routes(),
	}
	a.keeper = explain.NewVersionKeeper(a.decisions, a.report)
	a.lengths = newLengthTracker()
	a.prefixes = promptcache.NewMemory(promptcache.DefaultLinks)
	return nil
}

// keepRouting loads the policies and ratings that other processes saved. It rebuilds the provider set when another process has changed
// the stored providers or credentials.
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
		changed, err := a.loader.Changed(ctx)
		if changed && err == nil {
			err = a.rebuild(ctx)
		}
		a.report("read providers", err)
	}
}

// refreshModelLists reads the model lists of providers periodically.
func (a *App) refreshModelLists(ctx context.Context) {
	for {
		a.readModelLists(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(listLook, max(a.loaded().Config.Catalog.Discover/4, minListLook))):
		}
	}
}

// readModelLists reads the model lists that are due. It rebuilds the provider set when a list has changed.
func (a *App) readModelLists(ctx context.Context) {
	reader := providerset.ListReader{Client: a.egress, Store: a.db.Config, Log: a.log, Random: rand.Float64}
	c := a.loaded().Config
	options := providerset.ListOptions{Every: c.Catalog.Discover, AllowUnpriced: c.AllowUnpriced || a.keyring.AllowsUnpriced()}
	changed, err := a.loader.Listed.Refresh(ctx, reader, a.providers.Load().Providers, options)
	if ctx.Err() != nil {
		return
	}
	a.report("read model lists", err)
	if changed {
		a.report("apply model lists", a.rebuild(ctx))
	}
}

// instancePolicies parses the policies of a configuration and checks its routes. The active configuration was checked when it was loaded,
// so its policies and routes may refer to names that were removed later.
func (a *App) instancePolicies(loaded *config.Loaded, f *providerset.Set) (*policy.Set, error) {
	w := f.Inventory()
	w.AllowUnknown = a.providers.Load() != nil && loaded == a.loaded()
	if !w.AllowUnknown {
		if _, err := providerset.ReadRoutes(loaded, f.Snapshot()); err != nil {
			return nil, err
		}
	}
	return providerset.ReadPolicies(loaded, w)
}
