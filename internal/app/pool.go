package app

import (
	"context"
	"slices"

	"fairlead.dev/internal/admin/routes"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/settings"
)

// recordPool logs and stores how the default pool differs from the pool that was recorded last. before is the pool of this process; nil at
// the start. Replicas have the same pool, so only the first of them stores the change.
func (a *App) recordPool(ctx context.Context, before []string, after route.Pool) error {
	if slices.Equal(before, after.Models) {
		return nil
	}
	events, err := a.accounts.InstanceEvents(ctx, routes.PoolChanged, 1)
	if err != nil {
		return err
	}
	recorded := before
	if len(events) > 0 {
		recorded = routes.EventOf(&events[0]).Pool
	}
	if recorded == nil { // the first pool of a new instance
		return nil
	}
	for _, change := range route.ComparePools(route.Pool{Models: recorded}, after) {
		a.log.Info("pool changed", "reason", change.Reason, "added", change.Added, "removed", change.Removed)
		event := routes.PoolEvent{Reason: change.Reason, Added: change.Added, Removed: change.Removed, Pool: after.Models}
		if err := a.accounts.NoteInstance(ctx, "router", routes.PoolChanged, route.Auto, event); err != nil {
			return err
		}
	}
	return nil
}

// Targets returns the active snapshot.
func (b adminBackend) Targets() *route.Snapshot { return b.app.gateway.Targets() }

// InstanceRoutes returns the routes of the configuration file.
func (b adminBackend) InstanceRoutes() []route.Route { return settings.RoutesOf(b.app.loaded().Config) }

// PoolChanges implements routes.Router.
func (b adminBackend) PoolChanges(ctx context.Context) ([]routes.PoolChange, error) {
	return routes.LatestChanges(ctx, b.app.accounts)
}
