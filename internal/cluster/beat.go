package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/id"
)

// beat registers a replica, removes expired replicas and returns the number of live replicas, using the Redis clock. The first replica
// creates the epoch. If no replica is registered, all replicas have been disconnected for longer than a lease. The epoch then starts a new
// settling period, in which the replicas send their holds again.
var beat = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - ARGV[2]))
local epoch = redis.call('GET', KEYS[2])
if not epoch then
  redis.call('SET', KEYS[2], ARGV[3] .. ' ' .. string.format('%.0f', now))
elseif redis.call('ZCARD', KEYS[1]) == 0 then
  redis.call('SET', KEYS[2], string.match(epoch, '^%S+') .. ' ' .. string.format('%.0f', now))
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
return {redis.call('ZCARD', KEYS[1]), redis.call('GET', KEYS[2]), string.format('%.0f', now)}
`)

const (
	probeEvery = 100 * time.Millisecond // interval between heartbeats while Redis is unavailable
	hookTime   = 2 * time.Second        // time limit for each hook
	leaveTime  = time.Second
)

// Run sends heartbeats until ctx is cancelled. It then removes this replica from the cluster.
func (l *Client) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if l.state.Load().Up { // leave the set of live replicas, so that the others get larger shares of the limits immediately
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
				defer cancel()
				_ = l.client.ZRem(ctx, l.Members(), l.o.ID).Err() // the error is ignored: the lease expires
			}
			return
		case <-l.wake:
		case <-timer.C:
		}
		wait := l.o.Beat
		if l.Beat(ctx) != nil {
			wait = min(wait, probeEvery)
		}
		timer.Reset(wait)
	}
}

// Beat sends one heartbeat and calls the hooks. During an outage, a reply that takes longer than Options.Budget does not end the
// outage.
func (l *Client) Beat(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	outage := l.state.Load().Outage
	state, err := l.heartbeat(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.markDown(err)
		}
		return err
	}
	old := l.state.Load()
	if old.Outage != outage {
		return ErrUnavailable // a call failed after the heartbeat's reply
	}
	state.Outage, state.Since = old.Outage, old.Since
	hooked := state
	hooked.Ready = false // not ready until the hooks have run
	if old.Up && old.Ready && old.Epoch == state.Epoch {
		hooked.Ready = true
	}
	if !l.state.CompareAndSwap(old, &hooked) {
		return ErrUnavailable
	}
	for _, hook := range l.hooks {
		limited, cancel := context.WithTimeout(ctx, hookTime)
		hook(limited, state)
		cancel()
	}
	if !l.state.CompareAndSwap(&hooked, &state) {
		return ErrUnavailable
	}
	if !old.Up {
		l.o.OnStateChange(nil)
	}
	return nil
}

func (l *Client) heartbeat(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSilentBudgets*l.o.Budget)
	defer cancel()
	began := time.Now()
	reply, err := beat.Run(ctx, l.client, []string{l.Members(), l.Key("epoch")}, l.o.ID, l.o.Lease.Milliseconds(), id.New("ep", began)).Slice()
	if err != nil {
		return State{}, fmt.Errorf("heartbeat: %w", err)
	}
	elapsed := time.Since(began)
	if elapsed > l.o.Budget && !l.state.Load().Up {
		return State{}, fmt.Errorf("heartbeat took %s: %w", elapsed.Round(time.Millisecond), ErrUnavailable)
	}
	return l.read(reply, began.Add(elapsed/2)) // assume that Redis read its clock halfway through the call
}

func (l *Client) read(reply []any, at time.Time) (State, error) {
	if len(reply) != 3 {
		return State{}, fmt.Errorf("heartbeat: unexpected reply with %d parts", len(reply))
	}
	count, _ := reply[0].(int64)
	named, _ := reply[1].(string)
	text, _ := reply[2].(string)
	now, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return State{}, fmt.Errorf("heartbeat: invalid time %q", text)
	}
	epoch, begun, _ := strings.Cut(named, " ")
	start, err := strconv.ParseInt(begun, 10, 64)
	if err != nil {
		return State{}, fmt.Errorf("heartbeat: invalid epoch %q", named)
	}
	age := time.Duration(now-start) * time.Millisecond
	return State{
		Up: true, Ready: age >= l.o.Settling || age < 0, // age is negative if the clock was set back
		Epoch: epoch, Replicas: max(int(count), 1), clock: time.UnixMilli(now), read: at,
	}, nil
}

// AwaitReady sends heartbeats until Redis is ready. It returns false if Redis is not ready within patience.
func (l *Client) AwaitReady(ctx context.Context, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(min(probeEvery, l.o.Settling+time.Millisecond))
	defer tick.Stop()
	for {
		_ = l.Beat(ctx) // the error is ignored: State reports whether Redis is ready
		if l.State().Ready {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}
