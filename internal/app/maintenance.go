package app

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/logstore"
)

const (
	expireEvery = time.Minute
	rollUpEvery = time.Second
	foldEvery   = 15 * time.Second
	foldTime    = time.Minute
	rollUpTime  = 10 * time.Second // time limit for one step of updating the roll-ups, so that an unresponsive database does not block the leader
)

// databaseTasks runs the periodic tasks of one replica.
type databaseTasks struct {
	store     *store.DB
	retention func() logstore.Retention // returns the configured default retention
	report    func(task string, err error)
	samples   atomic.Pointer[[]overview.StorageSample]
}

// newDatabaseTasks returns the tasks for a database. retention returns the current default retention. report is called after every step of a
// task, with a nil error if the step succeeded.
func newDatabaseTasks(db *store.DB, retention func() logstore.Retention, report func(task string, err error)) *databaseTasks {
	t := &databaseTasks{store: db, retention: retention, report: report}
	t.samples.Store(&[]overview.StorageSample{})
	return t
}

// Lead runs the tasks of the elected leader until ctx is cancelled.
func (t *databaseTasks) Lead(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		repeatEvery(ctx, expireEvery, func() {
			t.report("create partitions", t.store.Log.MaintainPartitions(ctx))
			_, err := t.store.Log.Expire(ctx, time.Now(), t.retention())
			t.report("delete expired entries", err)
		})
	})
	fold := func(task string, limit time.Duration, step func(context.Context) (bool, error)) {
		for more := true; more; {
			limited, cancel := context.WithTimeout(ctx, limit)
			var err error
			more, err = step(limited)
			cancel()
			t.report(task, err)
		}
	}
	all.Go(func() {
		repeatEvery(ctx, rollUpEvery, func() { fold("update roll-ups", rollUpTime, t.store.Figures.Fold) })
	})
	all.Go(func() {
		repeatEvery(ctx, foldEvery, func() { fold("update report roll-ups", foldTime, t.store.Report.Fold) })
	})
	all.Go(func() { t.sampleSize(ctx) })
	all.Wait()
}

// Follow runs the tasks of every replica until ctx is cancelled. It hides expired entries even before the leader deletes them,
// and loads the size samples that the leader has written.
func (t *databaseTasks) Follow(ctx context.Context) {
	repeatEvery(ctx, expireEvery, func() {
		now := time.Now()
		t.report("read retentions", t.store.Log.Retain(ctx, now, t.retention()))
		if samples, err := t.loadSamples(ctx); err == nil {
			samples = recentSamples(samples, now)
			t.samples.Store(&samples)
		}
	})
}

// repeatEvery calls do immediately and then periodically until ctx is cancelled.
func repeatEvery(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
