package limit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/cluster"
)

// returnTime limits how long a request that exceeds this replica's share waits for Redis, counted from the start of the outage. A short
// delay on this machine can look like an outage.
const returnTime = 250 * time.Millisecond

// maxExact is the largest number that the Lua scripts count exactly.
const maxExact = 1<<53 - 1

// Redis is a Limiter that all replicas share. It counts like Memory, but in Redis, with one call per operation. While Redis is
// unavailable, each replica admits its share of the remaining capacity.
type Redis struct {
	link  *cluster.Client
	now   func() time.Time // clock; nil for the Redis clock
	views viewSet
}

// NewRedis returns a limiter that uses a running cluster client. If now is nil, the Redis clock is used, so that differences
// between the clocks of replicas have no effect.
func NewRedis(link *cluster.Client, now func() time.Time) *Redis {
	local := now
	if local == nil {
		local = time.Now
	}
	r := &Redis{link: link, now: now, views: viewSet{clock: clock{now: local}, ids: map[string]*replicaView{}}}
	link.OnBeat(r.sync)
	return r
}

// Take implements Limiter.
func (r *Redis) Take(ctx context.Context, id string, l Limits, tokens int64) (*Slot, error) {
	if l.RequestsPerMinute <= 0 && l.TokensPerMinute <= 0 && l.Concurrent <= 0 {
		return NewSlot(nil), nil
	}
	tokens = min(max(tokens, 0), maxExact)
	if l.TokensPerMinute > 0 && tokens > l.TokensPerMinute {
		used := int64(0)
		r.views.with(id, func(x *replicaView, _ time.Duration) { used = x.seen.tokens.sum })
		return nil, RejectTooLarge(Rejection{TokensPerMinute, l.TokensPerMinute, used}, tokens)
	}
	r.views.with(id, func(x *replicaView, _ time.Duration) { x.pendingCalls++ })
	defer r.views.with(id, func(x *replicaView, _ time.Duration) { x.pendingCalls-- })
	slot, err := r.take(ctx, id, l, tokens)
	if !errors.Is(err, cluster.ErrUnavailable) {
		return slot, err
	}
	slot, rejection := r.share(id, l, tokens)
	if rejection == nil || !r.awaitReturn(ctx) {
		return slot, rejection
	}
	if slot, err = r.take(ctx, id, l, tokens); errors.Is(err, cluster.ErrUnavailable) {
		return nil, rejection
	}
	return slot, err
}

// awaitReturn waits for the end of an outage, but at most until the outage has lasted for returnTime. It reports whether the
// outage has ended.
func (r *Redis) awaitReturn(ctx context.Context) bool {
	for {
		state := r.link.State()
		if state.Ready || time.Since(state.Since) > returnTime {
			return state.Ready
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(returnTime / 10):
		}
	}
}

// take counts the request in Redis. It returns cluster.ErrUnavailable when Redis does not respond in time.
func (r *Redis) take(ctx context.Context, id string, l Limits, tokens int64) (*Slot, error) {
	state := r.link.State()
	if !state.Ready {
		return nil, cluster.ErrUnavailable
	}
	var reply []any
	err := r.link.Do(ctx, func(ctx context.Context, c redis.Scripter) (err error) {
		reply, err = takeScript.Run(ctx, c, []string{r.counts(id), r.running(id), r.link.Members()}, r.micros(),
			bound(l.RequestsPerMinute), bound(l.TokensPerMinute), bound(l.Concurrent), tokens, r.link.ID(), r.link.Lease().Milliseconds()).Slice()
		if err == nil && len(reply) != 6 {
			err = fmt.Errorf("take: reply has %d values, want 6", len(reply))
		}
		return err
	})
	if err != nil {
		r.views.markUncertain(id) // the request may have been counted
		return nil, err
	}
	requests, used := number(reply[4]), number(reply[5])
	if reply[0] != int64(1) {
		r.views.with(id, func(x *replicaView, at time.Duration) { x.setTotals(at, requests, used) })
		name, _ := reply[1].(string)
		wait := time.Duration(number(reply[3])) * time.Microsecond
		limit := l.RequestsPerMinute
		switch name {
		case Concurrent:
			limit = l.Concurrent
		case TokensPerMinute:
			limit = l.TokensPerMinute
		}
		return nil, Reject(Rejection{name, limit, number(reply[2])}, wait)
	}
	windowID, _ := reply[1].(string)
	r.views.with(id, func(x *replicaView, at time.Duration) {
		x.epoch = cmp.Or(x.epoch, state.Epoch)
		x.setTotals(at, requests, used)
		x.own.add(tokens)
		x.running++
	})
	g := &redisGrant{limiter: r, id: id, limits: l, tokens: tokens, windowID: windowID, taken: number(reply[2])}
	return NewSlot(g), nil
}

// redisGrant implements Grant for a request that is counted in Redis.
type redisGrant struct {
	limiter *Redis
	id      string
	limits  Limits
	tokens  int64

	windowID string // ID of the window in Redis; empty if only this replica counted the request
	taken    int64  // second of the window in which the request was counted
}

// Settle implements Grant. It calls Redis only if there is a token limit.
func (g *redisGrant) Settle(tokens int64) {
	if g.limits.TokensPerMinute <= 0 {
		return
	}
	tokens = min(tokens, maxExact)
	r := g.limiter
	if !r.link.State().Ready {
		r.views.recordUnreportedSettlement(g.id, tokens-g.tokens)
		return
	}
	var reply []any
	err := r.link.Do(context.Background(), func(ctx context.Context, c redis.Scripter) (err error) {
		reply, err = settleScript.Run(ctx, c, []string{r.counts(g.id)}, r.micros(), g.windowID, g.taken, g.tokens, tokens).Slice()
		if err == nil && len(reply) != 2 {
			err = fmt.Errorf("settle: reply has %d values, want 2", len(reply))
		}
		return err
	})
	if err != nil {
		r.views.recordUnreportedSettlement(g.id, tokens-g.tokens)
		return
	}
	r.views.with(g.id, func(x *replicaView, at time.Duration) {
		x.setTotals(at, number(reply[0]), number(reply[1]))
		x.own.tokens.add(x.own.at, max(tokens-g.tokens, 0))
	})
}

// Release implements Grant. It calls Redis only if there is a concurrency limit.
func (g *redisGrant) Release() {
	r := g.limiter
	r.views.with(g.id, func(x *replicaView, _ time.Duration) { x.running = max(x.running-1, 0) })
	if g.limits.Concurrent <= 0 {
		return
	}
	if !r.link.State().Ready || g.windowID == "" {
		r.views.markUncertain(g.id)
		return
	}
	err := r.link.Do(context.Background(), func(ctx context.Context, c redis.Scripter) error {
		return releaseScript.Run(ctx, c, []string{r.running(g.id)}, r.link.ID()).Err()
	})
	if err != nil {
		r.views.markUncertain(g.id)
	}
}

// sync sends the counts that Redis lacks and reads the totals of all IDs in use by this replica.
func (r *Redis) sync(ctx context.Context, s cluster.State) {
	for _, one := range r.views.reports(s.Epoch) {
		var reply []any
		err := r.link.Do(ctx, func(ctx context.Context, c redis.Scripter) (err error) {
			args := append([]any{r.micros(), r.link.ID(), one.running}, one.missing...)
			reply, err = syncScript.Run(ctx, c, []string{r.counts(one.id), r.running(one.id)}, args...).Slice()
			if err == nil && len(reply) != 2 {
				err = fmt.Errorf("sync: reply has %d values, want 2", len(reply))
			}
			return err
		})
		if err != nil || ctx.Err() != nil {
			return // the next heartbeat retries
		}
		r.views.with(one.id, func(x *replicaView, at time.Duration) {
			x.unreported.subtract(&one.unreported)
			x.epoch = s.Epoch
			if one.running >= 0 {
				x.uncertain = x.running != one.running
			}
			if s.Ready { // all replicas have sent their counts
				x.setTotals(at, number(reply[0]), number(reply[1]))
			}
		})
	}
}

func (r *Redis) counts(id string) string  { return r.link.Key("limit", id) }
func (r *Redis) running(id string) string { return r.link.Key("running", id) }

// micros returns the time for the scripts in microseconds, or 0 for the Redis clock.
func (r *Redis) micros() int64 {
	if r.now == nil {
		return 0
	}
	return r.now().UnixMicro()
}

func bound(limit int64) int64 { return min(max(limit, 0), maxExact) }

// number parses a number that a script returned as text.
func number(v any) int64 {
	text, _ := v.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
