// Package cluster owns the connection between the replicas of one deployment: heartbeats, bounded calls to the Redis that they
// share, and messages. The counts stored in Redis belong to packages limit and ledger.
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

	"fairlead/internal/id"
)

// ErrUnavailable is returned when Redis does not answer in time.
var ErrUnavailable = errors.New("redis did not answer in time")

// Options are the settings of a Client; zero values are replaced by the defaults named.
type Options struct {
	Namespace     string           // prefix of all keys; fairlead
	ID            string           // id of this replica; a new one
	Budget        time.Duration    // maximum time of a call; 40 ms
	Beat          time.Duration    // interval between heartbeats; 500 ms
	Lease         time.Duration    // after which a silent replica counts as dead; 30 s
	Settling      time.Duration    // how long an empty Redis is not ready, so that every replica can send its state; 1.5 s
	Seen          int              // number of replicas before the first contact; 1
	Now           func() time.Time // Redis's clock in tests; nil for the real one
	OnStateChange func(err error)  // called with the cause when Redis becomes unavailable, with nil when it returns
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

// Client connects this replica with the others. Its methods may be called from any goroutine.
type Client struct {
	client  *redis.Client
	o       Options
	started time.Time

	state   atomic.Pointer[State]
	waiting atomic.Int64  // start of the first unanswered call, in nanoseconds after started; 0 for none
	slots   chan struct{} // one per running call
	wake    chan struct{} // requests a heartbeat immediately

	mu    sync.Mutex // one heartbeat at a time, and the change of state
	hooks []func(context.Context, State)
}

// State is an immutable snapshot of a Client.
type State struct {
	Up       bool      // the last call was answered in time
	Ready    bool      // and the data in Redis is complete
	Epoch    string    // identifies Redis's data: a new epoch means that all data was lost
	Replicas int       // last known number, this one included
	Outage   int64     // number of outages
	Since    time.Time // start of the outage; of the process before the first contact
	clock    time.Time // reading of Redis's clock
	read     time.Time // local time of that reading; zero before the first contact
}

// New returns a cluster client. The caller closes the Redis client. The cluster client is down until the first heartbeat.
func New(client *redis.Client, o Options) *Client {
	o = o.withDefaults()
	l := &Client{client: client, o: o, started: time.Now(), slots: make(chan struct{}, maxCalls), wake: make(chan struct{}, 1)}
	l.state.Store(&State{Replicas: o.Seen, Outage: 1, Since: l.started})
	return l
}

// Dial returns a Redis client whose calls end with their context and are never retried: a request must not be counted twice.
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

// silenceClient disables the log lines of the Redis library: OnStateChange reports outages.
var silenceClient = sync.OnceFunc(func() { redis.SetLogger(discardLogger{}) })

type discardLogger struct{}

// Printf implements the logger of the Redis library.
func (discardLogger) Printf(context.Context, string, ...any) {}

// Ping connects to the address once. It returns nil when Redis answers.
func Ping(ctx context.Context, address string) error {
	client, err := Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // nothing was written
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	return nil
}

// ID returns the id of this replica.
func (l *Client) ID() string { return l.o.ID }

// Lease returns how long a replica counts as living without a heartbeat.
func (l *Client) Lease() time.Duration { return l.o.Lease }

// State returns the current state.
func (l *Client) State() State { return *l.state.Load() }

// Key returns the full name of a key. All keys are in one slot of a Redis cluster, because scripts use several at a time.
func (l *Client) Key(parts ...string) string {
	return "{" + l.o.Namespace + "}:" + strings.Join(parts, ":")
}

// Members is the key of the set of living replicas, by the time of their last heartbeat in milliseconds.
func (l *Client) Members() string { return l.Key("replicas") }

// Now returns the estimated time of Redis's clock, which is the same for all replicas.
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

// OnBeat adds a function that is called after every successful heartbeat, also before Redis is ready. Call it before Run.
func (l *Client) OnBeat(hook func(context.Context, State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hooks = append(l.hooks, hook)
}

const (
	// maxCalls limits the running calls. Redis answers one at a time; more calls only delay each other.
	maxCalls = 16
	// maxSilentBudgets is how many budgets may pass without any reply before Redis counts as unavailable. A machine that is
	// briefly busy delays all calls.
	maxSilentBudgets = 3
	// maxWaits is how many budgets a call waits for a slot while other calls are answered.
	maxWaits = 50
)

// Do makes a call that a request waits for. It returns ErrUnavailable when the call takes longer than the budget or Redis is
// down. A disconnect of the client does not end the call, because its outcome must be known. A single late call does not mark
// Redis as down.
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

// enter takes a slot for a call. It waits while Redis answers other calls; when Redis has not answered for a whole budget, waiting
// and calling would take twice the budget.
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

// silent returns how long calls have been running without any reply.
func (l *Client) silent() time.Duration {
	since := time.Duration(l.waiting.Load())
	if since == 0 {
		return 0
	}
	return time.Since(l.started) - since
}

// markDown records that Redis does not answer. The next successful heartbeat ends the outage.
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
			default: // already requested
			}
			return
		}
	}
}
