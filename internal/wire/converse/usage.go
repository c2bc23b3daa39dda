package converse

import "fairlead/internal/llm"

// usage is what an answer says of the tokens. inputTokens leaves out what was read from or written to a cache.
type usage struct {
	Input        *int64 `json:"inputTokens"`
	Output       *int64 `json:"outputTokens"`
	CacheRead    int64  `json:"cacheReadInputTokens"`
	CacheWrite   int64  `json:"cacheWriteInputTokens"`
	CacheDetails []struct {
		TTL   string `json:"ttl"`
		Input int64  `json:"inputTokens"`
	} `json:"cacheDetails"`
}

// absurdTokens is more than any provider can have counted for one request.
const absurdTokens = 1_000_000_000_000

// counts returns the usage in our own words, or nil when it says nothing of use or something absurd: then our own count
// stands.
func (u *usage) counts(tier *serviceTier) *llm.Usage {
	if u == nil || u.Input == nil || u.Output == nil {
		return nil
	}
	counted := &llm.Usage{Input: *u.Input, Output: *u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	for _, d := range u.CacheDetails {
		if d.TTL == "1h" {
			counted.CacheWriteLong += d.Input
		}
	}
	for _, n := range []int64{counted.Input, counted.Output, counted.CacheRead, counted.CacheWrite, counted.CacheWriteLong} {
		if n < 0 || n > absurdTokens {
			return nil
		}
	}
	counted.CacheWriteLong = min(counted.CacheWriteLong, counted.CacheWrite)
	if tier != nil {
		counted.ServiceTier = tier.Type
	}
	return counted
}
