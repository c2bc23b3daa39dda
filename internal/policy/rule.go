package policy

import (
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy/condition"
)

// effects is a set of policy effects.
type effects uint32

const (
	denies effects = 1 << iota
	pins
	allows
	excludes
	prefers
	aims
	limitsCost
	limitsOutput
	compares
	limitsEscalation
	limitsSession
	caches
	disablesCache
	disablesMarks
	disablesBodies
)

// restricting is the set of effects that apply even if a condition exceeds the cost limit. Without these effects, the gateway could do
// something that the policy forbids.
const restricting = denies | allows | excludes | limitsCost | limitsOutput | limitsSession | disablesCache | disablesBodies

// rule is a compiled, enabled policy with canonical names.
type rule struct {
	name          string
	source        string               // name of the policy set
	when          *condition.Condition // condition; nil means always
	has           effects
	deny          string
	pin           string
	allow         matcher
	exclude       matcher
	prefer        []Pattern
	objective     Objective
	maxCost       money.Amount
	maxOutput     int64
	baseline      string
	maxEscalation int64
	sessionBudget SessionLimit
	cacheAge      CacheAge
	effectTexts   []effectText // descriptions of the effects, in a fixed order
	all           string       // all descriptions joined, used in the common case without overruled effects
}

// effectText is the description of one effect.
type effectText struct {
	effect effects
	text   string
}

// describe creates the descriptions of the effects.
func (r *rule) describe(p *Policy) {
	add := func(e effects, text string) {
		if r.has&e != 0 {
			r.effectTexts = append(r.effectTexts, effectText{e, text})
		}
	}
	escalation := "no escalation"
	if r.maxEscalation != 0 {
		escalation = "escalation by at most " + strconv.FormatInt(r.maxEscalation, 10) + " of 3 steps"
	}
	add(denies, "deny")
	add(pins, "pin "+p.Pin)
	add(allows, "allow "+p.Allow.String())
	add(excludes, "exclude "+p.Exclude.String())
	add(prefers, "prefer "+strings.Join(p.Prefer, ", "))
	add(aims, "objective "+p.Objective)
	add(limitsCost, "at most "+p.MaxCost.Display())
	add(limitsOutput, "at most "+strconv.FormatInt(p.MaxOutput, 10)+" output tokens")
	add(limitsEscalation, escalation)
	add(limitsSession, "at most "+r.sessionBudget.Amount.Display()+" per session")
	add(compares, "baseline "+p.Baseline)
	add(caches, "cached responses up to "+r.cacheAge.String()+" old")
	add(disablesCache, "no cached responses")
	add(disablesMarks, "no prompt-cache markers")
	add(disablesBodies, "no bodies in the log")
	r.all = r.effect(0)
}

func (r *rule) effect(overruled effects) string {
	if overruled == 0 && r.all != "" {
		return r.all
	}
	texts := make([]string, len(r.effectTexts))
	for i, w := range r.effectTexts {
		texts[i] = w.text
		if overruled&w.effect != 0 {
			texts[i] += " (overruled by an earlier policy)"
		}
	}
	return strings.Join(texts, "; ")
}

// String formats the selector's lists.
func (s *Selector) String() string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, list := range []struct {
		of    string
		names []string
	}{{"models", s.Models}, {"providers", s.Providers}, {"tags", s.Tags}} {
		if len(list.names) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", list.of, strings.Join(list.names, ", ")))
		}
	}
	return strings.Join(parts, " and ")
}
