package app

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/spool"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/transcript"
)

// drainTime limits how long running requests may continue after the stop signal.
const drainTime = 30 * time.Second

// taskParts holds the state of the background tasks.
type taskParts struct {
	reloading sync.Mutex // locked while a configuration is applied
	tasks     sync.WaitGroup
	endTasks  context.CancelFunc
}

// start starts the background tasks.
func (a *App) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // tasks end after the last request, not at the stop signal
	a.endTasks = cancel
	a.tasks.Go(func() { releaseMemoryAfterStart(ctx) })
	a.tasks.Go(func() { a.keyring.Run(ctx) })
	a.tasks.Go(func() {
		a.report("deliver entries", a.spool.Run(ctx, a.db.Log, spool.RunOptions{
			Busy: a.admission.Overloaded, Away: store.Unavailable, Prepare: a.prepare, OnDelivered: a.onDelivered,
		}))
	})
	a.tasks.Go(func() { a.maintenance.Follow(ctx) })
	a.tasks.Go(func() { a.db.Lead(ctx, a.lead) })
	a.tasks.Go(func() { a.listenForReloads(ctx) })
	a.tasks.Go(func() { a.keepPrices(ctx) })
	a.tasks.Go(func() { a.refreshModelLists(ctx) })
	a.tasks.Go(func() { a.probeIdleTargets(ctx) })
	a.tasks.Go(func() { a.watchPrices(ctx) })
	a.tasks.Go(func() { a.comparer.Run(ctx) })
	a.tasks.Go(func() { a.alerts.engine.Follow(ctx) })
	a.tasks.Go(func() { a.sso.Run(ctx) })
	a.tasks.Go(func() {
		a.report("record the pool", a.recordPool(ctx, nil, a.providers.Load().Snapshot().Pool()))
		a.keepRouting(ctx)
	})
	a.tasks.Go(func() { a.keeper.Run(ctx) })
	a.tasks.Go(func() { a.db.Listen(ctx, a.keyring.Nudge) })
	if p := a.cluster; p != nil {
		a.tasks.Go(func() {
			// Heartbeats continue until the ledger has sent its last settlements, because settlements of a replica that has left the
			// cluster are ignored.
			beating, stop := context.WithCancel(context.WithoutCancel(ctx))
			var heartbeat sync.WaitGroup
			heartbeat.Go(func() { p.client.Run(beating) })
			p.ledger.Run(ctx)
			stop()
			heartbeat.Wait()
		})
		a.tasks.Go(func() { p.client.Listen(ctx, a.onMessage) })
		a.tasks.Go(func() { p.client.StoreReplicas(ctx, a.db) })
		a.tasks.Go(func() { p.publishQueued(ctx) })
		if a.loaded().Config.Store != "sqlite" { // replicas do not share a SQLite file
			a.tasks.Go(func() { p.liveness.Run(ctx) })
		}
	}
	if loaded := a.loaded(); loaded.Path != "" {
		a.tasks.Go(func() {
			loaded.Watch(ctx, func() { a.reload(ctx, "file changed") })
		})
	}
}

// lead runs the periodic tasks while this replica is the elected leader.
func (a *App) lead(ctx context.Context) {
	if a.loaded().Config.Store != "sqlite" {
		a.log.InfoContext(ctx, "became the leader, running periodic tasks")
	}
	var all sync.WaitGroup
	all.Go(func() { a.maintenance.Lead(ctx) })
	all.Go(func() { a.alerts.engine.Lead(ctx) })
	all.Go(func() { a.leadExport(ctx) })
	all.Go(func() { a.gateway.FollowBatches(ctx, a.report) })
	all.Wait()
}

// prepare assembles the responses of entries and redacts them. This is done before the entries are written to the
// database, not while requests are served.
func (a *App) prepare(entries []requestlog.Entry) {
	for i := range entries {
		transcript.AssembleResponse(&entries[i])
	}
	a.redaction.RedactBatch(entries)
}

func (a *App) listenForReloads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.options.Reload:
			a.reload(ctx, "signal")
		}
	}
}

// reload loads the configuration again and applies the settings that do not require a restart. If the configuration is invalid,
// the previous one stays active.
func (a *App) reload(ctx context.Context, why string) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	next, err := a.options.Load()
	if err != nil {
		a.log.Error("configuration rejected, keeping the previous one", "trigger", why, "error", err.Error())
		return
	}
	changed, restart := config.Diff(&a.loaded().Config, &next.Config)
	config.KeepUntilRestart(&a.loaded().Config, &next.Config)
	if err := a.apply(ctx, next); err != nil {
		a.log.Error("configuration rejected, keeping the previous one", "trigger", why, "error", err.Error())
		return
	}
	a.log.Info("configuration reloaded", "trigger", why, "changed", changed)
	a.warnBaseline()
	if len(restart) > 0 {
		a.log.Warn("restart required for changed settings", "settings", restart)
	}
}

// apply makes a configuration active. Running requests keep using the previous one.
func (a *App) apply(ctx context.Context, next *config.Loaded) error {
	f, err := a.build(ctx, next)
	if err != nil {
		return err
	}
	a.ssoEgress.Update(settings.SSOEgress(next.Config))
	if before := a.loaded().Config.SSO; !reflect.DeepEqual(before, next.Config.SSO) {
		a.sso.Configure(settings.SSO(next.Config.SSO))
	}
	a.config.Store(next)
	a.setLevel(next.Config.Log)
	a.egress.Update(f.EgressOptions(next.Config))
	a.shadowEgress.Update(f.EgressOptions(next.Config))
	a.tenantEgress.Update(settings.TenantEgress(next.Config))
	a.health.Configure(next.Config.Breaker.Failures, next.Config.Breaker.ProbeAfter)
	a.admission.Configure(next.Config.Limits.ShedAfter)
	a.policies.SetInstance(f.Policies, f.Inventory())
	a.gateway.Update(settings.Gateway(next.Config), f.Snapshot())
	a.shadow.Update(shadowSettings(next.Config), f.Snapshot())
	before := a.providers.Load().Snapshot().Pool().Models
	a.adopt(f)
	a.report("record the pool", a.recordPool(ctx, before, f.Snapshot().Pool()))
	a.report("recompute rating corrections", a.feedback.Recompute(ctx))
	return nil
}

// stop waits for running requests and stops the components in reverse order.
func (a *App) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	a.log.Info("shutting down, waiting for active requests")
	drain, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	a.gateway.Drain(drain)
	hangUp, hungUp := context.WithTimeout(ctx, 5*time.Second)
	defer hungUp()
	err := a.listener.stop(hangUp)
	if a.adminListener != nil {
		err = errors.Join(err, a.adminListener.stop(hangUp))
	}
	a.admin.Close()
	flush, done := context.WithTimeout(ctx, 5*time.Second) // separate timeout, because slow clients may have used up that of hangUp
	defer done()
	if flushErr := a.spool.Flush(flush); flushErr != nil {
		a.log.Warn("entries remain in the spool until the next start", "error", flushErr.Error())
	}
	if a.traces != nil {
		export, exported := context.WithTimeout(ctx, exportTime)
		defer exported()
		if exportErr := a.traces.Close(export); exportErr != nil {
			a.log.Warn("some telemetry was not exported", "error", exportErr.Error())
		}
	}
	a.endTasks()
	a.tasks.Wait()
	a.redaction.Wait()
	return errors.Join(err, a.close())
}

// close closes the open files and connections.
func (a *App) close() error {
	var errs []error
	if a.spool != nil {
		errs = append(errs, a.spool.Close())
	}
	if a.egress != nil {
		a.egress.Close()
	}
	if a.ssoEgress != nil {
		a.ssoEgress.Close()
	}
	if a.shadowEgress != nil {
		a.shadowEgress.Close()
	}
	if a.tenantEgress != nil {
		a.tenantEgress.Close()
	}
	if a.cluster != nil {
		errs = append(errs, a.cluster.redis.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	if a.unlock != nil {
		errs = append(errs, a.unlock())
	}
	return errors.Join(errs...)
}
