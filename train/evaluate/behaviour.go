package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Behaviour is a group of requests and the relation that a good router's decisions satisfy.
type Behaviour struct {
	ID       string            `json:"id"`
	Relation string            `json:"relation"` // expected relation: same, inherit, easier, harder, housekeeping, trouble or recovered
	Kind     string            `json:"kind"`
	Requests map[string]string `json:"requests"` // request ids by role
}

// Judged holds a router's decision for one request of a Behaviour.
type Judged struct {
	Model   string
	Success map[string]float64 // predicted success probability by model
	Cost    map[string]float64 // expected cost in dollars by model
}

// BehaviourResult counts the groups with one relation, and those among them whose decisions satisfy it.
type BehaviourResult struct {
	Relation string   `json:"relation"`
	Items    int      `json:"items"`
	Passed   int      `json:"passed"`
	Failed   []string `json:"failed,omitempty"` // for each failed group, its id and the decision for each role
}

// Limits used by the relations.
const (
	inheritLimit  = 0.10  // maximum difference in probability between a short reply and its task
	orderMargin   = 0.02  // minimum difference in probability between an easier and a harder request
	riseLimit     = 0.005 // maximum rise in probability with more failures, to allow for rounding
	troubleFall   = 0.05  // minimum fall in probability after three identical failures
	cheapMultiple = 2     // maximum cost of a housekeeping call, as a multiple of the cheapest model's cost
)

// EvaluateBehaviour checks whether decisions, which are indexed by request id, satisfy the relations of the groups. A model is stronger
// than another if its mean probability over all decisions is higher. The relations compare the probabilities of the weakest model.
func EvaluateBehaviour(items []Behaviour, decisions map[string]Judged) []BehaviourResult {
	j := newBehaviourJudge(decisions)
	byRelation := map[string]*BehaviourResult{}
	for i := range items {
		item := &items[i]
		r := byRelation[item.Relation]
		if r == nil {
			r = &BehaviourResult{Relation: item.Relation}
			byRelation[item.Relation] = r
		}
		r.Items++
		if j.passes(item, decisions) {
			r.Passed++
			continue
		}
		var failed strings.Builder // choice and probability of the weakest model for each role
		failed.WriteString(item.ID)
		for _, role := range slices.Sorted(maps.Keys(item.Requests)) {
			d := decisions[item.Requests[role]]
			fmt.Fprintf(&failed, " %s=%s(%.3f)", role, d.Model, d.Success[j.weak])
		}
		r.Failed = append(r.Failed, failed.String())
	}
	var results []BehaviourResult
	for _, name := range slices.Sorted(maps.Keys(byRelation)) {
		slices.Sort(byRelation[name].Failed)
		results = append(results, *byRelation[name])
	}
	return results
}

// behaviourJudge holds the strength of each model, which is its mean success probability, and the weakest model.
type behaviourJudge struct {
	strength map[string]float64
	weak     string
}

func newBehaviourJudge(decisions map[string]Judged) *behaviourJudge {
	sums, counts, maxCount := map[string]float64{}, map[string]int{}, 0
	for _, id := range slices.Sorted(maps.Keys(decisions)) { // a fixed order gives equal sums for equal input
		for m, p := range decisions[id].Success {
			sums[m] += p
			counts[m]++
			maxCount = max(maxCount, counts[m])
		}
	}
	j := &behaviourJudge{strength: map[string]float64{}}
	for _, m := range slices.Sorted(maps.Keys(sums)) {
		if 2*counts[m] < maxCount {
			continue // the mean of a model that is rarely a candidate is not comparable
		}
		j.strength[m] = sums[m] / float64(counts[m])
		if j.weak == "" || j.strength[m] < j.strength[j.weak] {
			j.weak = m
		}
	}
	return j
}

// passes reports whether the decisions satisfy the relation. A missing decision fails.
func (j *behaviourJudge) passes(item *Behaviour, decisions map[string]Judged) bool {
	got := map[string]Judged{}
	for role, id := range item.Requests {
		d, ok := decisions[id]
		if !ok {
			return false
		}
		if _, ok := d.Success[j.weak]; !ok {
			return false
		}
		got[role] = d
	}
	weak := func(role string) float64 {
		if d, ok := got[role]; ok {
			return d.Success[j.weak]
		}
		return math.NaN()
	}
	switch item.Relation {
	case "same":
		models := map[string]bool{}
		for _, d := range got {
			models[d.Model] = true
		}
		return len(models) == 1
	case "inherit":
		return math.Abs(weak("task")-weak("next")) <= inheritLimit
	case "easier":
		return weak("a") >= weak("b")+orderMargin
	case "harder":
		return weak("a") <= weak("b")-orderMargin
	case "housekeeping":
		d := got["a"]
		cost, ok := d.Cost[d.Model]
		return ok && cost <= cheapMultiple*slices.Min(slices.Collect(maps.Values(d.Cost)))+1e-12
	case "trouble":
		p0, p1, p3, p6 := weak("f0"), weak("f1"), weak("f3"), weak("f6")
		falls := p1 <= p0+riseLimit && p3 <= p1+riseLimit && p6 <= p3+riseLimit && p3 <= p0-troubleFall
		first, third := j.of(got["f0"].Model), j.of(got["f3"].Model)
		stronger := third > first || got["f0"].Model == j.strongest(got["f0"])
		return falls && stronger && j.of(got["f6"].Model) >= third-1e-9
	case "recovered":
		p0, p3, ok := weak("f0"), weak("f3"), weak("ok")
		back := ok >= p3+(p0-p3)/2-1e-9 && p3 < p0
		return back && (j.of(got["ok"].Model) < j.of(got["f3"].Model) || got["ok"].Model == got["f0"].Model)
	}
	return false
}

// of returns the strength of a model, or -1 if it is unknown.
func (j *behaviourJudge) of(model string) float64 {
	if s, ok := j.strength[model]; ok {
		return s
	}
	return -1
}

func (j *behaviourJudge) strongest(d Judged) string {
	best := ""
	for _, m := range slices.Sorted(maps.Keys(d.Success)) {
		if _, ok := j.strength[m]; ok && (best == "" || j.strength[m] > j.strength[best]) {
			best = m
		}
	}
	return best
}
