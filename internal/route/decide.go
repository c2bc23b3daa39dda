package route

import (
	"math"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/token"
)

// Decide plans one request. The decision holds a copy of the input. If no target can serve the request, Decide returns an error and
// the decision that explains it.
func Decide(in *Input, snap *Snapshot, c Conditions) (*Decision, error) {
	d := &Decision{
		Kind:     Expected,
		Input:    *in,
		Policies: []PolicyHit{},
		Versions: Versions{
			Router: Router, Catalog: snap.Catalog.Version(), Snapshot: snap.version, Predictor: in.Predictor,
			Policy: c.Policies.Version(), Feedback: c.Feedback,
		},
	}
	r := snap.newRanking(&d.Input, &c)
	defer snap.recycle(r)
	if err := r.applyPolicies(d, c.Policies); err != nil {
		return d, err
	}
	if err := r.collect(); err != nil {
		return d, err
	}
	r.rank()
	if len(r.ready) == 0 {
		d.Candidates = r.results()
		return d, r.rejection()
	}
	first := r.ranked
	for first[0].Seen.Denied && !first[0].ready() {
		first = first[1:] // the account does not offer the model
	}
	if !first[0].ready() {
		d.Kind = Fallback // the first choice is temporarily unavailable
	}
	if r.rules.restrict() && r.policiesChangedRanking() {
		d.attributeToPolicy(r)
	}
	d.Stay = r.stay()
	r.moveShare()
	d.HeldOut = r.holdOut()
	d.Adjustments = r.adjustments()
	d.Candidates = r.results()
	d.Plan = make([]*provider.Target, len(r.ready))
	for i, cand := range r.ready {
		if d.Plan[i] = cand.target; cand.Effort != "" {
			d.Plan[i] = cand.option.effort.target // target with the effort chosen by the router
		}
	}
	d.Baseline = r.baseline()
	d.Because = r.because(d)
	return d, nil
}

// candidate is a target that is considered for a request.
type candidate struct {
	Candidate     // candidate as stored in the decision, without Price and Excluded
	entry         *targetEntry
	target        *provider.Target
	model         int   // index of the model in the snapshot
	prompt        int64 // number of prompt tokens for the model
	price         *currentPrice
	fallbackOrder int  // position in the order of models: 0 for the requested model or any choice of auto, followed by the fallbacks
	named         bool // whether the caller or a policy named the model
	trusted       bool // whether the request or a pin names the model, not as a choice for auto; the catalog's limits are then less strict
	eligible      bool // whether the target can serve the request, regardless of policies
	providerOrder int  // index of the provider in provider.order
	preference    int  // index of the first matching policy preference
	excluded      *Exclusion
	option        *option      // effort that the target would run at; nil before the options are judged
	cost          money.Amount // expected cost of the option; valid if priced
}

func (c *candidate) ready() bool { return c.excluded == nil }

func (c *candidate) priced() bool { return c.option != nil && c.target.Price != nil }

// ranking holds the working state of one decision. Rankings are pooled, and decisions keep no references to them.
type ranking struct {
	in          *Input
	snap        *Snapshot
	c           *Conditions
	rules       *rules
	policyRules rules // storage for rules set by policies
	hits        []policy.Hit
	criteria
	promptTokens
	candidates []candidate
	options    []option
	bestOf     []*option // best option of each model, while sorting
	standings
}

// criteria holds the inputs of the ranking that are the same for all candidates.
type criteria struct {
	objective Objective
	criterion criterion
	step      int              // escalation step of the conversation
	features  predict.Features // features after applying the escalation
	reference reference        // cost and time to which the values of options refer
	session   Session          // expected remainder of the conversation
	maxOutput int64            // maximum output tokens set by caller and policies; 0 for no limit
}

// promptTokens caches the number of prompt tokens for each model, counted on first use.
type promptTokens struct {
	tokenMeter token.Meter
	measured   bool    // whether tokenMeter is set
	prompt     []int64 // number of prompt tokens by model
}

// standings holds the candidates after filtering. See ranking.sort for the order of ranked and ready.
type standings struct {
	ranked   []*candidate // sorted candidates, including temporarily unavailable candidates
	ready    []*candidate // available candidates of ranked
	excluded []*candidate
	reasons  []Exclusion // storage for the values of candidate.excluded
}

// newRanking returns an empty ranking for a request, from the pool if possible.
func (s *Snapshot) newRanking(in *Input, c *Conditions) *ranking {
	r, ok := s.rankings.Get().(*ranking)
	if !ok {
		r = &ranking{snap: s, promptTokens: promptTokens{prompt: make([]int64, len(s.models))}, bestOf: make([]*option, len(s.models))}
	}
	r.in, r.c = in, c
	return r
}

// recycle clears a ranking and returns it to the pool.
func (s *Snapshot) recycle(r *ranking) {
	clear(r.candidates)
	clear(r.options)
	clear(r.hits)
	clear(r.reasons)
	clear(r.prompt)
	r.in, r.c, r.rules, r.policyRules, r.criteria, r.tokenMeter, r.measured = nil, nil, nil, rules{}, criteria{}, token.Meter{}, false
	r.candidates, r.options, r.ranked, r.ready, r.excluded, r.reasons = r.candidates[:0], r.options[:0], r.ranked[:0], r.ready[:0], r.excluded[:0], r.reasons[:0]
	s.rankings.Put(r)
}

// rank filters, values and sorts the candidates.
func (r *ranking) rank() {
	r.reference = r.newReference()
	r.evaluate()
	r.sort(r.ranked)
	if len(r.ready) == len(r.ranked) {
		copy(r.ready, r.ranked)
	} else {
		r.sort(r.ready) // sorted separately, so that unavailable targets do not raise the rank of their model
	}
	r.restrictFallbacks()
}

// evaluate filters and values the candidates. If too few models of the pool can serve the request, able models outside the pool join. If no
// candidate remains, it drops optional needs of the request and tries again, unless the request sets require_parameters. The adapter of the
// chosen provider omits the fields of the dropped needs and adds a warning.
func (r *ranking) evaluate() {
	const optional = llm.ParallelTools | llm.Logprobs | llm.WebSearch
	for i, without := range [...]llm.Abilities{0, optional, optional | llm.ManyChoices | llm.Reasoning} {
		if i > 0 && (len(r.ranked) > 0 || r.in.Needs&without == 0 || r.in.Controls.Provider.RequireParameters) {
			continue
		}
		needs := r.in.Needs &^ without
		r.evaluateFor(needs)
		if r.join(needs) {
			r.evaluateFor(needs)
		}
	}
}

// evaluateFor filters and values the candidates for the given needs.
func (r *ranking) evaluateFor(needs llm.Abilities) {
	r.excluded, r.reasons, r.ranked, r.ready, r.options = r.excluded[:0], r.reasons[:0], r.ranked[:0], r.ready[:0], r.options[:0]
	var x Exclusion
	for i := range r.candidates {
		cand := &r.candidates[i]
		cand.excluded, cand.option = nil, nil
		cand.prompt = r.promptFor(cand)
		if r.c.State != nil {
			cand.Seen = r.c.State(cand.Target)
		}
		if r.c.CacheHit != nil {
			cand.Cache = r.c.CacheHit(cand.target, cand.prompt, !r.policyRules.CacheMarks.IsSet())
		}
		if cand.eligible = !permanentlyExcluded(r.in, cand, needs, r.outputTokens(), &x); !cand.eligible {
			r.exclude(cand, x)
		}
	}
	r.assess()
	for i := range r.candidates {
		cand := &r.candidates[i]
		switch {
		case !cand.eligible:
		case r.rules.forbid(cand, &x), r.rules.aboveLimit(r, cand, &x):
			r.exclude(cand, x)
		case temporarilyExcluded(cand, &x):
			r.exclude(cand, x)
			r.ranked = append(r.ranked, cand)
			continue
		default:
			r.ranked = append(r.ranked, cand)
			r.ready = append(r.ready, cand)
			continue
		}
		r.excluded = append(r.excluded, cand)
	}
	if len(r.ready) == 0 {
		r.readmitWithoutQuota()
	}
	r.leaveOverBudget()
	r.judge()
}

// readmitWithoutQuota makes targets without quota available again, because no other target is. A prediction must not reject a request that
// the provider may accept.
func (r *ranking) readmitWithoutQuota() {
	for _, cand := range r.ranked {
		if cand.excluded != nil && cand.excluded.Code == QuotaExhausted {
			cand.excluded = nil
			r.ready = append(r.ready, cand)
		}
	}
}

// outputTokens returns the number of tokens that the context window must have left for the output.
func (r *ranking) outputTokens() int64 { return min(r.in.MaxOutput, r.maxOutput) }

func (r *ranking) exclude(cand *candidate, x Exclusion) {
	r.reasons = append(r.reasons, x)
	cand.excluded = &r.reasons[len(r.reasons)-1] // valid even after the slice grows, because reasons are never modified
}

// results returns the candidates of the decision: the plan in order, followed by the excluded targets.
func (r *ranking) results() []Candidate {
	n := len(r.candidates)
	list := &listing{make([]Candidate, 0, n), make([]money.Amount, 0, n), make([]Exclusion, 0, len(r.reasons))}
	for i, cand := range r.ready {
		cand.Rank = i + 1
		list.add(cand)
	}
	for _, cand := range r.excluded {
		list.add(cand)
	}
	for _, cand := range r.ranked {
		if !cand.ready() && cand.excluded.Code.Temporary() {
			list.add(cand)
		}
	}
	return list.candidates
}

// listing copies candidates from the pooled ranking with three allocations.
type listing struct {
	candidates []Candidate
	prices     []money.Amount
	reasons    []Exclusion
}

func (l *listing) add(cand *candidate) {
	l.candidates = append(l.candidates, cand.Candidate)
	c := &l.candidates[len(l.candidates)-1]
	if cand.priced() {
		l.prices = append(l.prices, cand.cost)
		c.Price = &l.prices[len(l.prices)-1]
	}
	if cand.excluded != nil {
		l.reasons = append(l.reasons, *cand.excluded)
		c.Excluded = &l.reasons[len(l.reasons)-1]
	}
}

// restrictFallbacks excludes targets that must not serve as fallbacks for the first choice.
func (r *ranking) restrictFallbacks() {
	if len(r.ready) == 0 {
		return
	}
	first := r.ready[0]
	keep := r.ready[:0]
	for i, cand := range r.ready {
		switch {
		case r.in.Op == llm.Embed && cand.Model != first.Model: // vectors from different models are not comparable
			r.exclude(cand, Exclusion{Code: NotPinned, format: "its vectors are not comparable with those of %s", subject: first.Model})
		case r.in.Controls.Provider.NoFallbacks && i > 0:
			r.exclude(cand, Exclusion{Code: NotRequested, format: "the request allows no fallbacks"})
		default:
			keep = append(keep, cand)
			continue
		}
		r.excluded = append(r.excluded, cand)
	}
	r.ready = keep
}

// round rounds a finite number to six decimal places, half away from zero. It avoids the unpredictable branches of
// math.Round.
func round(f float64) float64 {
	f *= 1e6
	whole := math.Trunc(f)
	return (whole + math.Trunc(2*(f-whole))) / 1e6
}
