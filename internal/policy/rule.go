package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/money"
)

// effects is a set of things that a policy does.
type effects uint16

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
	hidesBodies
)

// restricting are the effects that apply when a condition could not be evaluated within the bound: without them the request
// could do what the policy forbids.
const restricting = denies | allows | excludes | limitsCost | limitsOutput | hidesBodies

// rule is an active policy ready for evaluation. Names in it are canonical.
type rule struct {
	name      string
	source    string // name of the set
	when      []conjunct
	cost      uint64 // estimated maximum of when
	has       effects
	deny      string
	pin       string
	allow     matcher
	exclude   matcher
	prefer    []Pattern
	objective Objective
	maxCost   money.Amount
	maxOutput int64
	baseline  string
	zones     map[string]*time.Location // that the conditions name
	names     *names
	words     []word // the effects in words, in a fixed order
	all       string // of the words, for the usual case that no effect is overruled
}

// word is one effect in words.
type word struct {
	effect effects
	text   string
}

// describe writes the effects in words, as the policy names them.
func (r *rule) describe(p *Policy) {
	add := func(e effects, text string) {
		if r.has&e != 0 {
			r.words = append(r.words, word{e, text})
		}
	}
	add(denies, "deny")
	add(pins, "pin "+p.Pin)
	add(allows, "allow "+p.Allow.String())
	add(excludes, "exclude "+p.Exclude.String())
	add(prefers, "prefer "+strings.Join(p.Prefer, ", "))
	add(aims, "objective "+p.Objective)
	add(limitsCost, "at most "+p.MaxCost.Display())
	add(limitsOutput, "at most "+strconv.FormatInt(p.MaxOutput, 10)+" output tokens")
	add(compares, "baseline "+p.Baseline)
	add(hidesBodies, "no bodies in the log")
	r.all = r.effect(0)
}

func (r *rule) effect(overruled effects) string {
	if overruled == 0 && r.all != "" {
		return r.all
	}
	texts := make([]string, len(r.words))
	for i, w := range r.words {
		texts[i] = w.text
		if overruled&w.effect != 0 {
			texts[i] += " (overruled by an earlier policy)"
		}
	}
	return strings.Join(texts, "; ")
}

// String writes the selector's lists.
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
