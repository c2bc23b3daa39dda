package requestlog

import (
	"context"
	"slices"
	"sync"
)

const (
	feedRecent  = 1000 // finished requests remembered for those who come back
	feedRunning = 5000 // unfinished ones shown at most
	feedBuffer  = 500  // updates waiting for one subscriber
)

// Update is news about a request: it has begun, or it is done. The entry has no trace and no bodies.
type Update struct {
	Entry   Entry
	Running bool
}

// Feed passes news about requests to whoever watches them in this process. It keeps no goroutine, and a subscriber
// that does not read never holds up a publisher.
type Feed struct {
	mu      sync.Mutex
	subs    map[*Subscription]struct{}
	recent  []Update // finished, oldest first
	running map[string]*Update
	spare   []*Update // that nothing runs in, for what begins next
}

// NewFeed makes a feed without subscribers.
func NewFeed() *Feed {
	return &Feed{subs: map[*Subscription]struct{}{}, running: map[string]*Update{}}
}

// Publish tells all subscribers whose filter the entry matches. It does not block.
func (f *Feed) Publish(u Update) {
	u.Entry.Decision, u.Entry.Bill, u.Entry.BaselineBill, u.Entry.Body = nil, nil, nil, Body{}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remember(&u)
	for s := range f.subs {
		s.offer(&u)
	}
}

func (f *Feed) remember(u *Update) {
	if u.Running {
		f.begin(u)
		return
	}
	if began := f.running[u.Entry.ID]; began != nil {
		delete(f.running, u.Entry.ID)
		*began = Update{} // of what it points to
		f.spare = append(f.spare, began)
	}
	if len(f.recent) == feedRecent {
		f.recent = slices.Delete(f.recent, 0, feedRecent/4) // seldom, so that most publishing moves nothing
	}
	f.recent = append(f.recent, *u)
}

// begin remembers a request that runs, while those are not too many.
func (f *Feed) begin(u *Update) {
	if len(f.running) >= feedRunning {
		return
	}
	one := f.running[u.Entry.ID]
	if last := len(f.spare) - 1; one == nil && last >= 0 {
		one = f.spare[last]
		f.spare = f.spare[:last]
	}
	if one == nil {
		one = &Update{}
	}
	*one = *u
	f.running[u.Entry.ID] = one
}

// Subscribe watches entries that match the filter until ctx ends. With an id, what was finished after that entry and
// is still remembered comes first; requests that are running come in any case.
func (f *Feed) Subscribe(ctx context.Context, filter Filter, afterID string) *Subscription {
	s := &Subscription{filter: filter, ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if afterID != "" {
		for _, u := range f.since(afterID) {
			s.offer(&u)
		}
	}
	for _, u := range f.running {
		s.offer(u)
	}
	f.subs[s] = struct{}{}
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, s)
	})
	return s
}

// since returns what was finished after the entry, or, when it is no longer remembered, everything with a later id.
func (f *Feed) since(id string) []Update {
	if i := slices.IndexFunc(f.recent, func(u Update) bool { return u.Entry.ID == id }); i >= 0 {
		return f.recent[i+1:]
	}
	var later []Update
	for _, u := range f.recent {
		if u.Entry.ID > id {
			later = append(later, u)
		}
	}
	return later
}

// Subscription is one watcher's place in a feed.
type Subscription struct {
	filter Filter
	ready  chan struct{} // holds a token while there is something to read

	mu      sync.Mutex
	waiting []Update
	lost    int
}

// offer puts an update in the buffer, or counts it as lost when the buffer is full.
func (s *Subscription) offer(u *Update) {
	if !s.filter.Match(&u.Entry) {
		return
	}
	s.mu.Lock()
	if len(s.waiting) < feedBuffer {
		s.waiting = append(s.waiting, *u)
	} else {
		s.lost++
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Next waits for news and returns all there is, in order, with the number of updates that were lost because the
// subscriber was too slow. It returns the context's error when ctx ends first. One goroutine at a time may call it.
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
