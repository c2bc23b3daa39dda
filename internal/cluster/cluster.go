// Package cluster owns this process's place among the replicas of one deployment: the heartbeat that says who lives,
// calls to the Redis that they share, within bounds, and the messages between them. What is counted there is the matter
// of limit and ledger.
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

// ErrUnavailable is returned where Redis does not answer in time.
var ErrUnavailable = errors.New("redis does not answer in time")

// Options set up a Client; zero values are replaced by the defaults named.
type Options struct {
	Namespace     string           // what the names of all keys begin with; fairlead
	ID            string           // of this replica; a new one
	Budget        time.Duration    // what a request may wait for one call; 40 ms
	Beat          time.Duration    // between two heartbeats; 500 ms
	Lease         time.Duration    // after which a silent replica counts as dead; 30 s
	Settling      time.Duration    // how long an empty Redis is not trusted, so that every replica can tell it what it knows; 1.5 s
	Seen          int              // how many replicas there were when last heard; 1
	Now           func() time.Time // what Redis's clock says; that clock itself when nil
	OnStateChange func(err error)  // hears that Redis has gone and why, and nil when it is back
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

// Client is this replica's way to the others. Its methods may be called from any goroutine.
type Client struct {
	client  *redis.Client
	o       Options
	started time.Time

	state   atomic.Pointer[State]
	waiting atomic.Int64  // since when calls have not been answered, in nanoseconds after born; 0 when the last one was
	slots   chan struct{} // one for each call under way
	wake    chan struct{} // asks for a heartbeat at once

	mu    sync.Mutex // one heartbeat at a time, and the change of state
	hooks []func(context.Context, State)
}

// State is what a Client knows at a moment. It is never changed.
type State struct {
	Up       bool      // the last call was answered in time
	Ready    bool      // and what is in Redis may be relied on
	Epoch    string    // names the life of Redis's data: another one means that everything was lost
	Replicas int       // that were last seen, this one included
	Outage   int64     // counts the times that Redis went away
	Since    time.Time // of the outage; of the start before the first contact
	clock    time.Time // what Redis's clock said,
	read     time.Time // and when that was by ours; zero before the first contact
}

// New makes a link by way of a client, which stays the caller's to close. It is down until the first heartbeat.
func New(client *redis.Client, o Options) *Client {
	o = o.withDefaults()
	l := &Client{client: client, o: o, started: time.Now(), slots: make(chan struct{}, maxCalls), wake: make(chan struct{}, 1)}
	l.state.Store(&State{Replicas: o.Seen, Outage: 1, Since: l.started})
	return l
}

// Dial opens a client of the Redis at the address whose calls end with their context and are never repeated: a
// counted request must not be counted twice.
func Dial(address string) (*redis.Client, error) {
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("read the address of Redis: it is none") // the cause would repeat the password
	}
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.DialTimeout = time.Second
	options.PoolSize = maxCalls + 8
	return redis.NewClient(options), nil
}

// ID names this replica.
func (l *Client) ID() string { return l.o.ID }

// Lease is how long a replica counts as living without a heartbeat.
func (l *Client) Lease() time.Duration { return l.o.Lease }

// State is what is known now.
func (l *Client) State() State { return *l.state.Load() }

// Key is the full name of a key. All of them lie in one slot of a cluster, because scripts touch several at a time.
func (l *Client) Key(parts ...string) string {
	return "{" + l.o.Namespace + "}:" + strings.Join(parts, ":")
}

// Members is the key of the set of living replicas, by the time of their last heartbeat in milliseconds.
func (l *Client) Members() string { return l.Key("replicas") }

// Now is the time by Redis's clock, which is the same for all replicas, as well as it is known.
func (l *Client) Now() time.Time {
	if l.o.Now != nil {
		return l.o.Now()
	}
	state := l.state.Load()
	if state.read.IsZero() {
		return time.Now()
	}
	return state.clock.Add(time.Since(state.read)) // time that has passed: a clock that is set, here, is not heard
}

// OnBeat adds a function that is called after every heartbeat that was answered, also while Redis is not relied on
// yet. Add it before Run.
func (l *Client) OnBeat(hook func(context.Context, State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hooks = append(l.hooks, hook)
}

const (
	// maxCalls bounds the calls under way. Redis answers one at a time; more only make each other late.
	maxCalls = 16
	// maxSilentBudgets is how many budgets long no call may be answered before Redis counts as away. A machine that is busy for a
	// moment is late with all of them.
	maxSilentBudgets = 3
	// maxWaits is how many budgets long a call waits for its turn while others are answered.
	maxWaits = 50
)

// Do makes a call that a request waits for, and returns ErrUnavailable where it is not answered within the budget, or where
// Redis has been away and is not back. The client that leaves does not end it: its count must have a known outcome. One call
// that is late does not make Redis count as away: State says whether it does.
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

// enter takes a place among the calls under way. While Redis answers, it is waited for; when Redis has said nothing for a
// whole budget, waiting and calling would take the request twice as long as it may.
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

// silent is how long calls have been under way without any being answered.
func (l *Client) silent() time.Duration {
	since := time.Duration(l.waiting.Load())
	if since == 0 {
		return 0
	}
	return time.Since(l.started) - since
}

// markDown notes that Redis does not answer. The next heartbeat that is answered ends it.
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
			default: // asked already
			}
			return
		}
	}
}
