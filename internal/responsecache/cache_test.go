package responsecache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
)

func keyOf(n int) (k Key) {
	copy(k[:], fmt.Sprint(n))
	return k
}

func small() *Cache { return New(Options{Memory: 1 << 20, Entry: 1 << 20}) }

// store records a response of one event.
func store(t *testing.T, c *Cache, key Key, ttl time.Duration, text string) {
	t.Helper()
	_, f, err := c.Get(t.Context(), Query{Key: key, MaxAge: ttl, Shared: true, Refresh: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Add(&llm.Event{Data: []byte(text), Finish: "stop"})
	f.Store(t.Context(), Response{RequestID: "req"})
}

// get returns the text of a stored response, or "" for none.
func get(t *testing.T, c *Cache, key Key, maxAge time.Duration) string {
	t.Helper()
	found, f, err := c.Get(t.Context(), Query{Key: key, MaxAge: maxAge, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	f.End(false)
	if found == nil {
		return ""
	}
	return string(found.Events[0].Data)
}

func TestResponsesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := small()
		store(t, c, keyOf(1), time.Minute, "a")
		time.Sleep(30 * time.Second)
		for maxAge, want := range map[time.Duration]string{time.Minute: "a", time.Hour: "a", 20 * time.Second: ""} {
			if got := get(t, c, keyOf(1), maxAge); got != want {
				t.Errorf("got %q with maximum age %v, want %q", got, maxAge, want)
			}
		}
		time.Sleep(30 * time.Second)
		if got := get(t, c, keyOf(1), time.Hour); got != "" {
			t.Errorf("got %q after its expiry, want none", got)
		}
		if c.size != 0 || len(c.entries) != 0 {
			t.Errorf("%d bytes in %d entries remain, want none", c.size, len(c.entries))
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	c := New(Options{Memory: 64 << 10, Entry: 8 << 10})
	text := string(make([]byte, 4<<10))
	for i := range 100 {
		store(t, c, keyOf(i), time.Hour, text)
		get(t, c, keyOf(0), time.Hour) // makes response 0 the most recently used one
	}
	if c.size > 64<<10 || int(c.size) != len(c.entries)*(4<<10+eventOverhead+responseOverhead) {
		t.Errorf("%d bytes in %d entries, want at most 64 KiB counted correctly", c.size, len(c.entries))
	}
	if get(t, c, keyOf(0), time.Hour) == "" {
		t.Error("the most recently used response was evicted")
	}
	if get(t, c, keyOf(1), time.Hour) != "" {
		t.Error("the least recently used response was not evicted")
	}
	store(t, c, keyOf(1000), time.Hour, string(make([]byte, 9<<10)))
	if get(t, c, keyOf(1000), time.Hour) != "" {
		t.Error("a response above the limit was stored")
	}
	if n := c.recording.Load(); n != 0 {
		t.Errorf("%d bytes are still being recorded, want 0", n)
	}
}

func TestIncompleteResponsesAreNotStored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events []llm.Event
		reason string
	}{
		"complete":       {[]llm.Event{{Data: []byte("a")}, {Data: []byte("b"), Finish: "stop"}}, ""},
		"without finish": {[]llm.Event{{Data: []byte("a")}}, ""}, // embeddings have no finish reason
		"length":         {[]llm.Event{{Data: []byte("a"), Finish: "length"}}, Incomplete},
		"tool calls":     {[]llm.Event{{Data: []byte("a"), Finish: "tool_calls"}}, Incomplete},
		"one of two":     {[]llm.Event{{Data: []byte("a"), Finish: "length"}, {Data: []byte("b"), Finish: "stop"}}, Incomplete},
		"refused":        {[]llm.Event{{Data: []byte("a"), Finish: "content_filter"}}, Incomplete},
		"nothing":        {nil, Incomplete},
		"too large":      {[]llm.Event{{Data: make([]byte, 2<<20), Finish: "stop"}}, TooLarge},
	} {
		c := small()
		_, f, _ := c.Get(t.Context(), Query{Key: keyOf(1), MaxAge: time.Hour})
		for i := range tc.events {
			f.Add(&tc.events[i])
		}
		f.Store(t.Context(), Response{})
		if found := get(t, c, keyOf(1), time.Hour) != ""; f.Reason() != tc.reason || found != (tc.reason == "") {
			t.Errorf("%s: stored %t with reason %q, want reason %q", name, found, f.Reason(), tc.reason)
		}
		if c.recording.Load() != 0 || len(c.flights) != 0 {
			t.Errorf("%s: %d bytes and %d flights remain, want none", name, c.recording.Load(), len(c.flights))
		}
	}
}

// TestConcurrentEqualRequestsShareOneResponse starts a leader and followers, and counts the requests that have to be made after the leader
// has ended.
func TestConcurrentEqualRequestsShareOneResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(f *Flight)
		hits int // number of the 20 followers that receive the response
		made int // number of requests that the followers make
		time time.Duration
	}{
		"stored":           {func(f *Flight) { f.Store(context.Background(), Response{}) }, 20, 0, time.Second},
		"failed":           {func(f *Flight) { f.End(false) }, 0, 20, 11 * time.Second},
		"not stored":       {func(f *Flight) { f.Discard("tools"); f.Store(context.Background(), Response{}) }, 0, 20, 11 * time.Second},
		"client gone":      {func(f *Flight) { f.End(true) }, 19, 1, 11 * time.Second},
		"never ends":       {nil, 0, 20, maxWait + 10*time.Second},
		"ends after panic": {func(f *Flight) { defer f.End(false); defer func() { _ = recover() }(); panic("x") }, 0, 20, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, began := small(), time.Now()
				_, leader, _ := c.Get(t.Context(), Query{Key: keyOf(1), MaxAge: time.Hour})
				leader.Add(&llm.Event{Data: []byte("a"), Finish: "stop"})
				var mu sync.Mutex
				var group sync.WaitGroup
				hits, made := 0, 0
				for range 20 {
					group.Go(func() {
						found, f, err := c.Get(t.Context(), Query{Key: keyOf(1), MaxAge: time.Hour})
						if err != nil {
							t.Error(err)
						}
						if found == nil {
							time.Sleep(10 * time.Second) // simulates the call to the provider
							f.Add(&llm.Event{Data: []byte("b"), Finish: "stop"})
							f.Store(t.Context(), Response{})
						}
						mu.Lock()
						defer mu.Unlock()
						if found != nil {
							hits++
						} else {
							made++
						}
					})
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if tc.end != nil {
					tc.end(leader)
				}
				group.Wait()
				leader.End(false)
				if hits != tc.hits || made != tc.made || time.Since(began) != tc.time {
					t.Errorf("%d hits, %d requests in %v; want %d, %d in %v", hits, made, time.Since(began), tc.hits, tc.made, tc.time)
				}
				if len(c.flights) != 0 || c.recording.Load() != 0 {
					t.Errorf("%d flights and %d bytes remain, want none", len(c.flights), c.recording.Load())
				}
			})
		})
	}
}

func TestFollowerStopsWaitingWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := small()
		_, leader, _ := c.Get(t.Context(), Query{Key: keyOf(1), MaxAge: time.Hour})
		ctx, cancel := context.WithCancelCause(t.Context())
		revoked := errors.New("revoked")
		time.AfterFunc(time.Second, func() { cancel(revoked) })
		if _, _, err := c.Get(ctx, Query{Key: keyOf(1), MaxAge: time.Hour}); !errors.Is(err, revoked) {
			t.Errorf("Get: %v, want the cause of the context", err)
		}
		leader.Add(&llm.Event{Data: []byte("a"), Finish: "stop"})
		leader.Store(t.Context(), Response{})
		if get(t, c, keyOf(1), time.Hour) != "a" {
			t.Error("the response of the leader was not stored")
		}
	})
}

func TestInputsAreStoredSeparately(t *testing.T) {
	t.Parallel()
	c := small()
	now := time.Now()
	response := func(text string) *Response {
		return &Response{Created: now, TTL: time.Hour, Events: []Event{{Data: []byte(text)}}}
	}
	c.putInputs(t.Context(), []Key{keyOf(1), keyOf(3)}, []*Response{response("a"), response("c")}, true)
	found := c.getInputs(t.Context(), []Key{keyOf(1), keyOf(2), keyOf(3)}, time.Hour, true)
	if found[0] == nil || found[1] != nil || string(found[2].Events[0].Data) != "c" {
		t.Errorf("found %v, want only the first and the third input", found)
	}
}
