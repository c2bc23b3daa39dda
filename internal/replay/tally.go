package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// tally accumulates results. Its size depends on the number of models and policies, not on the number of requests.
type tally struct {
	oldest, newest time.Time
	considered     int64
	decided        int64
	limited        bool
	skipped        map[Reason]int64
	logged         *versus
	live           *versus
	policies       []PolicyFigures
	drafted, ruled RuleSet
}

func newTally(o *Options) *tally {
	t := &tally{skipped: map[Reason]int64{}, logged: newVersus(o.Largest), live: newVersus(o.Largest)}
	rules := o.Live
	if o.Draft != nil {
		rules = *o.Draft
	}
	t.ruled.Objective, t.drafted.Objective = o.Live.Objective, rules.Objective
	for _, part := range rules.Policies.Parts() {
		for _, p := range part.Policies() {
			if p.Active() {
				t.policies = append(t.policies, PolicyFigures{Name: p.Name, Source: part.Name()})
			}
		}
	}
	return t
}

func (t *tally) add(r *result) {
	t.considered++
	if t.newest.IsZero() || r.at.After(t.newest) {
		t.newest = r.at
	}
	if t.oldest.IsZero() || r.at.Before(t.oldest) {
		t.oldest = r.at
	}
	if r.skipped != "" {
		t.skipped[r.skipped]++
		return
	}
	t.decided++
	t.ruled.Versions, t.drafted.Versions = r.live.versions, r.draft.versions
	t.logged.add(r, &r.logged, &r.draft)
	t.live.add(r, &r.live, &r.draft)
	t.creditPolicies(&r.draft)
}

// creditPolicies counts the effects of policies. A policy of the instance and one of the workspace may have the same name. If both
// matched, the choice is credited to the first one, which is the policy of the instance.
func (t *tally) creditPolicies(c *choice) {
	credited := c.policy == ""
	for _, i := range c.matched {
		p := &t.policies[i]
		p.Matched++
		if credited || p.Name != c.policy {
			continue
		}
		credited = true
		if c.denied {
			p.Denied++
			continue
		}
		p.Decided++
		if c.alone != nil && c.cost != nil {
			p.Priced++
			p.Saved = p.Saved.Add(c.alone.Sub(*c.cost))
		}
	}
}

func (t *tally) report(o *Options) *Report {
	r := &Report{
		From: t.oldest, To: t.newest, Considered: t.considered, Decided: t.decided, Limited: t.limited,
		Skipped: []Skip{}, Draft: t.drafted, Live: t.ruled, Same: o.Draft == nil,
		Logged: t.logged.comparison(), Policies: t.policies,
	}
	if o.Draft != nil {
		r.InLive = new(t.live.comparison())
	}
	if r.Policies == nil {
		r.Policies = []PolicyFigures{}
	}
	for reason, n := range t.skipped {
		r.Skipped = append(r.Skipped, Skip{reason, reason.Words(), n})
	}
	slices.SortFunc(r.Skipped, func(a, b Skip) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Reason, b.Reason))
	})
	return r
}

// versus compares two sets of choices.
type versus struct {
	changed, moved, unchanged, accepted int64
	served                              int64 // number of requests that are served before and after the change
	rejected                            map[Rejection]int64
	flows                               map[Flow]*Flow // flows by From and To
	cost                                Costs
	before, after, change               mean
	byCost, byQuality                   largest
}

func newVersus(maximum int) *versus {
	return &versus{
		rejected: map[Rejection]int64{}, flows: map[Flow]*Flow{}, byCost: largest{maximum: maximum}, byQuality: largest{maximum: maximum},
	}
}

func (v *versus) add(r *result, from, to *choice) {
	switch {
	case from.target == to.target:
		v.unchanged++
	case to.target == "":
		v.rejected[Rejection{Code: to.code, Policy: to.policy}]++
	case from.target == "":
		v.accepted++
	case from.model == to.model:
		v.moved++
	default:
		v.changed++
	}
	v.flow(from, to)
	if from.target == "" || to.target == "" {
		return
	}
	v.served++
	if from.cost != nil && to.cost != nil {
		v.cost.Priced++
		v.cost.Before = v.cost.Before.Add(*from.cost)
		v.cost.After = v.cost.After.Add(*to.cost)
		if r.baseline != nil {
			sum := *r.baseline
			if v.cost.Baseline != nil {
				sum = sum.Add(*v.cost.Baseline)
			}
			v.cost.Based++
			v.cost.Baseline = &sum
		}
	}
	if from.quality != nil && to.quality != nil {
		v.before.add(*from.quality)
		v.after.add(*to.quality)
		v.change.add(*to.quality - *from.quality)
	}
	if from.target != to.target {
		v.note(r, from, to)
	}
}

// flow counts a request whose model changes.
func (v *versus) flow(from, to *choice) {
	if from.model == to.model {
		return
	}
	key := Flow{From: from.model, To: to.model}
	f := v.flows[key]
	if f == nil {
		f = &Flow{From: from.model, To: to.model}
		v.flows[key] = f
	}
	f.Requests++
	if from.cost != nil && to.cost != nil {
		f.Priced++
		f.Change = f.Change.Add(to.cost.Sub(*from.cost))
	}
}

// note records the change if it is one of the largest changes.
func (v *versus) note(r *result, from, to *choice) {
	c := Change{
		RequestID: r.id, Time: r.at, From: from.target, To: to.target, CostBefore: from.cost, CostAfter: to.cost,
		SuccessBefore: from.quality, SuccessAfter: to.quality, Policy: to.policy,
	}
	if from.cost != nil && to.cost != nil {
		v.byCost.add(to.cost.Sub(*from.cost).Dollars(), &c)
	}
	if from.quality != nil && to.quality != nil {
		v.byQuality.add(*to.quality-*from.quality, &c)
	}
}

func (v *versus) comparison() Comparison {
	c := Comparison{
		Changed: v.changed, Moved: v.moved, Unchanged: v.unchanged, Accepted: v.accepted, Rejected: []Rejection{},
		Routes: v.routes(), Cost: v.cost, ByCost: v.byCost.list(), ByQuality: v.byQuality.list(),
		Quality: Quality{Requests: v.change.n, Before: v.before.average, After: v.after.average, Change: v.change.average},
	}
	c.Cost.Change = c.Cost.After.Sub(c.Cost.Before)
	if v.served > 0 {
		c.Cost.Coverage = float64(c.Cost.Priced) / float64(v.served)
	}
	c.Quality.Low, c.Quality.High = v.change.interval()
	for rejection, n := range v.rejected {
		rejection.Requests = n
		c.Rejected = append(c.Rejected, rejection)
	}
	slices.SortFunc(c.Rejected, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Policy, b.Policy))
	})
	return c
}

// routes returns the most frequent flows, followed by the sum of all others.
func (v *versus) routes() []Flow {
	const maxFlows = 20
	list := make([]Flow, 0, len(v.flows))
	for f := range maps.Values(v.flows) {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	if len(list) <= maxFlows {
		return list
	}
	rest := Flow{From: Others, To: Others}
	for _, f := range list[maxFlows:] {
		rest.Requests += f.Requests
		rest.Priced += f.Priced
		rest.Change = rest.Change.Add(f.Change)
	}
	return append(list[:maxFlows], rest)
}
