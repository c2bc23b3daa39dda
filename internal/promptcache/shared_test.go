package promptcache

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/llm"
)

// fakeRemote is an in-memory Remote that can be slow or fail.
type fakeRemote struct {
	mu     sync.Mutex
	items  map[string]string
	until  map[string]time.Time
	delay  time.Duration
	broken bool
	reads  int
}

func newFakeRemote() *fakeRemote {
	return &fakeRemote{items: map[string]string{}, until: map[string]time.Time{}}
}

func (f *fakeRemote) set(change func(*fakeRemote)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeRemote) Get(ctx context.Context, keys []string) ([]string, error) {
	f.mu.Lock()
	f.reads++
	delay, broken := f.delay, f.broken
	f.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if broken {
		return nil, errors.New("broken")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	texts := make([]string, len(keys))
	for i, key := range keys {
		if time.Now().Before(f.until[key]) {
			texts[i] = f.items[key]
		}
	}
	return texts, nil
}

func (f *fakeRemote) Set(_ context.Context, items []Item) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("broken")
	}
	for _, item := range items {
		f.items[item.Key], f.until[item.Key] = item.Value, time.Now().Add(item.Lifetime)
	}
	return nil
}

// alternate sends the turns of a conversation alternately to two replicas. settle waits until the records are published.
func alternate(t *testing.T, workspace string, replicas [2]*Shared, settle func()) {
	t.Helper()
	lengths := []int64{2000, 3000}
	now := time.Now()
	for turn := range 6 {
		d := chain(1, lengths...)
		v := replicas[turn%2].Lookup(t.Context(), workspace, d, now)
		if v.Turns() != turn {
			t.Fatalf("turn %d: Turns = %d", turn, v.Turns())
		}
		if turn > 0 {
			before := lengths[len(lengths)-3] / 128 * 128
			if w := v.CacheHit("p/m", openAI); w.Held != before || v.Last() != "p/m" {
				t.Fatalf("turn %d: %+v held, last served by %q; want %d", turn, w, v.Last(), before)
			}
		}
		replicas[turn%2].Record(workspace, d, "p/m", openAI, llm.Usage{Estimated: true}, now)
		settle()
		lengths = append(lengths, lengths[len(lengths)-1]+300, lengths[len(lengths)-1]+2000)
	}
	other := append3(chain(1, 2000), 1<<50, 9000)
	if w := replicas[0].Lookup(t.Context(), workspace, other, now).CacheHit("p/m", openAI); w.Held != 1920 {
		t.Errorf("another conversation with the same instructions has %+v, want 1920 held", w)
	}
}

// withReplicas runs two replicas on a fake remote with simulated time.
func withReplicas(t *testing.T, test func(t *testing.T, f *fakeRemote, replicas [2]*Shared)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRemote()
		replicas := [2]*Shared{}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for i := range replicas {
			replicas[i] = NewShared(NewMemory(1000), f)
			running.Go(func() { replicas[i].Run(ctx) })
		}
		test(t, f, replicas)
		cancel()
		running.Wait()
	})
}

func TestReplicasShareLinks(t *testing.T) {
	t.Parallel()
	withReplicas(t, func(t *testing.T, _ *fakeRemote, replicas [2]*Shared) {
		alternate(t, "ws", replicas, synctest.Wait)
	})
}

func TestLookupUsesMemoryFirst(t *testing.T) {
	t.Parallel()
	withReplicas(t, func(t *testing.T, f *fakeRemote, replicas [2]*Shared) {
		first, next := chain(1, 2000, 3000), chain(1, 2000, 3000, 3300, 5000)
		replicas[0].Lookup(t.Context(), "ws", first, time.Now())
		replicas[0].Record("ws", first, "p/m", openAI, llm.Usage{Estimated: true}, time.Now())
		synctest.Wait()
		before := f.reads
		replicas[0].Lookup(t.Context(), "ws", next, time.Now())
		replicas[0].Lookup(t.Context(), "ws", chain(500, 300, 900), time.Now()) // the prompt is too short for any cache
		if f.reads != before || before != 1 {
			t.Errorf("read the remote %d times, then %d times more; want 1 and 0", before, f.reads-before)
		}
	})
}

func TestSlowRemoteDoesNotDelayLookup(t *testing.T) {
	t.Parallel()
	withReplicas(t, func(t *testing.T, f *fakeRemote, replicas [2]*Shared) {
		d, next := chain(1, 2000, 3000), chain(1, 2000, 3000, 3300, 5000)
		replicas[0].Record("ws", d, "p/m", openAI, llm.Usage{Estimated: true}, time.Now())
		synctest.Wait()
		f.set(func(f *fakeRemote) { f.delay = 40 * time.Millisecond })

		began := time.Now()
		v := replicas[1].Lookup(t.Context(), "ws", next, began)
		if took := time.Since(began); took != readTimeout || v.CacheHit("p/m", openAI).Held != 0 {
			t.Errorf("after %v held %d, want nothing after %v", took, v.CacheHit("p/m", openAI).Held, readTimeout)
		}
		began = time.Now()
		replicas[1].Lookup(t.Context(), "ws", chain(700, 2000, 3000), began)
		if took := time.Since(began); took != 0 {
			t.Errorf("the next request waited %v, want no read during the backoff", took)
		}
		time.Sleep(50 * time.Millisecond) // the late result is still merged
		if w := replicas[1].Lookup(t.Context(), "ws", next, time.Now()).CacheHit("p/m", openAI); w.Held != 2944 {
			t.Errorf("held %d after the late reply, want 2944", w.Held)
		}
		f.set(func(f *fakeRemote) { f.delay = 0 })
		time.Sleep(readBackoff)
		reads := f.reads
		// The wall clock has been set back by an hour in the meantime.
		replicas[1].Lookup(t.Context(), "ws", chain(800, 2000, 3000), time.Now().Add(-time.Hour))
		if f.reads != reads+1 {
			t.Errorf("%d reads after the backoff, want 1", f.reads-reads)
		}
	})
}

func TestFailingRemoteKeepsLocalMemory(t *testing.T) {
	t.Parallel()
	withReplicas(t, func(t *testing.T, f *fakeRemote, replicas [2]*Shared) {
		f.set(func(f *fakeRemote) { f.broken = true })
		d, next := chain(1, 2000, 3000), chain(1, 2000, 3000, 3300, 5000)
		replicas[0].Lookup(t.Context(), "ws", d, time.Now())
		replicas[0].Record("ws", d, "p/m", openAI, llm.Usage{Estimated: true}, time.Now())
		synctest.Wait()
		if w := replicas[0].Lookup(t.Context(), "ws", next, time.Now()).CacheHit("p/m", openAI); w.Held != 2944 {
			t.Errorf("held %d in local memory, want 2944", w.Held)
		}
		if replicas[0].Dropped() != 2 {
			t.Errorf("dropped %d links, want 2", replicas[0].Dropped())
		}
	})
}

func TestPublishedLinksExpire(t *testing.T) {
	t.Parallel()
	withReplicas(t, func(t *testing.T, f *fakeRemote, replicas [2]*Shared) {
		d := chain(1, 2000, 3000)
		replicas[0].Record("ws", d, "p/m", openAI, llm.Usage{Estimated: true}, time.Now())
		synctest.Wait()
		if len(f.items) != 2 {
			t.Fatalf("%d items, want the first and the last link", len(f.items))
		}
		for key, until := range f.until {
			if left := time.Until(until); left <= 0 || left > openAI.Lifetime {
				t.Errorf("%s expires in %v, want at most %v", key, left, openAI.Lifetime)
			}
		}
		time.Sleep(openAI.Lifetime)
		if w := replicas[1].Lookup(t.Context(), "ws", d, time.Now()).CacheHit("p/m", openAI); w.Held != 0 {
			t.Errorf("held %d after the expiry, want 0", w.Held)
		}
	})
}

func TestRunPublishesQueueOnShutdown(t *testing.T) {
	t.Parallel()
	f := newFakeRemote()
	s := NewShared(NewMemory(100), f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Record("ws", chain(1, 2000, 3000), "p/m", openAI, llm.Usage{Estimated: true}, time.Now())
	s.Run(ctx)
	if len(f.items) != 2 {
		t.Errorf("%d items were published, want 2", len(f.items))
	}
	s.Lookup(t.Context(), "ws", chain(90, 2000, 3000), time.Now())
	if f.reads != 0 {
		t.Errorf("%d reads after the shutdown, want 0", f.reads)
	}
}

func TestFullQueueDoesNotBlockRecord(t *testing.T) {
	t.Parallel()
	s := NewShared(NewMemory(100), newFakeRemote()) // Run is not started
	for range queueSize {
		s.Record("ws", chain(1, 2000, 3000), "p/m", openAI, llm.Usage{Estimated: true}, noon)
	}
	if s.Dropped() != queueSize {
		t.Errorf("dropped %d, want %d", s.Dropped(), queueSize)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("1 3 1791633600 p/m\n1791633900 p/m\n1791633700 baseline:x")
	f.Add("1 0 0 \n99999999999 p")
	f.Add("2 1 1 p")
	f.Fuzz(func(t *testing.T, text string) {
		m, d, at := NewMemory(100), chain(1, 5000), seconds(noon)
		p := linkKeyOf(xxhash.Sum64String("ws"), d.Links[0].Hash)
		m.merge(p, text, at)
		e, ok := m.get(p)
		if !ok {
			return
		}
		for _, until := range e.until {
			if until != 0 && (until <= at || until-at > uint32(maxLifetime/time.Second)) {
				t.Fatalf("%q gives expiry %d, which is not in the allowed range", text, until)
			}
		}
		again, lifetime := m.encode(&e, at)
		if lifetime == 0 {
			return
		}
		other := NewMemory(100)
		other.merge(p, again, at)
		back, _ := other.get(p)
		if third, _ := other.encode(&back, at); third != again {
			t.Fatalf("%q was encoded again as %q", again, third)
		}
	})
}
