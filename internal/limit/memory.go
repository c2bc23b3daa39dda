package limit

import (
	"context"
	"maps"
	"sync"
	"time"
)

// sweepEvery is the interval at which idle IDs are removed.
const sweepEvery = Window

// Memory is an in-process Limiter. It counts in one-second buckets. A bucket expires when the whole second is more than a minute
// old, so that no period of sixty seconds exceeds the limit. Capacity therefore becomes free up to one second late.
type Memory struct {
	mu    sync.Mutex
	clock clock
	swept time.Duration
	ids   map[string]*counts
}

// NewMemory returns a limiter with the given clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{clock: clock{now: now}, ids: map[string]*counts{}}
}

// Take implements Limiter.
func (m *Memory) Take(_ context.Context, id string, l Limits, tokens int64) (*Slot, error) {
	if l.RequestsPerMinute <= 0 && l.TokensPerMinute <= 0 && l.Concurrent <= 0 {
		return NewSlot(nil), nil
	}
	tokens = max(tokens, 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.clock.read()
	if at-m.swept >= sweepEvery { // remove IDs without running requests and without counts in the window
		m.swept = at
		maps.DeleteFunc(m.ids, func(_ string, c *counts) bool {
			c.advance(second(at))
			return c.running == 0 && c.requests.sum == 0 && c.tokens.sum == 0
		})
	}
	c := m.ids[id]
	if c == nil {
		c = &counts{}
		m.ids[id] = c
	}
	c.advance(second(at))
	if l.TokensPerMinute > 0 && tokens > l.TokensPerMinute {
		return nil, RejectTooLarge(Rejection{TokensPerMinute, l.TokensPerMinute, c.tokens.sum}, tokens)
	}
	if rejection, wait, ok := c.admit(at, l, tokens); !ok {
		return nil, Reject(rejection, wait)
	}
	c.running++
	c.add(tokens)
	return NewSlot(&grant{memory: m, counts: c, taken: c.at, tokens: tokens}), nil
}

// grant implements Grant for a request that is counted in memory.
type grant struct {
	memory *Memory
	counts *counts
	taken  int64 // second in which the request was counted
	tokens int64
}

// Settle subtracts an excess estimate from the second in which the estimate was counted. It adds a shortfall to the current second,
// so that the tokens of a long stream count even if its start has left the window.
func (g *grant) Settle(tokens int64) {
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	g.counts.advance(second(g.memory.clock.read()))
	if tokens > g.tokens {
		g.counts.tokens.add(g.counts.at, tokens-g.tokens)
		return
	}
	g.counts.tokens.takeBack(g.counts.at, g.taken, g.tokens-tokens)
}

// Release ends the request, so that it no longer counts as concurrent.
func (g *grant) Release() {
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	g.counts.running--
}

// clock measures the time since its first reading. When the underlying clock steps back, the measured time stays the same.
type clock struct {
	now     func() time.Time
	last    time.Time
	elapsed time.Duration
}

func (c *clock) read() time.Duration {
	now := c.now()
	if !c.last.IsZero() {
		c.elapsed += max(now.Sub(c.last), 0)
	}
	c.last = now
	return c.elapsed
}

func second(at time.Duration) int64 { return int64(at / time.Second) }
