package route

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// effortEntry is a reasoning effort of a target.
type effortEntry struct {
	level  string
	logit  float64          // change of the logit of the success probability
	length float64          // typical number of reasoning tokens, relative to medium effort
	target *provider.Target // copy of the target with the effort set
}

// efforts returns the efforts to compare: the target's efforts that leave enough of the caller's output limit for the response, or only the
// effort set by the caller. It returns nil if the target does not have the caller's effort, or if the caller set no effort and the request
// is not for a chat model chosen by auto.
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
