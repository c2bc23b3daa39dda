package route

import (
	"math"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/provider"
)

// Decide plans one request. It returns a decision also with an error, so that the refusal can be explained.
func Decide(in Input, snap *Snapshot, c Circumstances) (*Decision, error) {
	d := &Decision{
		Kind:     Expected,
		Input:    in,
		Policies: []PolicyHit{},
		Versions: versions(in, snap, &c),
	}
	rules, err := govern(d, c.Policies)
	if err != nil {
		return d, err
	}
	r := snap.race(&d.Input, &c, rules)
	defer snap.over(r)
	if err := r.enter(); err != nil {
		return d, err
	}
	r.run()
	if len(r.ready) == 0 {
		d.Candidates = r.results()
		return d, r.refusal()
	}
	if !r.ranked[0].ready() {
		d.Kind = Fallback // the first choice is not to be had at the moment
	}
	if rules.shapes() {
		d.credit(r)
	}
	d.Explored = r.explore()
	d.Aim = r.aim
	d.Candidates = r.results()
	d.Plan = r.plan()
	if len(r.ready) > 1 {
		d.RunnerUp = r.ready[1].id
		d.Margin = round(r.ready[0].Score - r.ready[1].Score)
	}
	d.Stay = r.stay()
	d.Baseline = r.baseline()
	return d, nil
}

func versions(in Input, snap *Snapshot, c *Circumstances) Versions {
	return Versions{
		Router: Router, Catalog: snap.Catalog.Version(), Snapshot: snap.version, Predictor: in.Predictor,
		Policy: c.Policies.Version(), Feedback: c.Feedback,
	}
}

// credit runs the race without policies, and names the policy that made the choice another one.
func (d *Decision) credit(r *race) {
	alone := r.snap.race(r.in, r.c, &noRules)
	defer r.snap.over(alone)
	if alone.enter() != nil {
		return
	}
	copy(alone.chance, r.chance) // no policy changes what a model can do, nor how it reads
	copy(alone.prompt, r.prompt)
	alone.judge()
	d.Aside = r.aside(alone)
	if len(alone.ready) == 0 {
		return
	}
	first := alone.first(alone.ready)
	if first.id == r.ready[0].id {
		return
	}
	if d.Policy = r.rules.reason(first); d.Policy != "" {
		d.Kind, d.Alone = Policy, first.id
	}
}

// runner is a target in the race: what is known of it, and how it does.
type runner struct {
	Candidate
	target  *provider.Target
	id      string
	model   int   // its model's place in the snapshot
	prompt  int64 // tokens that the prompt has for this model
	card    *catalog.Price
	place   int  // 0 for the model asked for, then the fallbacks in the order given
	named   bool // the caller or a policy named this model: their word counts for more than our table of abilities
	wish    int  // the place of its provider in the caller's order
	liked   int  // the first preference of policies that it meets
	penalty float64
	cold    float64      // penalty if nothing of the prompt were in anybody's cache
	total   money.Amount // now and in turns to come
	totalIf money.Amount // the same if nothing were in a cache
}

func (r *runner) ready() bool { return r.Excluded == nil }

// entrant is what the checks look at.
type entrant = runner

// race ranks the targets of one request. Its lists are used again for the next one; what a decision keeps is not in them.
type race struct {
	in        *Input
	snap      *Snapshot
	c         *Circumstances
	rules     *rules
	objective Objective
	weights   weights
	aim       Aim

	field  []runner
	chance []estimate // by model; computed on first use
	prompt []int64    // tokens, by model; computed on first use
	best   []float64  // by model; see bestOfModels
	ranked []*runner  // in order, those that cannot serve just now too
	ready  []*runner  // of ranked: those that can
	out    []*runner

	reason []Exclusion // room for as many as there are runners; the candidates point into it
	amount []money.Amount
}

// race begins one.
func (s *Snapshot) race(in *Input, c *Circumstances, rules *rules) *race {
	r, ok := s.races.Get().(*race)
	if !ok {
		r = &race{snap: s, chance: make([]estimate, len(s.models)), prompt: make([]int64, len(s.models)), best: make([]float64, len(s.models))}
	}
	r.in, r.c, r.rules, r.objective = in, c, rules, rules.objective(in.Objective)
	r.weights = weigh(in, r.objective)
	return r
}

// over lets the next race have the lists of this one.
func (s *Snapshot) over(r *race) {
	clear(r.field) // so that it holds on to nothing
	clear(r.chance)
	clear(r.prompt)
	r.in, r.c, r.rules, r.reason, r.amount, r.aim = nil, nil, nil, nil, nil, Aim{}
	r.field, r.ranked, r.ready, r.out = r.field[:0], r.ranked[:0], r.ready[:0], r.out[:0]
	s.races.Put(r)
}

// run checks, scores and sorts the field.
func (r *race) run() {
	r.judge()
	r.sort(r.ranked)
	if len(r.ready) == len(r.ranked) {
		copy(r.ready, r.ranked)
	} else {
		r.sort(r.ready) // by themselves: who is not to be had lends its model no rank
	}
	r.bound()
}

// judge checks and scores the field.
func (r *race) judge() {
	n := len(r.field)
	r.reason, r.amount = make([]Exclusion, 0, n), make([]money.Amount, n)
	r.aim = r.aimFor()
	for i := range r.field {
		one := &r.field[i]
		one.prompt = r.promptFor(one)
		if x := r.barred(one); x.Code != "" {
			r.exclude(one, x)
			r.out = append(r.out, one)
			continue
		}
		one.Seen = r.c.state(one.id)
		r.score(one, &r.amount[i])
		if x := r.rules.tooDear(one); x.Code != "" {
			r.exclude(one, x)
			r.out = append(r.out, one)
			continue
		}
		r.ranked = append(r.ranked, one)
		if x := unready(one.target, one.Seen); x.Code != "" {
			r.exclude(one, x)
			continue
		}
		r.ready = append(r.ready, one)
	}
}

// barred returns why the target can never serve the request.
func (r *race) barred(one *runner) Exclusion {
	if x := exclude(r.in, one); x.Code != "" {
		return x
	}
	return r.rules.forbid(one)
}

func (r *race) exclude(one *runner, x Exclusion) {
	r.reason = append(r.reason, x)
	one.Excluded = &r.reason[len(r.reason)-1]
}

// results are the candidates as the decision shows them: the plan in order, then what is excluded.
func (r *race) results() []Candidate {
	all := make([]Candidate, 0, len(r.field))
	for i, one := range r.ready {
		one.Rank = i + 1
		all = append(all, one.Candidate)
	}
	for _, one := range r.out {
		all = append(all, one.Candidate)
	}
	for _, one := range r.ranked {
		if !one.ready() && (one.Excluded.Code == CircuitOpen || one.Excluded.Code == Resting) {
			all = append(all, one.Candidate)
		}
	}
	return all
}

func (r *race) plan() []*provider.Target {
	plan := make([]*provider.Target, len(r.ready))
	for i, one := range r.ready {
		plan[i] = one.target
	}
	return plan
}

// bound leaves out what may not follow the first choice.
func (r *race) bound() {
	if len(r.ready) == 0 {
		return
	}
	first := r.ready[0]
	keep := r.ready[:0]
	for i, one := range r.ready {
		switch {
		case r.in.Op == llm.Embed && one.Model != first.Model: // vectors of different models do not mix
			r.exclude(one, Exclusion{Code: NotPinned, words: "vectors of %s do not mix with another model's", who: first.Model})
		case r.in.Controls.Provider.NoFallbacks && i > 0:
			r.exclude(one, Exclusion{Code: NotRequested, words: "the request allows no fallbacks"})
		default:
			keep = append(keep, one)
			continue
		}
		r.out = append(r.out, one)
	}
	r.ready = keep
}

func round(f float64) float64 { return math.Round(f*1e6) / 1e6 }
