package requestlog

import (
	"context"
	"slices"
	"sync"
)

const (
	feedRecent  = 1000 // maximum number of finished requests kept for subscribers that reconnect
	feedRunning = 5000 // maximum number of unfinished requests
	feedBuffer  = 500  // maximum number of updates buffered per subscriber
)

// Update reports that a request has begun or ended. The entry has no trace and no bodies.
type Update struct {
	Entry   *Entry // entry shared by all subscribers; must not be modified
	Running bool
}

// Feed publishes updates about requests to subscribers in this process. It has no goroutine, and a subscriber that does not
// read never blocks a publisher.
type Feed struct {
	mu      sync.Mutex
	subs    map[*Subscription]struct{}
	recent  []Update // updates about finished requests, oldest first
	running map[string]*Entry
}

// NewFeed returns a feed without subscribers.
func NewFeed() *Feed {
	return &Feed{subs: map[*Subscription]struct{}{}, running: map[string]*Entry{}}
}

// Publish removes the decision, the bills and the bodies from the entry and sends the update to all subscribers whose filter matches. The
// caller must not use the entry afterwards. Publish does not block.
func (f *Feed) Publish(u Update) {
	u.Entry.Decision, u.Entry.Bill, u.Entry.BaselineBill, u.Entry.Body = nil, nil, nil, Body{}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !u.Running {
		delete(f.running, u.Entry.ID)
		if len(f.recent) == feedRecent {
			f.recent = slices.Delete(f.recent, 0, feedRecent/4) // delete many at a time, because each deletion moves the whole list
		}
		f.recent = append(f.recent, u)
	} else if len(f.running) < feedRunning {
		f.running[u.Entry.ID] = u.Entry
	}
	for s := range f.subs {
		s.offer(u)
	}
}

// Subscribe subscribes to entries that match the filter until ctx is done. If an id is given, the first updates are the recent requests
// that ended after that entry. The running requests follow.
func (f *Feed) Subscribe(ctx context.Context, filter Filter, afterID string) *Subscription {
	s := &Subscription{filter: filter, ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if afterID != "" {
		// If the entry is not in the list of recent requests, send the requests with a later id.
		last := slices.IndexFunc(f.recent, func(u Update) bool { return u.Entry.ID == afterID })
		for i, u := range f.recent {
			if last >= 0 && i > last || last < 0 && u.Entry.ID > afterID {
				s.offer(u)
			}
		}
	}
	for _, e := range f.running {
		s.offer(Update{Entry: e, Running: true})
	}
	f.subs[s] = struct{}{}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, s)
	})
	return s
}

// Subscription receives the updates of a feed.
type Subscription struct {
	filter Filter
	ready  chan struct{} // contains a token while the buffer is not empty

	mu      sync.Mutex
	waiting []Update
	lost    int
}

// offer appends an update to the buffer, or counts it as lost if the buffer is full.
func (s *Subscription) offer(u Update) {
	if !s.filter.Match(u.Entry) {
		return
	}
	s.mu.Lock()
	if len(s.waiting) < feedBuffer {
		s.waiting = append(s.waiting, u)
	} else {
		s.lost++
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Next waits for updates and returns all of them in order, with the number of updates that were lost because the subscriber was too slow.
// It returns the context's error if ctx is done first. It must not be called concurrently.
func (s *Subscription) Next(ctx context.Context) (updates []Update, lost int, err error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	updates, lost = s.waiting, s.lost
	s.waiting, s.lost = nil, 0
	return updates, lost, nil
}
