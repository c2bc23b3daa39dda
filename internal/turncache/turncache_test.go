package turncache_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"fairlead.dev/internal/turncache"
)

func body(seed, size int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d", seed), size/8)
}

func TestFindReturnsTheLatestStateOfTheSameBeginning(t *testing.T) {
	t.Parallel()
	c := turncache.New(1 << 20)
	first := c.Turn("ws", "chat", body(1, 20_000))
	first.Keep(turncache.Decoding, 5_000, "early", 10)
	first.Keep(turncache.Decoding, 13_000, "late", 10)
	longer := append(body(1, 20_000), body(2, 20_000)...)
	branch := append(body(1, 10_000), body(3, 20_000)...)
	for name, tc := range map[string]struct {
		turn *turncache.Turn
		end  int
		want any
	}{
		"next turn":         {c.Turn("ws", "chat", longer), 13_000, "late"},
		"same turn":         {c.Turn("ws", "chat", body(1, 20_000)), 13_000, "late"},
		"branch":            {c.Turn("ws", "chat", branch), 5_000, "early"},
		"shorter body":      {c.Turn("ws", "chat", body(1, 12_000)), 5_000, "early"},
		"another workspace": {c.Turn("other", "chat", longer), 0, nil},
		"another format":    {c.Turn("ws", "messages", longer), 0, nil},
		"another beginning": {c.Turn("ws", "chat", body(4, 20_000)), 0, nil},
		"nil turn":          {nil, 0, nil},
	} {
		if end, state := tc.turn.Find(turncache.Decoding); end != tc.end || state != tc.want {
			t.Errorf("%s: Find = %d, %v; want %d, %v", name, end, state, tc.end, tc.want)
		}
		if end, _ := tc.turn.Find(turncache.Reading); end != 0 {
			t.Errorf("%s: Find for another reader = %d, want 0", name, end)
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	c := turncache.New(limit)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 200 {
				turn := c.Turn("ws", "chat", body(worker*1000+i, 30_000))
				for end := 5000; end < 30_000; end += 1000 {
					turn.Keep(turncache.Decoding, end, i, 1000)
					turn.Keep(turncache.Decoding, end, i, 1000) // store the same state again
				}
				if c.Bytes() > limit {
					t.Errorf("cache has %d bytes, want at most %d", c.Bytes(), limit)
				}
			}
		})
	}
	all.Wait()
	if c.Bytes() < limit/2 {
		t.Errorf("cache has %d bytes, want at least %d", c.Bytes(), limit/2)
	}
	recent := c.Turn("ws", "chat", body(1, 30_000))
	recent.Keep(turncache.Decoding, 29_000, "new", 1000)
	if end, _ := recent.Find(turncache.Decoding); end != 29_000 {
		t.Errorf("Find of the most recent state = %d, want 29000", end)
	}
}
