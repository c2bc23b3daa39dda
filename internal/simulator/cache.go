package simulator

import (
	"sync"

	"fairlead.dev/internal/simulator/openai"
)

const (
	cacheStep    = 128     // prefixes are stored at every multiple of this many tokens
	cacheMinimum = 1024    // shorter prefixes are never cached
	cacheEntries = 1 << 16 // maximum number of stored prefixes
)

// prefixCache stores the beginnings of prompts, like a provider's prompt cache. The oldest entries are evicted first.
type prefixCache struct {
	mu    sync.Mutex
	known map[uint64]bool
	ring  []uint64
	next  int
}

func newPrefixCache() *prefixCache {
	return &prefixCache{known: map[uint64]bool{}, ring: make([]uint64, 0, cacheEntries)}
}

// visit returns the number of prompt tokens that are cached, and stores the prompt. steps holds the hash of the
// prompt's beginning at each multiple of cacheStep.
func (c *prefixCache) visit(steps []uint64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var cached int64
	for i, step := range steps {
		if !c.known[step] {
			break
		}
		cached = int64(i+1) * cacheStep
	}
	for _, step := range steps {
		if c.known[step] {
			continue
		}
		c.known[step] = true
		if len(c.ring) < cacheEntries {
			c.ring = append(c.ring, step)
			continue
		}
		delete(c.known, c.ring[c.next])
		c.ring[c.next] = step
		c.next = (c.next + 1) % cacheEntries
	}
	if cached < cacheMinimum {
		return 0
	}
	return cached
}

// promptMeter counts a prompt's tokens and computes the hashes for the cache.
type promptMeter struct {
	tokens int64
	hash   uint64
	steps  []uint64
}

func (m *promptMeter) text(text string) {
	for len(text) > 0 {
		n := openai.NextToken(text)
		m.token(text[:n])
		text = text[n:]
	}
}

func (m *promptMeter) token(text string) {
	m.hash = openai.Hash(m.hash, text)
	m.tokens++
	if m.tokens%cacheStep == 0 {
		m.steps = append(m.steps, m.hash)
	}
}

// fixed counts tokens whose content is identified by key, such as the tokens of an image.
func (m *promptMeter) fixed(key string, tokens int64) {
	for range tokens {
		m.token(key)
	}
}
