package requestlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/route"
)

func newUpdate(id string, running bool) Update {
	return Update{Entry: &Entry{ID: id, Owner: Owner{WorkspaceID: "ws"}, Routing: Routing{Decision: &route.Decision{}}, Body: Body{Request: []byte("text")}}, Running: running}
}

// read returns the buffered updates of a subscriber, each as "id" or "id running".
func read(t *testing.T, s *Subscription) (seen []string, lost int) {
	t.Helper()
	updates, lost, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range updates {
		if u.Entry.Decision != nil || u.Entry.Body.Request != nil {
			t.Errorf("the update of %s contains the decision or the body", u.Entry.ID)
		}
		name := u.Entry.ID
		if u.Running {
			name += " running"
		}
		seen = append(seen, name)
	}
	return seen, lost
}

func TestSubscribersReceiveMatchingUpdates(t *testing.T) {
	t.Parallel()
	feed := NewFeed()
	mine := feed.Subscribe(t.Context(), Filter{WorkspaceID: "ws"}, "")
	one := feed.Subscribe(t.Context(), Filter{WorkspaceID: "ws", Lists: Lists{ID: []string{"b"}}}, "")

	feed.Publish(newUpdate("a", true))
	feed.Publish(Update{Entry: &Entry{ID: "x", Owner: Owner{WorkspaceID: "other"}}})
	feed.Publish(newUpdate("b", false))
	feed.Publish(newUpdate("a", false))

	all, _ := read(t, mine)
	if diff := cmp.Diff([]string{"a running", "b", "a"}, all); diff != "" {
		t.Error(diff)
	}
	some, _ := read(t, one)
	if diff := cmp.Diff([]string{"b"}, some); diff != "" {
		t.Error(diff)
	}
}

func TestLateSubscriberReceivesRunningAndMissedRequests(t *testing.T) {
	t.Parallel()
	feed := NewFeed()
	for _, u := range []Update{newUpdate("3", true), newUpdate("1", false), newUpdate("2", true), newUpdate("4", false), newUpdate("2", false)} {
		feed.Publish(u)
	}
	for after, want := range map[string][]string{
		"":  {"3 running"},
		"1": {"4", "2", "3 running"}, // in the order in which the requests ended
		"0": {"1", "4", "2", "3 running"},
		"5": {"3 running"},
	} {
		got, _ := read(t, feed.Subscribe(t.Context(), Filter{WorkspaceID: "ws"}, after))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %q: %s", after, diff)
		}
	}
}

func TestSlowSubscriberReceivesTheNumberOfLostUpdates(t *testing.T) {
	t.Parallel()
	feed := NewFeed()
	s := feed.Subscribe(t.Context(), Filter{WorkspaceID: "ws"}, "")
	for i := range feedBuffer + 30 {
		feed.Publish(newUpdate(fmt.Sprint(i), false))
	}

	seen, lost := read(t, s)
	if len(seen) != feedBuffer || lost != 30 {
		t.Errorf("%d seen and %d lost, want %d and 30", len(seen), lost, feedBuffer)
	}
	feed.Publish(newUpdate("next", false))
	if seen, lost = read(t, s); len(seen) != 1 || lost != 0 {
		t.Errorf("%d seen and %d lost afterwards, want 1 and 0", len(seen), lost)
	}
}

func TestFeedIsBounded(t *testing.T) {
	t.Parallel()
	feed := NewFeed()
	for i := range 3 * feedRecent {
		feed.Publish(newUpdate(fmt.Sprintf("done%08d", i), false))
	}
	for i := range feedRunning + 10 {
		feed.Publish(newUpdate(fmt.Sprint("running", i), true))
	}
	if len(feed.recent) > feedRecent || len(feed.running) > feedRunning {
		t.Errorf("%d finished and %d running requests kept, want at most %d and %d",
			len(feed.recent), len(feed.running), feedRecent, feedRunning)
	}
	if last := feed.recent[len(feed.recent)-1].Entry.ID; last != "done00002999" {
		t.Errorf("last finished request is %s, want done00002999", last)
	}
}

func TestSubscriptionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		feed := NewFeed()
		ctx, cancel := context.WithCancel(t.Context())
		s := feed.Subscribe(ctx, Filter{WorkspaceID: "ws"}, "")
		done := make(chan error)
		go func() {
			_, _, err := s.Next(ctx)
			done <- err
		}()
		synctest.Wait()

		cancel()

		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Next returned %v, want context.Canceled", err)
		}
		synctest.Wait()
		feed.mu.Lock()
		defer feed.mu.Unlock()
		if len(feed.subs) != 0 {
			t.Error("the feed still has the subscriber")
		}
	})
}

func TestConcurrentPublishersAndSubscribers(t *testing.T) {
	t.Parallel()
	const publishers, each = 8, 50
	feed := NewFeed()
	s := feed.Subscribe(t.Context(), Filter{WorkspaceID: "ws"}, "")
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for i := range each {
				feed.Publish(newUpdate(fmt.Sprintf("%d-%d", p, i), false))
			}
		})
	}
	var total int
	for total < publishers*each {
		seen, lost := read(t, s)
		total += len(seen) + lost
	}
	wg.Wait()
	if total != publishers*each {
		t.Errorf("%d updates, want %d", total, publishers*each)
	}
}
