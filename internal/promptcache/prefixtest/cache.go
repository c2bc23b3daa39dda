// Package prefixtest is a true prompt cache to measure estimates against: a provider that keeps the prompts it has read, by
// their content, and says of each how much it found. It knows nothing of how the estimates are made. Time is told to it.
package prefixtest

import (
	"crypto/sha256"
	"time"

	"fairlead/internal/llm"
)

// Settings say how a provider keeps prompts.
type Settings struct {
	Minimum  int64         // tokens: a shorter beginning is not kept
	Step     int64         // tokens: beginnings are kept at every multiple of it; at the prompt's end only when 0
	Lifetime time.Duration // from the last use on; 0 keeps nothing
	Writes   bool          // what is written is told apart from what is only read
}

// Cache is the prompt cache of one model at one provider. It is not safe for concurrent use.
type Cache struct {
	settings Settings
	kept     map[[sha256.Size]byte]time.Time // until when a beginning of a prompt is there
}

// NewCache makes an empty cache.
func NewCache(s Settings) *Cache {
	return &Cache{settings: s, kept: map[[sha256.Size]byte]time.Time{}}
}

// bytesPerToken makes tokens of text: a cut every four bytes is as good as any vocabulary here.
const bytesPerToken = 4

// Tokens is the length of a text.
func Tokens(text string) int64 { return int64(len(text)+bytesPerToken-1) / bytesPerToken }

// Read lets the provider read a prompt, message by message, and tells what of it was fresh, found and written.
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

// cut is a beginning of a prompt that may be kept.
type cut struct {
	tokens int64
	sum    [sha256.Size]byte
}

// cuts are the beginnings of a prompt that may be kept, the shortest first.
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
		prompt.Write([]byte{0}) // messages do not run into each other
		if c.settings.Step == 0 {
			keep()
		}
	}
	return cuts
}
