package promptcache

import (
	"context"
	"strings"
	"time"

	"fairlead/internal/llm"
)

// Store remembers what targets have read. It is safe for concurrent use. Workspaces share nothing in it but how well each
// target keeps what it should, which is a fact about the provider as its speed is.
type Store interface {
	// Lookup tells what targets have warm of a prompt. It waits for the network at most a few milliseconds, and knows
	// less rather than fail.
	Lookup(ctx context.Context, workspaceID string, d Fingerprint, now time.Time) View
	// Record notes that a target has read a prompt, and what it reported of it. now is when it was sent the prompt: its
	// cache counts from there, however long the answer takes. A target named by Baseline is taken to have read it as well,
	// whatever was used.
	Record(workspaceID string, d Fingerprint, target string, rules Rules, u llm.Usage, now time.Time)
}

// virtual begins the names of targets that were never asked.
const virtual = "baseline:"

// Baseline names the target that stands for a model that would have answered every turn.
func Baseline(model string) string { return virtual + model }

func isVirtual(target string) bool { return strings.HasPrefix(target, virtual) }

// CacheHit is what a target has warm of a prompt, in tokens of the digest's own count.
type CacheHit struct {
	Prompt int64     `json:"prompt"`          // the whole prompt
	Held   int64     `json:"held,omitempty"`  // what the target should have, by its rules
	Tokens int64     `json:"tokens"`          // what is expected to be read from there: Held, less what experience takes off
	Writes int64     `json:"write,omitempty"` // expected to be written at a price of its own
	Long   bool      `json:"long,omitempty"`  // and for an hour
	Until  time.Time `json:"until,omitzero"`  // when it is gone, unless it is used before
	Chance float64   `json:"chance,omitempty"`
}

// Usage splits a prompt of this many tokens, in the target's own count, into what is expected to be read fresh, from the
// cache, and written to it.
func (w CacheHit) Usage(prompt int64) llm.Usage {
	if w.Prompt <= 0 || prompt <= 0 {
		return llm.Usage{Input: max(prompt, 0)}
	}
	share := float64(prompt) / float64(w.Prompt)
	u := llm.Usage{CacheRead: min(int64(float64(w.Tokens)*share+0.5), prompt)}
	u.CacheWrite = min(int64(float64(w.Writes)*share+0.5), prompt-u.CacheRead)
	if w.Long {
		u.CacheWriteLong = u.CacheWrite
	}
	u.Input = prompt - u.CacheRead - u.CacheWrite
	return u
}
