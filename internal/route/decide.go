package route

import (
	"math"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/policy"
	"fairlead/internal/provider"
	"fairlead/internal/token"
)

// Decide plans one request, of which the decision has a copy. It returns a decision also with an error, so that the refusal can be explained.
func Decide(in *Input, snap *Snapshot, c Conditions) (*Decision, error) {
	d := &Decision{
		Kind:     Expected,
		Input:    *in,
		Policies: []PolicyHit{},
		Versions: versions(in, snap, &c),
	}
	r := snap.race(&d.Input, &c)
	defer snap.over(r)
	if err := r.govern(d, c.Policies); err != nil {
		return d, err
	}
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
	if r.rules.shapes() && r.swayed() {
		d.credit(r)
	}
	d.Explored = r.explore()
	d.QualityTarget = r.aim
	d.Candidates = r.results()
	d.Plan = r.plan()
	if len(r.ready) > 1 {
		d.RunnerUp = r.ready[1].Target
		d.Margin = round(r.ready[0].Score - r.ready[1].Score)
	}
	d.Stay = r.stay()
	d.Baseline = r.baseline()
	return d, nil
}

func versions(in *Input, snap *Snapshot, c *Conditions) Versions {
	return Versions{
		Router: Router, Catalog: snap.Catalog.Version(), Snapshot: snap.version, Predictor: in.Predictor,
		Policy: c.Policies.Version(), Feedback: c.Feedback,
	}
}

// runner is a target in the race: what is known of it, and how it does.
type runner struct {
	Candidate // as the decision shows it; without the price and the reason, which it points at
	seat      *seat
	target    *provider.Target
	model     int   // its model's place in the snapshot
	prompt    int64 // tokens that the prompt has for this model
	card      *card
	place     int  // 0 for the model asked for, then the fallbacks in the order given
	named     bool // the caller or a policy named this model
	trusted   bool // and left no choice: their word counts for more than our table of abilities
	able      bool // nothing but policies keeps it from serving the request
	scored    bool
	wish      int // the place of its provider in the caller's order
	liked     int // the first preference of policies that it meets
	why       *Exclusion

	cost    money.Amount // now; only where it has a price
	total   money.Amount // now and in turns to come
	totalIf money.Amount // the same if nothing were in a cache
	delay   float64      // in doublings, as it enters the penalty
	rest    float64      // of the penalty, but for the cost
	penalty float64
}

func (r *runner) ready() bool { return r.why == nil }

func (r *runner) priced() bool { return r.scored && r.target.Price != nil }

// entrant is what the checks look at.
type entrant = runner

// race ranks the targets of one request. Its lists are used again for the next one; what a decision keeps is not in them.
type race struct {
	in        *Input
	snap      *Snapshot
	c         *Conditions
	rules     *rules
	own       rules // that policies made for this race
	hits      []policy.Hit
	objective Objective
	weights   weights
	aim       QualityTarget
	usual     answer
	most      int64       // tokens that the answer may have by caller and policies; 0 for no bound
	meter     token.Meter // of the prompt
	measured  bool        // the meter has read it

	field  []runner
	chance []estimate // by model; computed on first use
	prompt []int64    // tokens, by model; computed on first use
	best   []float64  // by model; see bestOfModels
	ranked []*runner  // in order, those that cannot serve just now too
	ready  []*runner  // of ranked: those that can
	out    []*runner
	why    []Exclusion // that runners point into
}

// race begins one.
func (s *Snapshot) race(in *Input, c *Conditions) *race {
	r, ok := s.races.Get().(*race)
	if !ok {
		r = &race{snap: s, chance: make([]estimate, len(s.models)), prompt: make([]int64, len(s.models)), best: make([]float64, len(s.models))}
	}
	r.in, r.c, r.usual = in, c, answers[in.Features.Task]
	return r
}

// over lets the next race have the lists of this one.
func (s *Snapshot) over(r *race) {
	clear(r.field) // so that it holds on to nothing
	clear(r.hits)
	clear(r.why)
	clear(r.chance)
	clear(r.prompt)
	r.in, r.c, r.rules, r.own, r.aim, r.meter, r.measured = nil, nil, nil, rules{}, QualityTarget{}, token.Meter{}, false
	r.field, r.ranked, r.ready, r.out, r.why = r.field[:0], r.ranked[:0], r.ready[:0], r.out[:0], r.why[:0]
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
	r.aim = r.aimFor()
	for i, without := range relaxations {
		if i > 0 && (len(r.ranked) > 0 || r.in.Needs&without == 0 || r.in.Controls.Provider.RequireParameters) {
			continue
		}
		r.judgeFor(r.in.Needs &^ without)
	}
}

// judgeFor checks and scores the field for a request with these needs.
func (r *race) judgeFor(needs llm.Abilities) {
	for i := range r.field {
		r.field[i].why = nil
	}
	r.out, r.why = r.out[:0], r.why[:0]
	var x Exclusion
	for i := range r.field {
		one := &r.field[i]
		if !r.admits(one, needs, &x) {
			r.exclude(one, x)
			r.out = append(r.out, one)
			continue
		}
		r.ranked = append(r.ranked, one)
		if unready(one, &x) {
			r.exclude(one, x)
			continue
		}
		r.ready = append(r.ready, one)
	}
}

// admits reports whether the target could ever serve the request, and scores it. It writes the reason where it could not.
func (r *race) admits(one *runner, needs llm.Abilities, x *Exclusion) bool {
	one.prompt = r.promptFor(one)
	if exclude(r.in, one, needs, r.room(), x) {
		return false
	}
	one.able = true
	if r.rules.forbid(one, x) {
		return false
	}
	r.score(one)
	return !r.rules.tooDear(one, x)
}

// room is what a window must have left for the answer: what the caller asks for, as far as policies let it.
func (r *race) room() int64 { return min(r.in.MaxOutput, r.most) }

func (r *race) exclude(one *runner, x Exclusion) {
	r.why = append(r.why, x)
	one.why = &r.why[len(r.why)-1] // stays good when the list moves: nobody changes a reason
}

// results are the candidates as the decision shows them: the plan in order, then what is excluded.
func (r *race) results() []Candidate {
	list := newListing(len(r.field), len(r.why))
	for i, one := range r.ready {
		one.Rank = i + 1
		list.add(one)
	}
	for _, one := range r.out {
		list.add(one)
	}
	for _, one := range r.ranked {
		if !one.ready() && (one.why.Code == CircuitOpen || one.why.Code == CredentialBackingOff) {
			list.add(one)
		}
	}
	return list.candidates
}

// listing collects candidates in memory that outlives the race: three pieces, however many there are.
type listing struct {
	candidates []Candidate
	prices     []money.Amount
	reasons    []Exclusion
}

func newListing(candidates, reasons int) *listing {
	return &listing{make([]Candidate, 0, candidates), make([]money.Amount, 0, candidates), make([]Exclusion, 0, reasons)}
}

func (l *listing) add(one *runner) {
	l.candidates = append(l.candidates, one.Candidate)
	c := &l.candidates[len(l.candidates)-1]
	if one.priced() {
		l.prices = append(l.prices, one.cost)
		c.Price = &l.prices[len(l.prices)-1]
	}
	if one.why != nil {
		l.reasons = append(l.reasons, *one.why)
		c.Excluded = &l.reasons[len(l.reasons)-1]
	}
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

// round keeps six digits behind the point of a finite number. It is math.Round without its branches, which cannot be
// foretold: a half and more of what Trunc leaves over counts one.
func round(f float64) float64 {
	f *= 1e6
	whole := math.Trunc(f)
	return (whole + math.Trunc(2*(f-whole))) / 1e6
}
