package route

import (
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// effortEntry is a reasoning effort of a target.
type effortEntry struct {
	level  string
	logit  float64          // change of the logit of the success probability
	length float64          // reasoning tokens relative to the model's typical number
	target *provider.Target // the target with this effort
}

func newEffortEntries(t *provider.Target) []effortEntry {
	entries := make([]effortEntry, len(t.Efforts))
	for i, e := range t.Efforts {
		chosen := *t
		length := llm.EffortLength(e.Level)
		chosen.Effort = e.Level
		chosen.FirstToken = time.Duration(max(length, 1) * float64(t.FirstToken)) // the model reasons before the first token
		entries[i] = effortEntry{level: e.Level, logit: e.Logit, length: length, target: &chosen}
	}
	return entries
}

// efforts returns the efforts to compare: those of the target that leave room for the response within the caller's output limit, or
// only the one that the caller set. It returns nil if the effort is unknown or the caller named the model.
func (r *ranking) efforts(cand *candidate) []effortEntry {
	all := cand.entry.efforts
	if r.in.Effort != "" {
		for i := range all {
			if all[i].level == r.in.Effort {
				return all[i : i+1]
			}
		}
		return nil
	}
	if r.in.Op != llm.Chat || !IsAuto(r.in.Model) {
		return nil
	}
	if limit := r.in.MaxOutput; limit > 0 {
		n := 1 // the lowest effort is always possible
		for n < len(all) && int64(all[n].length*float64(r.outputPrior.reasoning)) < limit/2 {
			n++
		}
		return all[:min(n, len(all))]
	}
	return all
}

// reasoning returns the expected number of reasoning tokens of a model that typically takes this many.
func (c *candidate) reasoning(typical int64) int64 {
	switch {
	case !c.target.Model.Abilities.Has(llm.Reasoning):
		return 0
	case c.effort == nil:
		return typical
	}
	return int64(c.effort.length * float64(typical))
}

// planned returns the target to call, with the effort that the router chose.
func (c *candidate) planned() *provider.Target {
	if c.Effort == "" {
		return c.target
	}
	return c.effort.target
}
