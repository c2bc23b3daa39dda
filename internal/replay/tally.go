package replay

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// tally adds results up. Its size depends on how many models and policies there are, not on how many requests.
type tally struct {
	oldest, newest time.Time
	considered     int64
	decided        int64
	limited        bool
	skipped        map[Reason]int64
	logged         *versus
	live           *versus
	policies       []PolicyFigures
	drafted, ruled Rulebook
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
	t.credit(&r.draft)
}

// credit notes what the policies did. Of two with one name, the first is meant: it comes from the instance.
func (t *tally) credit(c *choice) {
	credited := c.policy == ""
	for _, i := range c.matched {
		p := &t.policies[i]
		p.Matched++
		if !credited && p.Name == c.policy {
			p.credit(c)
			credited = true
		}
	}
}

func (p *PolicyFigures) credit(c *choice) {
	if c.denied {
		p.Denied++
		return
	}
	p.Decided++
	if c.alone != nil && c.cost != nil {
		p.Priced++
		p.Saved = p.Saved.Add(c.alone.Sub(*c.cost))
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

// versus compares one way of choosing with another.
type versus struct {
	changed, moved, unchanged, accepted int64
	served                              int64 // on both sides
	refused                             map[Refusal]int64
	flows                               map[Flow]*Flow // by from and to
	cost                                Costs
	before, after, change               mean
	byCost, byQuality                   largest
}

func newVersus(most int) *versus {
	return &versus{
		refused: map[Refusal]int64{}, flows: map[Flow]*Flow{}, byCost: largest{most: most}, byQuality: largest{most: most},
	}
}

func (v *versus) add(r *result, from, to *choice) {
	switch {
	case from.target == to.target:
		v.unchanged++
	case to.target == "":
		v.refused[Refusal{Code: to.code, Policy: to.policy}]++
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
	v.price(r, from, to)
	if from.chance != nil && to.chance != nil {
		v.before.add(*from.chance)
		v.after.add(*to.chance)
		v.change.add(*to.chance - *from.chance)
	}
	if from.target != to.target {
		v.note(r, from, to)
	}
}

// flow counts where requests go that go to another model.
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

func (v *versus) price(r *result, from, to *choice) {
	if from.cost == nil || to.cost == nil {
		return
	}
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

// note keeps the change if it is one of the largest.
func (v *versus) note(r *result, from, to *choice) {
	c := Change{
		RequestID: r.id, Time: r.at, From: from.target, To: to.target, CostBefore: from.cost, CostAfter: to.cost,
		SuccessBefore: from.chance, SuccessAfter: to.chance, Policy: to.policy,
	}
	if from.cost != nil && to.cost != nil {
		v.byCost.add(to.cost.Sub(*from.cost).Dollars(), &c)
	}
	if from.chance != nil && to.chance != nil {
		v.byQuality.add(*to.chance-*from.chance, &c)
	}
}

func (v *versus) comparison() Comparison {
	c := Comparison{
		Changed: v.changed, Moved: v.moved, Unchanged: v.unchanged, Accepted: v.accepted, Refused: []Refusal{},
		Routes: v.routes(), Cost: v.cost, ByCost: v.byCost.list(), ByQuality: v.byQuality.list(),
		Quality: Quality{Requests: v.change.n, Before: v.before.average, After: v.after.average, Change: v.change.average},
	}
	c.Cost.Change = c.Cost.After.Sub(c.Cost.Before)
	if v.served > 0 {
		c.Cost.Coverage = float64(c.Cost.Priced) / float64(v.served)
	}
	c.Quality.Low, c.Quality.High = v.change.interval()
	for refusal, n := range v.refused {
		refusal.Requests = n
		c.Refused = append(c.Refused, refusal)
	}
	slices.SortFunc(c.Refused, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Policy, b.Policy))
	})
	return c
}

// mostFlows is how many flows are listed one by one.
const mostFlows = 20

// routes lists the flows, those beyond the most frequent as one.
func (v *versus) routes() []Flow {
	list := make([]Flow, 0, len(v.flows))
	for f := range maps.Values(v.flows) {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	if len(list) <= mostFlows {
		return list
	}
	rest := Flow{From: Others, To: Others}
	for _, f := range list[mostFlows:] {
		rest.Requests += f.Requests
		rest.Priced += f.Priced
		rest.Change = rest.Change.Add(f.Change)
	}
	return append(list[:mostFlows], rest)
}

// split takes provider/model apart; a model's name may have a stroke of its own.
func split(target string) (provider, model string) {
	provider, model, _ = strings.Cut(target, "/")
	return provider, model
}
