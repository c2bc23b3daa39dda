package app

import (
	"context"
	"sync"
	"time"

	"fairlead/internal/config"
	"fairlead/internal/store/logstore"
)

const (
	expireEvery = time.Minute
	foldEvery   = time.Second
	foldTime    = 10 * time.Second // of one step: a database that does not answer must not hold the lead
)

// lead is what one replica does for all of them, while it is the elected one.
func (a *App) lead(ctx context.Context) {
	if a.loaded().Config.Store != "sqlite" {
		a.log.InfoContext(ctx, "became the leader, running periodic tasks")
	}
	var all sync.WaitGroup
	all.Go(func() { repeat(ctx, expireEvery, func() { a.expire(ctx) }) })
	all.Go(func() { repeat(ctx, foldEvery, func() { a.fold(ctx) }) })
	all.Go(func() { a.measure(ctx) })
	all.Wait()
}

// repeat does something now and then again and again, until the context ends.
func repeat(ctx context.Context, every time.Duration, do func()) {
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

// expire makes room for the next days and deletes what is past its retention, a little at a time.
func (a *App) expire(ctx context.Context) {
	a.report("make partitions", a.db.Log.MaintainPartitions(ctx))
	_, err := a.db.Log.Expire(ctx, time.Now(), retention(a.loaded().Config.Log))
	a.report("expire entries", err)
}

// fold adds to the roll-ups what waits for it.
func (a *App) fold(ctx context.Context) {
	for more := true; more; {
		step, cancel := context.WithTimeout(ctx, foldTime)
		var err error
		more, err = a.db.Figures.Fold(step)
		cancel()
		a.report("fold roll-ups in", err)
	}
}

// retain tells the store of this replica what is past its time, whoever deletes it, and learns how the database grows,
// whoever measures it.
func (a *App) retain(ctx context.Context) {
	repeat(ctx, expireEvery, func() {
		now := time.Now()
		a.report("read retentions", a.db.Log.Retain(ctx, now, retention(a.loaded().Config.Log)))
		if known, err := a.readSizes(ctx); err == nil {
			known = recent(known, now)
			a.sizes.Store(&known)
		}
	})
}

func retention(c config.Log) logstore.Retention {
	return logstore.Retention{Entries: c.EntryRetention, Bodies: c.BodyRetention}
}
