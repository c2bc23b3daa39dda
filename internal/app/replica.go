package app

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead/internal/account"
	"fairlead/internal/cluster"
	"fairlead/internal/config"
	"fairlead/internal/health"
	"fairlead/internal/ledger"
	"fairlead/internal/limit"
	"fairlead/internal/requestlog"
)

const (
	joinTime        = 2 * time.Second  // how long a start waits until Redis may be relied on
	complainEvery   = 10 * time.Second // about a Redis that comes and goes
	countEvery      = 5 * time.Second
	hintQueue       = 256
	replicasSetting = "replicas"
)

// fellows is this process among its replicas: what they share by way of Redis.
type fellows struct {
	client     *redis.Client
	link       *cluster.Client
	ledger     *ledger.Shared
	hints      chan health.Hint // on their way to the others
	reach      reach
	complained atomic.Int64
}

// openReplicas builds limits and budgets: of this process alone, or shared with other replicas by way of Redis.
func (a *App) openReplicas(ctx context.Context, c config.Config) error {
	budgets := ledger.Options{Spent: a.spent, OnWarn: a.warnBudget}
	if c.Redis == "" {
		a.limits, a.ledger = limit.NewMemory(time.Now), ledger.New(budgets)
		return nil
	}
	quietRedis()
	client, err := cluster.Dial(c.Redis)
	if err != nil {
		return err
	}
	f := &fellows{client: client, hints: make(chan health.Hint, hintQueue)}
	budgets.Now, budgets.OthersReachRedis = a.now, a.reachedElsewhere
	f.link = cluster.New(client, cluster.Options{Seen: a.lastSeen(ctx), OnStateChange: func(err error) { a.reportRedis(f, err) }})
	f.ledger = ledger.NewShared(f.link, budgets)
	a.fellows, a.limits, a.ledger = f, limit.NewRedis(f.link, nil), f.ledger
	if !f.link.AwaitReady(ctx, joinTime) {
		a.log.WarnContext(ctx, "redis unavailable at start, using per-replica limits", "replicas", f.link.State().Replicas)
	}
	return nil
}

// quietRedis keeps the client's own lines out of the log, which is JSON and tells of Redis by itself.
var quietRedis = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

// Printf says nothing.
func (silence) Printf(context.Context, string, ...any) {}

// lastSeen is how many replicas there were when one of them last looked: for a start without Redis.
func (a *App) lastSeen(ctx context.Context) int {
	text, err := a.db.Setting(ctx, replicasSetting)
	if err != nil {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1
	}
	return n
}

// reportRedis tells that Redis has gone or is back. One that comes and goes is not told of each time.
func (a *App) reportRedis(f *fellows, err error) {
	if err == nil {
		a.log.Debug("redis available")
		return
	}
	now, last := time.Now().UnixNano(), f.complained.Load()
	if now-last > int64(complainEvery) && f.complained.CompareAndSwap(last, now) {
		a.log.Warn("redis unavailable, using per-replica limits", "replicas", f.link.State().Replicas, "error", err.Error())
	}
}

// startReplicas lets everything run by which replicas hear of each other.
func (a *App) startReplicas(ctx context.Context) {
	a.tasks.Go(func() { a.db.Listen(ctx, a.keyring.Nudge) })
	f := a.fellows
	if f == nil {
		return
	}
	a.tasks.Go(func() { f.run(ctx) })
	a.tasks.Go(func() { f.link.Listen(ctx, a.hear) })
	a.tasks.Go(func() { a.keepCount(ctx) })
	a.tasks.Go(func() { f.sendHints(ctx) })
	if a.loaded().Config.Store != "sqlite" { // which nobody else reads
		a.tasks.Go(func() { a.showReach(ctx) })
	}
}

// tellHint passes on to the other replicas what this one has found out about a provider. It never waits: a hint that finds
// no room is one of many.
func (a *App) tellHint(h health.Hint) {
	if a.fellows == nil {
		return
	}
	select {
	case a.fellows.hints <- h:
	default:
	}
}

// sendHints tells the other replicas while Redis is there. They find out by themselves when it is not.
func (f *fellows) sendHints(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-f.hints:
			message, err := h.Message()
			if err == nil && f.link.State().Up {
				_ = f.link.Publish(ctx, message) // only a hint
			}
		}
	}
}

// run keeps the heart beating until the ledger has told its last settlements: what a replica says that has signed off counts
// no more.
func (f *fellows) run(ctx context.Context) {
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var heart sync.WaitGroup
	heart.Go(func() { f.link.Run(beating) })
	f.ledger.Run(ctx)
	stop()
	heart.Wait()
}

// now is the time by Redis's clock, which is the same for all replicas, or by this machine's where there is none. Budgets and
// keys end by it.
func (a *App) now() time.Time {
	if a.fellows == nil {
		return time.Now()
	}
	return a.fellows.link.Now()
}

// delivered hears of entries that have arrived in the database.
func (a *App) delivered(entries []requestlog.Entry) {
	if a.fellows == nil {
		return
	}
	for i := range entries {
		if e := &entries[i]; e.Cost != nil && e.KeyID != requestlog.SampleKey {
			a.fellows.ledger.Delivered("key:"+e.KeyID, e.Time, *e.Cost)
			a.fellows.ledger.Delivered("ws:"+e.WorkspaceID, e.Time, *e.Cost)
		}
	}
}

// hear takes a message of another replica in.
func (a *App) hear(message string) {
	if hint, err := health.ParseHint(message); err == nil {
		a.health.ApplyHint(hint)
		return
	}
	ending, err := account.ParseEnding(message)
	if err != nil { // also the empty one: something may have been missed
		a.keyring.Nudge()
		return
	}
	a.keyring.End(ending)
}

// tellEnd tells other replicas of a key that has ended here.
func (a *App) tellEnd(ctx context.Context, e account.Ending) {
	if a.fellows != nil {
		a.report("publish an ended key", sendEnd(ctx, a.fellows.link, e))
	}
}

func sendEnd(ctx context.Context, link *cluster.Client, e account.Ending) error {
	message, err := e.Message()
	if err != nil {
		return err
	}
	return link.Publish(ctx, message)
}

// tellEnd tells the servers of a key that a command has ended. They also look by themselves.
func (i *Instance) tellEnd(ctx context.Context, e account.Ending) {
	if i.Config.Redis == "" {
		return
	}
	quietRedis()
	client, err := cluster.Dial(i.Config.Redis)
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	_ = sendEnd(ctx, cluster.New(client, cluster.Options{}), e) // the database tells them too
}

// keepCount writes down how many replicas there are, for those that start while Redis is away.
func (a *App) keepCount(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	written := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		state := a.fellows.link.State()
		if !state.Ready || state.Replicas == written {
			continue
		}
		if err := a.db.SetSetting(ctx, replicasSetting, strconv.Itoa(state.Replicas)); err == nil {
			written = state.Replicas
		}
	}
}

// redisCheck says how Redis is. Requests are served without it, so it is never a reason not to be ready.
func (a *App) redisCheck() (check, bool) {
	if a.fellows == nil {
		return check{}, false
	}
	state := a.fellows.link.State()
	return check{Name: "redis", OK: true, Note: note(!state.Ready, "unavailable, using per-replica limits")}, true
}
