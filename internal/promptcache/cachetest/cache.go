// Package cachetest simulates a provider's prompt cache. Tests compare the estimates of package promptcache with it. The
// cache stores the prompts it has read and reports how much of each new prompt was cached. Callers pass the time.
package cachetest

import (
	"crypto/sha256"
	"time"

	"fairlead.dev/internal/llm"
)

// Settings describes how a provider caches prompts.
type Settings struct {
	Minimum  int64         // shortest cached prefix, in tokens
	Step     int64         // prefixes are cached at every multiple of Step tokens; only at the end of the prompt when 0
	Lifetime time.Duration // time since the last use after which a prefix expires; 0 disables the cache
	Writes   bool          // whether to report cache writes separately
}

// Cache is the prompt cache of one model at one provider. It is not safe for concurrent use.
type Cache struct {
	settings Settings
	kept     map[[sha256.Size]byte]time.Time // expiry by hash of the prefix
}

// NewCache returns an empty cache.
func NewCache(s Settings) *Cache {
	return &Cache{settings: s, kept: map[[sha256.Size]byte]time.Time{}}
}

// bytesPerToken is the number of bytes that count as one token.
const bytesPerToken = 4

// Tokens returns the length of a text in tokens.
func Tokens(text string) int64 { return int64(len(text)+bytesPerToken-1) / bytesPerToken }

// Read processes a prompt, given as messages. It returns how many tokens were uncached, read from the cache and written to it.
func (c *Cache) Read(at time.Time, messages []string) llm.Usage {
	cuts := c.cuts(messages)
	found := int64(0)
	for _, cut := range cuts {
		if c.kept[cut.sum].After(at) {
			found = cut.tokens
		}
	}
	if c.settings.Lifetime > 0 {
		for _, cut := range cuts {
			c.kept[cut.sum] = at.Add(c.settings.Lifetime)
		}
	}
	var prompt int64
	for _, m := range messages {
		prompt += Tokens(m)
	}
	u := llm.Usage{Input: prompt - found, CacheRead: found}
	if c.settings.Writes && c.settings.Lifetime > 0 && len(cuts) > 0 {
		u.CacheWrite = cuts[len(cuts)-1].tokens - found
		u.Input -= u.CacheWrite
	}
	return u
}

// cut is a prefix of a prompt that can be cached.
type cut struct {
	tokens int64
	sum    [sha256.Size]byte
}

// cuts returns the prefixes of a prompt that can be cached, shortest first.
func (c *Cache) cuts(messages []string) []cut {
	var cuts []cut
	var tokens int64
	prompt := sha256.New()
	keep := func() {
		if tokens >= c.settings.Minimum {
			cuts = append(cuts, cut{tokens, [sha256.Size]byte(prompt.Sum(nil))})
		}
	}
	for _, m := range messages {
		for len(m) > 0 {
			n := min(bytesPerToken, len(m))
			prompt.Write([]byte(m[:n]))
			m = m[n:]
			tokens++
			if c.settings.Step > 0 && tokens%c.settings.Step == 0 {
				keep()
			}
		}
		prompt.Write([]byte{0}) // separates the messages
		if c.settings.Step == 0 {
			keep()
		}
	}
	return cuts
}
