package replay

import (
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/route"
)

// costAt returns the cost of the recorded tokens at another target, with the expected cached prefix at that target.
func costAt(t *provider.Target, r *record) *money.Amount {
	if t == nil || t.Price == nil || r.usage.Total() == 0 {
		return nil
	}
	cost := t.Price.At(r.in.At).Cost(usageWith(r.usage, r.seen[t.ID()].cache))
	return &cost
}

// usageWith returns the usage with another cached prefix.
func usageWith(u llm.Usage, hit route.CacheHit) llm.Usage {
	prompt := u.Prompt()
	other := llm.Usage{Output: u.Output, Reasoning: u.Reasoning, AudioOutput: u.AudioOutput, Searches: u.Searches}
	other.CacheRead = min(hit.Read, prompt)
	other.CacheWrite = min(hit.Write, prompt-other.CacheRead)
	if hit.Long {
		other.CacheWriteLong = other.CacheWrite
	}
	other.Input = prompt - other.CacheRead - other.CacheWrite
	other.AudioInput = min(u.AudioInput, other.Input)
	return other
}
