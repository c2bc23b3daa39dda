package promptcache

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead/internal/llm"
)

const (
	readBudget  = 2 * time.Millisecond // what a request may wait for the other replicas
	restAfter   = time.Second          // how long they are left alone when they took longer
	remoteLimit = time.Second          // how long a call may take that nobody waits for
	readsAtOnce = 16
	queueSize   = 4096 // links that wait to be told
	batchSize   = 256
	readLinks   = 32   // links of a prompt that are asked for: the first, and the last ones
	worthAsking = 1024 // tokens: shorter prompts are hardly kept by anybody
)

// Remote is a store of short texts that replicas share.
type Remote interface {
	// Get returns the texts under the keys, in their order; an empty one where there is none.
	Get(ctx context.Context, keys []string) ([]string, error)
	// Set keeps the items.
	Set(ctx context.Context, items []Item) error
}

// Item is a text that is kept for a while.
type Item struct {
	Key, Value string
	Lifetime   time.Duration
}

// Shared is a Store that knows what other replicas have recorded. Its own memory answers first; only where that has not
// seen the previous turn are the others asked, within a short time. What it records it tells them later.
type Shared struct {
	memory  *Memory
	remote  Remote
	queue   chan Item
	reading chan struct{} // a place for each read under way
	rest    atomic.Int64  // no reads before, in unix nanoseconds
	lost    atomic.Int64
	budget  time.Duration
}

// NewShared makes a store on top of a memory. Run must be running for others to hear of anything.
func NewShared(m *Memory, r Remote) *Shared {
	return &Shared{
		memory: m, remote: r, queue: make(chan Item, queueSize), reading: make(chan struct{}, readsAtOnce), budget: readBudget,
	}
}

// Lost counts links that others were never told, because telling them failed or took too long.
func (s *Shared) Lost() int64 { return s.lost.Load() }

// Lookup implements Store.
func (s *Shared) Lookup(ctx context.Context, workspaceID string, d Fingerprint, now time.Time) View {
	v := s.memory.Lookup(ctx, workspaceID, d, now)
	if v.known >= max(d.Previous, 0) || d.Tokens() < worthAsking || now.UnixNano() < s.rest.Load() {
		return v
	}
	if !s.fetch(ctx, workspaceID, d, now) {
		return v
	}
	return s.memory.Lookup(ctx, workspaceID, d, now)
}

// fetch asks the others about a prompt and reports whether the answer came in time. One that comes later is taken in all
// the same, for the next turn.
func (s *Shared) fetch(ctx context.Context, workspaceID string, d Fingerprint, now time.Time) bool {
	select {
	case s.reading <- struct{}{}:
	default:
		return false // so many wait already that it will not be in time
	}
	places := asked(workspaceID, d)
	done := make(chan bool, 1)
	ctx = context.WithoutCancel(ctx) // a client that leaves need not break the connection
	go func() {
		defer func() { <-s.reading }()
		ctx, cancel := context.WithTimeout(ctx, remoteLimit)
		defer cancel()
		done <- s.read(ctx, places, seconds(now))
	}()
	timer := time.NewTimer(s.budget)
	defer timer.Stop()
	select {
	case ok := <-done:
		if !ok {
			s.rest.Store(now.Add(restAfter).UnixNano())
		}
		return ok
	case <-timer.C:
		s.rest.Store(now.Add(restAfter).UnixNano())
		return false
	}
}

func (s *Shared) read(ctx context.Context, places []place, now uint32) bool {
	keys := make([]string, len(places))
	for i, p := range places {
		keys[i] = keyOf(p)
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

// asked are the places that are worth asking others about.
func asked(workspaceID string, d Fingerprint) []place {
	workspace := xxhash.Sum64String(workspaceID)
	places := make([]place, 0, readLinks+1)
	from := max(len(d.Links)-readLinks, 0)
	if from > 0 {
		places = append(places, placeOf(workspace, d.Links[0].Hash))
	}
	for _, link := range d.Links[from:] {
		places = append(places, placeOf(workspace, link.Hash))
	}
	return places
}

// Record implements Store.
func (s *Shared) Record(workspaceID string, d Fingerprint, target string, rules Rules, u llm.Usage, now time.Time) {
	s.memory.Record(workspaceID, d, target, rules, u, now)
	for _, p := range told(workspaceID, d) {
		e, ok := s.memory.get(p)
		if !ok {
			continue
		}
		value, lifetime := s.memory.encode(&e, seconds(now))
		if lifetime <= 0 {
			continue
		}
		select {
		case s.queue <- Item{Key: keyOf(p), Value: value, Lifetime: lifetime}:
		default:
			s.lost.Add(1)
		}
	}
}

// told are the places that others need to hear of. A target that is warm at the last link is warm at all before it, and
// the next turn asks for that one; the first is what other conversations share. Marked ones are found by themselves.
func told(workspaceID string, d Fingerprint) []place {
	workspace := xxhash.Sum64String(workspaceID)
	var places []place
	for i, link := range d.Links {
		if i == 0 || i == len(d.Links)-1 || link.Mark != Unmarked {
			places = append(places, placeOf(workspace, link.Hash))
		}
	}
	return places
}

// Run tells the others what is recorded, until ctx ends; what waits then is told as well, if that is quick. It returns
// when nothing of it is running any more.
func (s *Shared) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-s.queue:
			s.tell(ctx, s.batch(first))
		}
	}
	select {
	case first := <-s.queue:
		s.tell(ctx, s.batch(first))
	default:
	}
	for range readsAtOnce { // holding every place, no read is under way and none can begin
		s.reading <- struct{}{}
	}
}

// batch adds to an item what else waits. Of several for a key the last one counts.
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

func (s *Shared) tell(ctx context.Context, items []Item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remoteLimit)
	defer cancel()
	if err := s.remote.Set(ctx, items); err != nil {
		s.lost.Add(int64(len(items))) // an estimate that is not shared: nothing to repeat or to complain of
	}
}
