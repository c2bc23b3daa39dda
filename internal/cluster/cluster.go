// Package cluster connects the replicas of one deployment through a shared Redis server: heartbeats, calls with time limits, and
// messages. Packages limit and ledger own the counters stored in Redis.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/id"
)

// ErrUnavailable is returned when Redis does not respond in time.
var ErrUnavailable = errors.New("redis did not respond in time")

// Options configures a Client. Zero values select the defaults given below.
type Options struct {
	Namespace     string           // prefix of all keys; default "fairlead"
	ID            string           // ID of this replica; default a new ID
	Budget        time.Duration    // time limit for a call; default 40 ms
	Beat          time.Duration    // interval between heartbeats; default 500 ms
	Lease         time.Duration    // time without a heartbeat after which a replica is removed; default 30 s
	Settling      time.Duration    // time during which an empty Redis is not ready, so that every replica can send its state; default 1.5 s
	Seen          int              // assumed number of replicas before the first contact; default 1
	Now           func() time.Time // clock that replaces the Redis clock in tests; may be nil
	OnStateChange func(err error)  // called with the cause when Redis becomes unavailable, and with nil when it is available again
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = "fairlead"
	}
	if o.ID == "" {
		o.ID = id.New("rep", time.Now())
	}
	if o.Budget <= 0 {
		o.Budget = 40 * time.Millisecond
	}
	if o.Beat <= 0 {
		o.Beat = 500 * time.Millisecond
	}
	if o.Lease <= 0 {
		o.Lease = 30 * time.Second
	}
	if o.Settling <= 0 {
		o.Settling = 1500 * time.Millisecond
	}
	if o.OnStateChange == nil {
		o.OnStateChange = func(error) {}
	}
	o.Seen = max(o.Seen, 1)
	return o
}

// Client connects this replica to the others. It is safe for concurrent use.
type Client struct {
	client  *redis.Client
	o       Options
	started time.Time

	state   atomic.Pointer[State]
	waiting atomic.Int64  // start of the first call since the last successful reply, in nanoseconds after Client.started; 0 for none
	slots   chan struct{} // semaphore with one element per running call
	wake    chan struct{} // channel that triggers a heartbeat

	mu    sync.Mutex // locked during a heartbeat and while the state changes
	hooks []func(context.Context, State)
}

// State is an immutable snapshot of a Client.
type State struct {
	Up       bool      // whether Redis is available; false from the start of an outage until a heartbeat succeeds
	Ready    bool      // whether Redis is up and its data is complete
	Epoch    string    // ID of the data in Redis; a new epoch means that all data was lost
	Replicas int       // last known number of replicas, including this one
	Outage   int64     // number of outages so far
	Since    time.Time // start of the last outage; before the first contact, start of the process
	clock    time.Time // time of the Redis clock when it was last read
	read     time.Time // local time when the Redis clock was last read; zero before the first contact
}

// New returns a client that is down until the first heartbeat. The caller closes the Redis client.
func New(client *redis.Client, o Options) *Client {
	o = o.withDefaults()
	l := &Client{client: client, o: o, started: time.Now(), slots: make(chan struct{}, maxCalls), wake: make(chan struct{}, 1)}
	l.state.Store(&State{Replicas: o.Seen, Outage: 1, Since: l.started})
	return l
}

// Dial returns a Redis client. A call ends with its context and is never retried, because a retry could count a request twice.
func Dial(address string) (*redis.Client, error) {
	silenceClient()
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("parse redis url: invalid url") // the cause may contain the password
	}
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DialTimeout = time.Second
	options.PoolSize = maxCalls + 8
	return redis.NewClient(options), nil
}

// silenceClient disables the log output of the Redis library. OnStateChange reports outages.
var silenceClient = sync.OnceFunc(func() { redis.SetLogger(discardLogger{}) })

type discardLogger struct{}

// Printf implements the logger of the Redis library.
func (discardLogger) Printf(context.Context, string, ...any) {}

// Ping connects to the address once and returns nil if Redis responds.
func Ping(ctx context.Context, address string) error {
	client, err := Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // the error is ignored: only a ping was sent
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	return nil
}

// ID returns the ID of this replica.
func (l *Client) ID() string { return l.o.ID }

// Lease returns how long a replica counts as live without a heartbeat.
func (l *Client) Lease() time.Duration { return l.o.Lease }

// State returns the current state.
func (l *Client) State() State { return *l.state.Load() }

// Key returns the full name of a key. All keys are in one hash slot of a Redis Cluster, because scripts use several keys.
func (l *Client) Key(parts ...string) string {
	return "{" + l.o.Namespace + "}:" + strings.Join(parts, ":")
}

// Members returns the key of the sorted set of live replicas. The scores are the times of their last heartbeats in milliseconds.
func (l *Client) Members() string { return l.Key("replicas") }

// Now returns the estimated time of the Redis clock, which is the same for all replicas.
func (l *Client) Now() time.Time {
	if l.o.Now != nil {
		return l.o.Now()
	}
	state := l.state.Load()
	if state.read.IsZero() {
		return time.Now()
	}
	return state.clock.Add(time.Since(state.read)) // uses the monotonic clock, so local clock changes have no effect
}

// OnBeat adds a function that is called after every successful heartbeat, even if Redis is not ready yet. Call OnBeat before Run.
func (l *Client) OnBeat(hook func(context.Context, State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hooks = append(l.hooks, hook)
}

const (
	// maxCalls limits the concurrent calls. Redis processes one call at a time, so more calls only delay each other.
	maxCalls = 16
	// maxSilentBudgets is the time without a reply after which Redis is marked as unavailable, as a multiple of Options.Budget. It
	// is more than one because a short load peak on the machine delays all calls.
	maxSilentBudgets = 3
	// maxWaits is the maximum time that a call waits for a slot while other calls get replies, as a multiple of Options.Budget.
	maxWaits = 50
)

// Do makes a call that a request waits for. It returns ErrUnavailable when the call fails or takes longer than Options.Budget, or Redis
// is down. The call continues if the client disconnects, because its outcome must be known. A single late reply does not mark Redis
// as down.
func (l *Client) Do(ctx context.Context, call func(context.Context, redis.Scripter) error) error {
	if !l.enter() {
		return ErrUnavailable
	}
	defer func() { <-l.slots }()
	if !l.state.Load().Up {
		return ErrUnavailable
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.o.Budget)
	defer cancel()
	l.waiting.CompareAndSwap(0, int64(time.Since(l.started)))
	err := call(ctx, l.client)
	if err == nil {
		l.waiting.Store(0)
		return nil
	}
	if ctx.Err() == nil || l.silent() > maxSilentBudgets*l.o.Budget {
		l.markDown(err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// enter acquires a slot for a call. It waits while other calls get replies, but at most maxWaits budgets. It returns false if Redis has
// not replied for Options.Budget, because the call would then take at least twice that time.
func (l *Client) enter() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(l.o.Budget)
	defer timer.Stop()
	for range maxWaits {
		select {
		case l.slots <- struct{}{}:
			if l.silent() < l.o.Budget {
				return true
			}
			<-l.slots
			return false
		case <-timer.C:
			if l.silent() >= l.o.Budget {
				return false
			}
			timer.Reset(l.o.Budget)
		}
	}
	return false
}

// silent returns how long calls have been waiting without any reply.
func (l *Client) silent() time.Duration {
	since := time.Duration(l.waiting.Load())
	if since == 0 {
		return 0
	}
	return time.Since(l.started) - since
}

// markDown records that Redis does not respond. The next successful heartbeat ends the outage.
func (l *Client) markDown(why error) {
	for {
		old := l.state.Load()
		if !old.Up {
			return
		}
		next := *old
		next.Up, next.Ready, next.Outage, next.Since = false, false, old.Outage+1, time.Now()
		if l.state.CompareAndSwap(old, &next) {
			l.waiting.Store(0)
			l.o.OnStateChange(why)
			select {
			case l.wake <- struct{}{}:
			default: // a heartbeat is already requested
			}
			return
		}
	}
}
