package route

import "cmp"

// Sighting is what was seen of a target that policies kept out of the field. The router's choice without policies depends
// on it, and so does computing a decision again.
type Sighting struct {
	Target string   `json:"target"`
	Seen   State    `json:"seen,omitzero"`
	Warm   CacheHit `json:"warm,omitzero"`
}

// swayed reports whether policies did anything to the race. Where they did not, it is the race without them: policies that
// match and keep nobody out are the usual case.
func (r *race) swayed() bool {
	if r.rules.pin() != "" || len(r.rules.Prefer) > 0 || r.most != r.in.MaxOutput || r.weights != weigh(r.in, r.in.Objective) {
		return true
	}
	for i := range r.why {
		if r.why[i].Code == ExcludedByPolicy {
			return true
		}
	}
	return false
}

// credit runs the race without policies, and names the policy that made the choice another one.
func (d *Decision) credit(r *race) {
	alone := r.snap.race(r.in, r.c)
	defer r.snap.over(alone)
	alone.follow(&noRules)
	copy(alone.chance, r.chance) // no policy changes what a model can do, nor how it reads
	copy(alone.prompt, r.prompt)
	if alone.repeat(r) {
		d.Aside = r.aside(alone)
	}
	if len(alone.ready) == 0 { // only a pin or a bound on the answer lets a request in that has nowhere to go
		d.Policy = cmp.Or(r.rules.Pin.Policy, r.rules.MaxOutput.Policy)
	} else if first := alone.first(alone.ready); first.Target != r.ready[0].Target {
		d.Policy, d.Alone = r.rules.reason(first), first.Target
	}
	if d.Policy != "" && d.Kind != Fallback { // where both apply, the failure is told first
		d.Kind = Policy
	}
}

// repeat judges the field that there is without policies. It reports false where there is none.
func (r *race) repeat(governed *race) bool {
	if governed.rules.pin() != "" || governed.most != r.most { // policies named the field, or made answers shorter
		if r.enter() != nil {
			return false
		}
		r.judge()
		return true
	}
	r.aim = r.aimFor()
	same := r.weights == governed.weights && r.aim == governed.aim
	r.field = append(r.field, governed.field...)
	var x Exclusion
	for i := range r.field {
		one := &r.field[i]
		if !one.able {
			continue
		}
		one.liked = 0
		switch {
		case !one.scored:
			r.score(one)
		case !same:
			r.rate(one)
		}
		if !unready(one, &x) {
			r.ready = append(r.ready, one)
		}
	}
	return true
}

// aside lists what the race without policies saw that the candidates of the race with them do not tell.
func (r *race) aside(alone *race) []Sighting {
	var list []Sighting
	for i := range alone.field {
		one := &alone.field[i]
		if (one.Seen == State{} && one.Cache == CacheHit{}) || r.saw(one, i) {
			continue
		}
		list = append(list, Sighting{Target: one.Target, Seen: one.Seen, Warm: one.Cache})
	}
	return list
}

// saw reports whether this race saw the same of the target, which is likely to have the same place in both.
func (r *race) saw(other *runner, place int) bool {
	if place < len(r.field) && r.field[place].target == other.target {
		return r.field[place].sees(other)
	}
	for i := range r.field {
		if one := &r.field[i]; one.target == other.target {
			return one.sees(other)
		}
	}
	return false
}

func (r *runner) sees(other *runner) bool { return r.Seen == other.Seen && r.Cache == other.Cache }
