package converse

import "fairlead.dev/internal/llm"

// usage is the token usage of a response. inputTokens excludes cache reads and writes.
type usage struct {
	Input        *llm.TokenCount `json:"inputTokens"`
	Output       *llm.TokenCount `json:"outputTokens"`
	CacheRead    llm.TokenCount  `json:"cacheReadInputTokens"`
	CacheWrite   llm.TokenCount  `json:"cacheWriteInputTokens"`
	CacheDetails []struct {
		TTL   string         `json:"ttl"`
		Input llm.TokenCount `json:"inputTokens"`
	} `json:"cacheDetails"`
}

// counts converts the usage. It returns nil if a count is missing or negative; the usage is then estimated.
func (u *usage) counts(tier *serviceTier) *llm.Usage {
	if u == nil || u.Input == nil || u.Output == nil {
		return nil
	}
	if min(*u.Input, *u.Output, u.CacheRead, u.CacheWrite) < 0 {
		return nil
	}
	counted := &llm.Usage{Input: int64(*u.Input), Output: int64(*u.Output), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite)}
	for _, d := range u.CacheDetails {
		if d.Input < 0 {
			return nil
		}
		if d.TTL == "1h" {
			counted.CacheWriteLong += int64(d.Input)
		}
	}
	counted.CacheWriteLong = min(counted.CacheWriteLong, counted.CacheWrite)
	if tier != nil {
		counted.ServiceTier = tier.Type
	}
	return counted
}
