package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/health"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/session"
)

const (
	joinTime     = 2 * time.Second  // maximum time that startup waits for Redis
	warnInterval = 10 * time.Second // minimum time between two warnings about Redis
	outboxSize   = 256
)

// clusterParts holds the components that share state between replicas through Redis.
type clusterParts struct {
	redis    *redis.Client
	client   *cluster.Client
	liveness *cluster.Liveness
	ledger   *ledger.Shared
	outbox   chan string  // messages to publish to other replicas
	warned   atomic.Int64 // time of the last warning, in unix nanoseconds
}

// limitParts holds the rate limits and the budgets.
type limitParts struct {
	admission *limit.AdmissionQueue
	limits    limit.Limiter
	ledger    ledger.Ledger
	cluster   *clusterParts // connection to the other replicas; nil without Redis
	sessions  *session.Namer
	budgets   *budget.Service
}

// openLimits creates the limits and budgets, either for this process only or shared through Redis.
func (a *App) openLimits(ctx context.Context, c config.Config) (err error) {
	a.admission = &limit.AdmissionQueue{}
	a.admission.Configure(c.Limits.ShedAfter)
	if a.sessions, err = session.NewNamer(a.master); err != nil {
		return err
	}
	a.budgets = a.budgetService(a.sessions)
	budgets := ledger.Options{Spent: a.spent, OnWarn: func(b ledger.Budget, s ledger.Status) {
		a.log.Warn("budget warning level exceeded", "budget", b.ID, "name", b.Name, "spent", s.Spent.String(), "of", b.Amount.String())
	}}
	if c.Redis == "" {
		a.limits, a.ledger = limit.NewMemory(time.Now), ledger.New(budgets)
		return nil
	}
	redisClient, err := cluster.Dial(c.Redis)
	if err != nil {
		return err
	}
	p := &clusterParts{redis: redisClient, outbox: make(chan string, outboxSize)}
	p.client = cluster.New(redisClient, cluster.Options{Seen: cluster.StoredReplicas(ctx, a.db), OnStateChange: func(err error) {
		if err == nil {
			a.log.Debug("redis available")
			return
		}
		now, last := time.Now().UnixNano(), p.warned.Load()
		if now-last > int64(warnInterval) && p.warned.CompareAndSwap(last, now) {
			a.log.Warn("redis unavailable, using per-replica limits", "replicas", p.client.State().Replicas, "error", err.Error())
		}
	}})
	p.liveness = cluster.NewLiveness(p.client, a.db)
	a.cluster = p // set before the first call of a.now, which reads it
	budgets.Now, budgets.OthersReachRedis = a.now, p.liveness.OthersReachRedis
	p.ledger = ledger.NewShared(p.client, budgets)
	a.limits, a.ledger = limit.NewRedis(p.client, nil), p.ledger
	if !p.client.AwaitReady(ctx, joinTime) {
		a.log.WarnContext(ctx, "redis unavailable at start, using per-replica limits", "replicas", p.client.State().Replicas)
	}
	return nil
}

// shedding reports whether the gateway rejects model requests because of overload.
func (p *limitParts) shedding() bool { return p.admission != nil && p.admission.Overloaded() }

// responseCache creates the response cache, or returns nil if c.Memory is 0. The cache is in memory. If Redis is configured and c.Redis is
// greater than 0, the cache is also shared through Redis.
func (p *clusterParts) responseCache(c config.ResponseCache, master []byte) (*responsecache.Cache, error) {
	if c.Memory == 0 {
		return nil, nil
	}
	o := responsecache.Options{Memory: int64(c.Memory), Entry: int64(c.Entry)}
	if p != nil && c.Redis > 0 {
		remote, err := responsecache.NewRedis(p.client, master, int64(c.Redis))
		if err != nil {
			return nil, err
		}
		o.Redis = remote
	}
	return responsecache.New(o), nil
}

// onHint queues a hint about a provider's health for the other replicas.
func (p *limitParts) onHint(h health.Hint) {
	if message, err := h.Message(); err == nil {
		p.post(message)
	}
}

// post queues a message for the other replicas, which work without it. It never blocks; messages are dropped when the queue is full.
func (p *limitParts) post(message string) {
	if p.cluster == nil || message == "" {
		return
	}
	select {
	case p.cluster.outbox <- message:
	default:
	}
}

// publishQueued publishes queued messages while Redis is available.
func (p *clusterParts) publishQueued(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-p.outbox:
			if p.client.State().Up {
				_ = p.client.Publish(ctx, message) // the error is ignored: replicas work without these messages
			}
		}
	}
}

// now returns the time of the Redis clock, which all replicas share, or the local time without Redis. It is used for budget
// periods and key expiry.
func (p *limitParts) now() time.Time {
	if p.cluster == nil {
		return time.Now()
	}
	return p.cluster.client.Now()
}

// onDelivered records which parts of request bodies are in the database, and adds the costs of the requests to the shared ledger.
func (a *App) onDelivered(entries []requestlog.Entry) {
	for i := range entries {
		e := &entries[i]
		if at, ok := id.Time(e.ID); ok && e.Body.Split {
			if len(e.Body.Missing) > 0 { // another replica deleted these parts with a request that shared them
				a.known.Clear()
			} else {
				a.known.Add(outline.DayOf(at), e.Body.Parts)
			}
		}
		if a.cluster == nil || e.Cost == nil {
			continue
		}
		a.cluster.ledger.Delivered("key:"+e.KeyID, e.Time, *e.Cost)
		a.cluster.ledger.Delivered("ws:"+e.WorkspaceID, e.Time, *e.Cost)
		for _, subject := range e.Subjects {
			a.cluster.ledger.Delivered(subject, e.Time, *e.Cost)
		}
	}
}

// onMessage handles a message from another replica.
func (a *App) onMessage(message string) {
	if hint, err := health.ParseHint(message); err == nil {
		a.health.ApplyHint(hint)
		return
	}
	if a.gateway.ReceiveEnd(message) || a.gateway.Reasoning.Receive(message) {
		return
	}
	ending, err := account.ParseEnding(message)
	if err != nil { // for example an empty message, which means that messages may have been missed
		a.keyring.Nudge()
		return
	}
	a.keyring.End(ending)
}

// publishEnding notifies the other replicas that a key was revoked or rotated without a grace period.
func (a *App) publishEnding(ctx context.Context, e account.Ending) {
	if a.cluster == nil {
		return
	}
	message, err := e.Message()
	if err == nil {
		err = a.cluster.client.Publish(ctx, message)
	}
	a.report("publish key revocation", err)
}
