package promptcache

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

const (
	readTimeout    = 2 * time.Millisecond // maximum time that a request waits for the Remote
	readBackoff    = time.Second          // time without reads after a failed or slow read
	remoteTimeout  = time.Second          // timeout of calls in the background, for which no request waits
	maxReads       = 16
	queueSize      = 4096 // maximum number of links waiting to be published
	batchSize      = 256
	readLinks      = 32   // number of last links fetched per prompt, in addition to the first link
	minFetchTokens = 1024 // minimum prompt length in tokens for fetching links, because shorter prompts are rarely cached
)

// Remote is a key-value store shared by the replicas.
type Remote interface {
	// Get returns the values of the keys, in the order of the keys. The value of a missing key is empty.
	Get(ctx context.Context, keys []string) ([]string, error)
	// Set stores the items.
	Set(ctx context.Context, items []Item) error
}

// Item is an entry of the Remote: a key, its value and its lifetime.
type Item struct {
	Key, Value string
	Lifetime   time.Duration
}

// Shared is a Store that includes the records of other replicas. It reads the Remote only if its memory does not have the
// previous turn, and waits at most readTimeout for the result. It publishes records in the background.
type Shared struct {
	memory       *Memory
	remote       Remote
	queue        chan Item
	readSlots    chan struct{} // semaphore with one slot per read in progress
	began        time.Time     // start time, with a monotonic clock reading
	backoffUntil atomic.Int64  // end of the pause after a failed or slow read, in nanoseconds since began
	dropped      atomic.Int64
	readTimeout  time.Duration
}

// NewShared returns a store on top of m. Records are published only while Run is running.
func NewShared(m *Memory, r Remote) *Shared {
	return &Shared{
		memory: m, remote: r, queue: make(chan Item, queueSize), readSlots: make(chan struct{}, maxReads), readTimeout: readTimeout, began: time.Now(),
	}
}

// Dropped returns the number of links that were not published because the queue was full or the Remote failed.
func (s *Shared) Dropped() int64 { return s.dropped.Load() }

// Lookup implements Store.
func (s *Shared) Lookup(ctx context.Context, workspaceID string, fp Fingerprint, now time.Time) View {
	v := s.memory.Lookup(ctx, workspaceID, fp, now)
	if v.longestKnown >= max(fp.Previous, 0) || fp.Tokens() < minFetchTokens || int64(time.Since(s.began)) < s.backoffUntil.Load() {
		return v
	}
	if !s.fetch(ctx, workspaceID, fp, now) {
		return v
	}
	return s.memory.Lookup(ctx, workspaceID, fp, now)
}

// fetch reads a prompt's links from the Remote and reports whether they arrived in time. Links that
// arrive later are merged for the next turn.
func (s *Shared) fetch(ctx context.Context, workspaceID string, fp Fingerprint, now time.Time) bool {
	select {
	case s.readSlots <- struct{}{}:
	default:
		return false // too many reads are in progress to finish in time
	}
	workspace := xxhash.Sum64String(workspaceID)
	places := make([]linkKey, 0, readLinks+1)
	from := max(len(fp.Links)-readLinks, 0)
	if from > 0 {
		places = append(places, linkKeyOf(workspace, fp.Links[0].Hash))
	}
	for _, link := range fp.Links[from:] {
		places = append(places, linkKeyOf(workspace, link.Hash))
	}
	done := make(chan bool, 1)
	ctx = context.WithoutCancel(ctx) // a client disconnect must not close the connection to the Remote
	go func() {
		defer func() { <-s.readSlots }()
		ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
		defer cancel()
		done <- s.read(ctx, places, seconds(now))
	}()
	timer := time.NewTimer(s.readTimeout)
	defer timer.Stop()
	select {
	case ok := <-done:
		if !ok {
			s.backoffUntil.Store(int64(time.Since(s.began) + readBackoff))
		}
		return ok
	case <-timer.C:
		s.backoffUntil.Store(int64(time.Since(s.began) + readBackoff))
		return false
	}
}

func (s *Shared) read(ctx context.Context, places []linkKey, now uint32) bool {
	keys := make([]string, len(places))
	for i, p := range places {
		keys[i] = remoteKey(p)
	}
	texts, err := s.remote.Get(ctx, keys)
	if err != nil || len(texts) != len(keys) {
		return false
	}
	for i, text := range texts {
		if text != "" {
			s.memory.merge(places[i], text, now)
		}
	}
	return true
}

// Record implements Store.
func (s *Shared) Record(workspaceID string, fp Fingerprint, target string, rules catalog.CacheRule, u llm.Usage, now time.Time) {
	s.memory.Record(workspaceID, fp, target, rules, u, now)
	workspace := xxhash.Sum64String(workspaceID)
	for i, link := range fp.Links {
		// Other replicas need only the first, the last and the marked links. The next turn looks up the last link; a target that has
		// it cached has all links before it. Other conversations share the first link. Marked links are cached individually.
		if i > 0 && i < len(fp.Links)-1 && link.Mark == Unmarked {
			continue
		}
		p := linkKeyOf(workspace, link.Hash)
		e, ok := s.memory.get(p)
		if !ok {
			continue
		}
		value, lifetime := s.memory.encode(&e, seconds(now))
		if lifetime <= 0 {
			continue
		}
		select {
		case s.queue <- Item{Key: remoteKey(p), Value: value, Lifetime: lifetime}:
		default:
			s.dropped.Add(1)
		}
	}
}

// Run publishes records until ctx is done, then publishes one last batch. It returns when no read is in progress.
func (s *Shared) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-s.queue:
			s.publish(ctx, s.batch(first))
		}
	}
	select {
	case first := <-s.queue:
		s.publish(ctx, s.batch(first))
	default:
	}
	for range maxReads { // after all slots are acquired, no read is in progress and none can start
		s.readSlots <- struct{}{}
	}
}

// batch returns the first item and the queued items after it. If several items have the same key, it returns only the last one.
func (s *Shared) batch(first Item) []Item {
	items := []Item{first}
	at := map[string]int{first.Key: 0}
	for range batchSize {
		select {
		case item := <-s.queue:
			if i, ok := at[item.Key]; ok {
				items[i] = item
				continue
			}
			at[item.Key] = len(items)
			items = append(items, item)
		default:
			return items
		}
	}
	return items
}

func (s *Shared) publish(ctx context.Context, items []Item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remoteTimeout)
	defer cancel()
	if err := s.remote.Set(ctx, items); err != nil {
		s.dropped.Add(int64(len(items))) // not retried or logged, because only estimates are lost
	}
}
