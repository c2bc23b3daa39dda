package promptcache

import (
	"context"
	"strings"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// Store records which targets have read which prompts. It is safe for concurrent use. Workspaces share only the hit rate
// of each target, which is a property of the provider.
type Store interface {
	// Lookup returns the cache state of a prompt: which targets have cached which of its prefixes. It waits at most a few milliseconds for
	// the network. If the network fails, it returns only the records of this replica.
	Lookup(ctx context.Context, workspaceID string, fp Fingerprint, now time.Time) View
	// Record stores the fact that a target has read a prompt, and the usage that the target reported. now is the time at which the prompt
	// was sent, because cache lifetimes start at that time. For a target named by Baseline, the usage is ignored.
	Record(workspaceID string, fp Fingerprint, target string, rules catalog.CacheRule, u llm.Usage, now time.Time)
}

// baselinePrefix is the prefix of the target names of baseline models.
const baselinePrefix = "baseline:"

// Baseline returns the target name of a baseline model. A baseline is never called but counts as having served every turn.
func Baseline(model string) string { return baselinePrefix + model }

func isBaseline(target string) bool { return strings.HasPrefix(target, baselinePrefix) }

// CacheHit describes the prefix of a prompt that a target is expected to have cached. Token counts are the estimates in the fingerprint.
type CacheHit struct {
	Prompt  int64     `json:"prompt"`          // length of the whole prompt in tokens
	Held    int64     `json:"held,omitempty"`  // length of the cached prefix according to the provider's rules
	Tokens  int64     `json:"tokens"`          // expected cache read: Held times HitRate
	Writes  int64     `json:"write,omitempty"` // expected cache write, billed separately
	Long    bool      `json:"long,omitempty"`  // whether the prefix is written with a lifetime of one hour
	Until   time.Time `json:"until,omitzero"`  // expiry time if the prefix is not used again
	HitRate float64   `json:"hit_rate,omitempty"`
}

// Usage splits a prompt, in the target's own token count, into the expected uncached, cached and written tokens.
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
