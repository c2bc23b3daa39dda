// Package responsecache stores complete responses. The key of a response is computed from all data that influences the response, so a
// request never receives the response to a request that is merely similar. Concurrent equal requests share one call to the provider.
// Package gateway decides which requests use the cache.
package responsecache

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// maxRedisInputs is the maximum number of inputs per request that are read from or written to Redis. The number is limited because
// the request waits for Redis.
const maxRedisInputs = 128

// maxWait is the maximum time that a request waits for an equal request. After that time, the request calls the provider itself.
const maxWait = time.Minute

// Options configures a Cache.
type Options struct {
	Memory int64  // maximum size in bytes of the responses in memory, and separately of the responses being recorded
	Entry  int64  // maximum size in bytes of one response
	Redis  *Redis // store shared by the replicas; nil for none
}

// Cache holds responses in memory and evicts the least recently used responses. It is safe for concurrent use.
type Cache struct {
	o         Options
	recording atomic.Int64 // size in bytes of the responses being recorded

	mu      sync.Mutex
	entries map[Key]*list.Element // list elements by key; their values are *entry
	order   *list.List            // list of *entry, most recently used first
	size    int64
	flights map[Key]*Flight
}

type entry struct {
	key      Key
	response *Response
	size     int64
}

// New returns an empty cache.
func New(o Options) *Cache {
	return &Cache{o: o, entries: map[Key]*list.Element{}, order: list.New(), flights: map[Key]*Flight{}}
}

// Query selects a cached response.
type Query struct {
	Key     Key
	MaxAge  time.Duration
	Shared  bool // whether the response may be read from and written to Redis
	Refresh bool // whether to ignore stored responses
}

// Get returns a stored response, or a flight for a request that must be sent to a provider. The caller must end the flight. If an equal
// request is in flight, Get waits for its response. If that request fails or its response is not stored, every waiting request gets its own
// flight. If the request ends only because its client disconnects, one of the waiting requests makes the call for the others. Get returns
// the cause of ctx if ctx is cancelled.
func (c *Cache) Get(ctx context.Context, q Query) (*Response, *Flight, error) {
	if q.Refresh {
		return nil, &Flight{cache: c, query: q}, nil
	}
	var deadline *time.Timer // nil until the request must wait
	for {
		found, leader, leads := c.join(q)
		switch {
		case found != nil:
			return found, nil, nil
		case leads:
			if found := c.load(ctx, q); found != nil {
				leader.land(found, false)
				return found, nil, nil
			}
			return nil, leader, nil
		}
		if deadline == nil {
			deadline = time.NewTimer(maxWait)
			defer deadline.Stop()
		}
		select {
		case <-leader.done:
		case <-deadline.C:
			return nil, &Flight{cache: c, query: q}, nil
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		if r := leader.landed; r != nil && r.fresh(time.Now(), q.MaxAge) {
			return r, nil, nil
		}
		if !leader.abandoned {
			return nil, &Flight{cache: c, query: q}, nil
		}
	}
}

// join returns a response from memory, or else the flight for the key. If neither exists, join starts a flight and leads is true.
func (c *Cache) join(q Query) (found *Response, leader *Flight, leads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found = c.find(q.Key, q.MaxAge); found != nil {
		return found, nil, false
	}
	if leader = c.flights[q.Key]; leader != nil {
		return nil, leader, false
	}
	leader = &Flight{cache: c, query: q, done: make(chan struct{})}
	c.flights[q.Key] = leader
	return nil, leader, true
}

// find returns a fresh response from memory. The lock must be held.
func (c *Cache) find(key Key, maxAge time.Duration) *Response {
	element := c.entries[key]
	if element == nil {
		return nil
	}
	e, now := element.Value.(*entry), time.Now()
	switch {
	case !e.response.fresh(now, e.response.TTL):
		c.remove(element)
		return nil
	case !e.response.fresh(now, maxAge):
		return nil
	}
	c.order.MoveToFront(element)
	return e.response
}

// load returns a fresh response from Redis. A failure counts as a missing response.
func (c *Cache) load(ctx context.Context, q Query) *Response {
	if c.o.Redis == nil || !q.Shared {
		return nil
	}
	found, err := c.o.Redis.load(ctx, []Key{q.Key})
	if err != nil || found[0] == nil || !found[0].fresh(time.Now(), q.MaxAge) {
		return nil
	}
	c.put(q.Key, found[0])
	return found[0]
}

// put stores a response in memory. A response that is larger than the limit is not stored.
func (c *Cache) put(key Key, r *Response) {
	size := int64(responseOverhead + len(r.Provider) + len(r.Model) + len(r.ServedAs))
	for i := range r.Events {
		size += int64(eventOverhead + len(r.Events[i].Data))
	}
	if size > c.o.Memory {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil {
		c.remove(old)
	}
	c.entries[key] = c.order.PushFront(&entry{key, r, size})
	c.size += size
	for c.size > c.o.Memory {
		c.remove(c.order.Back())
	}
}

func (c *Cache) remove(element *list.Element) {
	e := c.order.Remove(element).(*entry)
	delete(c.entries, e.key)
	c.size -= e.size
}

// getInputs returns the stored responses for the inputs of an embeddings request, in order. A missing response is nil.
func (c *Cache) getInputs(ctx context.Context, keys []Key, maxAge time.Duration, shared bool) []*Response {
	found := make([]*Response, len(keys))
	var missing []Key
	var at []int
	c.mu.Lock()
	for i, key := range keys {
		if found[i] = c.find(key, maxAge); found[i] == nil {
			missing, at = append(missing, key), append(at, i)
		}
	}
	c.mu.Unlock()
	if len(missing) == 0 || len(missing) > maxRedisInputs || c.o.Redis == nil || !shared {
		return found
	}
	loaded, err := c.o.Redis.load(ctx, missing)
	if err != nil {
		return found
	}
	now := time.Now()
	for i, r := range loaded {
		if r != nil && r.fresh(now, maxAge) {
			found[at[i]] = r
			c.put(missing[i], r)
		}
	}
	return found
}

// putInputs stores the responses for inputs of an embeddings request.
func (c *Cache) putInputs(ctx context.Context, keys []Key, responses []*Response, shared bool) {
	for i, key := range keys {
		c.put(key, responses[i])
	}
	if c.o.Redis != nil && shared && len(keys) <= maxRedisInputs {
		_ = c.o.Redis.save(ctx, keys, responses) // if saving fails, only this replica has the responses
	}
}
