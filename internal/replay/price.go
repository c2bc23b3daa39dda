package replay

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route"
)

// usageWith returns u with its prompt tokens split into uncached, cached and written tokens according to hit.
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
