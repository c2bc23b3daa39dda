package replay

import (
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
	"fairlead/internal/route"
)

// costAt is what the tokens of a request would have cost at a target: as many tokens, of which as many are read from the
// cache as were expected to be warm there. Nothing is taken to be warm at a target of which that is not known.
func costAt(t *provider.Target, r *record) *money.Amount {
	if t == nil || t.Price == nil || r.usage.Total() == 0 {
		return nil
	}
	cost := t.Price.At(r.in.At).Cost(elsewhere(r.usage, r.seen[t.ID()].cache))
	return &cost
}

// elsewhere is the usage as another provider would have counted it.
func elsewhere(u llm.Usage, w route.CacheHit) llm.Usage {
	prompt := u.Prompt()
	other := llm.Usage{Output: u.Output, Reasoning: u.Reasoning, AudioOutput: u.AudioOutput}
	other.CacheRead = min(w.Read, prompt)
	other.CacheWrite = min(w.Write, prompt-other.CacheRead)
	if w.Long {
		other.CacheWriteLong = other.CacheWrite
	}
	other.Input = prompt - other.CacheRead - other.CacheWrite
	other.AudioInput = min(u.AudioInput, other.Input)
	return other
}
