package route

import (
	"math"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
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
	d.HeldOut = r.holdOut()
	d.QualityTarget = r.target
	d.Adjustments = r.adjustments()
	d.Candidates = r.results()
	d.Plan = make([]*provider.Target, len(r.ready))
	for i, cand := range r.ready {
		if d.Plan[i] = cand.target; cand.Effort != "" {
			d.Plan[i] = cand.effort.target // target with the effort chosen by the router
		}
	}
	if len(r.ready) > 1 {
		d.RunnerUp = r.ready[1].Target
		d.Margin = round(r.ready[0].Score - r.ready[1].Score)
	}
	d.Stay = r.keptTarget()
	d.Baseline = r.baseline()
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
	scored        bool
	providerOrder int // index of the provider in provider.order
	preference    int // index of the first matching policy preference
	excluded      *Exclusion
	estimates
}

// estimates holds the expected cost and latency of a candidate with a certain reasoning effort, and the resulting penalty.
type estimates struct {
	effort             *effortEntry // reasoning effort; nil for the model's default
	cost               money.Amount // expected cost of the request; valid if priced
	total              money.Amount // expected cost of the request, of reading the prompt again in later turns, and of discarded reasoning
	totalUncached      money.Amount // value of total without cached prompts
	delay              float64      // expected latency in doublings of minLatency
	penaltyWithoutCost float64      // penalty without the cost component
	penalty            float64
}

func (r *candidate) ready() bool { return r.excluded == nil }

func (r *candidate) priced() bool { return r.scored && r.target.Price != nil }

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
	candidates  []candidate
	success     []estimate // success probabilities by model, computed on first use
	bestByModel []float64  // smallest penalty of each model
	standings
}

// criteria holds the inputs of the ranking that are the same for all candidates.
type criteria struct {
	objective   Objective
	step        int              // escalation step of the conversation
	features    predict.Features // features after applying the escalation
	weights     weights
	target      QualityTarget
	reference   float64      // reference cost of the request, in dollars
	discards    money.Amount // cost of the reasoning that is lost if another target continues the tool loop
	outputPrior outputPrior
	session     Session // expected remainder of the conversation
	maxOutput   int64   // maximum output tokens set by caller and policies; 0 for no limit
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
		r = &ranking{snap: s, success: make([]estimate, len(s.models)), promptTokens: promptTokens{prompt: make([]int64, len(s.models))}, bestByModel: make([]float64, len(s.models))}
	}
	r.in, r.c, r.outputPrior = in, c, expectedOutput(in)
	r.session = expectedSession(in, r.outputPrior)
	return r
}

// recycle clears a ranking and returns it to the pool.
func (s *Snapshot) recycle(r *ranking) {
	clear(r.candidates)
	clear(r.hits)
	clear(r.reasons)
	clear(r.success)
	clear(r.prompt)
	r.in, r.c, r.rules, r.policyRules, r.target, r.tokenMeter, r.measured, r.features = nil, nil, nil, rules{}, QualityTarget{}, token.Meter{}, false, predict.Features{}
	r.candidates, r.ranked, r.ready, r.excluded, r.reasons = r.candidates[:0], r.ranked[:0], r.ready[:0], r.excluded[:0], r.reasons[:0]
	s.rankings.Put(r)
}

// rank filters, scores and sorts the candidates.
func (r *ranking) rank() {
	r.evaluate()
	r.sort(r.ranked)
	if len(r.ready) == len(r.ranked) {
		copy(r.ready, r.ranked)
	} else {
		r.sort(r.ready) // sorted separately, so that unavailable targets do not raise the rank of their model
	}
	r.restrictFallbacks()
}

// evaluate filters and scores the candidates. If no candidate remains, it drops optional needs of the request and tries again, unless the
// request sets require_parameters. The adapter of the chosen provider omits the fields of the dropped needs and adds a warning.
func (r *ranking) evaluate() {
	r.target, r.reference, r.discards = r.qualityTarget(), r.referenceCost(), r.discardedReasoningCost()
	const optional = llm.ParallelTools | llm.Logprobs | llm.WebSearch
	for i, without := range [...]llm.Abilities{0, optional, optional | llm.ManyChoices | llm.Reasoning} {
		if i > 0 && (len(r.ranked) > 0 || r.in.Needs&without == 0 || r.in.Controls.Provider.RequireParameters) {
			continue
		}
		r.evaluateFor(r.in.Needs &^ without)
	}
}

// evaluateFor filters and scores the candidates for the given needs.
func (r *ranking) evaluateFor(needs llm.Abilities) {
	for i := range r.candidates {
		r.candidates[i].excluded = nil
	}
	r.excluded, r.reasons = r.excluded[:0], r.reasons[:0]
	var x Exclusion
	for i := range r.candidates {
		cand := &r.candidates[i]
		if !r.admits(cand, needs, &x) {
			r.exclude(cand, x)
			r.excluded = append(r.excluded, cand)
			continue
		}
		r.ranked = append(r.ranked, cand)
		if temporarilyExcluded(cand, &x) {
			r.exclude(cand, x)
			continue
		}
		r.ready = append(r.ready, cand)
	}
}

// admits reports whether a target can serve the request and policies permit it. If so, it scores the target. Otherwise, it stores the
// reason in x. A target that is excluded only for its expected cost is scored, too.
func (r *ranking) admits(cand *candidate, needs llm.Abilities, x *Exclusion) bool {
	cand.prompt = r.promptFor(cand)
	if permanentlyExcluded(r.in, cand, needs, r.outputTokens(), x) {
		return false
	}
	cand.eligible = true
	if r.rules.forbid(cand, x) {
		return false
	}
	r.score(cand)
	if !r.rules.above(cand) {
		return true
	}
	if r.rules.costReason == "" {
		r.rules.costReason = "the expected cost is above max_cost_usd " + r.rules.MaxCost.Value.String()
	}
	x.set(Exclusion{Code: ExcludedByPolicy, format: "policy %s: %s", subject: r.rules.MaxCost.Policy, cause: r.rules.costReason})
	return false
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
		if !cand.ready() && (cand.excluded.Code == CircuitOpen || cand.excluded.Code == CredentialBackingOff) {
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
