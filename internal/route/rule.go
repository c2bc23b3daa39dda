package route

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route/predict"
)

// The rule of auto. A target is worth its predicted quality minus its cost. Two guards keep small predicted differences from deciding over
// large sums, because predictions are less certain than prices.
const (
	// pointValue is the value of one point of quality in the middle of the dial, as a share of the reference cost of the request. It was
	// chosen by the end-to-end result over recorded outcomes.
	pointValue = 0.10
	// dearFactor and guardPoints are the guard in the middle of the dial: a target that costs more than dearFactor times another needs
	// guardPoints more, and more than the uncertainty of the difference.
	dearFactor  = 3
	guardPoints = 0.06
	// costPoints is how far below the best auto may go at any place on the dial, and failing is the quality below which a target is
	// predicted to fail.
	costPoints = 0.10
	certain    = 2 // number of standard deviations from which on a difference counts as certain
	failing    = 0.5
	// stayPoints is the gain for which a conversation changes its model.
	stayPoints = 0.05
)

// Defaults for targets without observations.
const (
	unseenLatency  = 1500 * time.Millisecond
	unseenTokensPS = 60.0
)

// Lower ends of the cost and latency scales.
const (
	minCost    = 1e-6 // in dollars
	minLatency = 0.1  // in seconds
)

// criterion is the way in which targets are compared.
type criterion uint8

const (
	byValue    criterion = iota // quality against cost
	byPrice                     // expected cost
	bySpeed                     // expected time to the last token
	cheapGood                   // the cheapest that is nearly as good as the best
	fastGood                    // the fastest of those that are nearly as good as the best and not dear
	byQuality                   // quality, then cost
	byProvider                  // the model is given: cost, and a little speed
)

// criterionOf returns how the targets of a request are compared.
func criterionOf(in *Input, o Objective) criterion {
	switch in.Controls.Provider.Sort {
	case "price":
		return byPrice
	case "latency", "throughput":
		return bySpeed
	}
	switch {
	case in.Op != llm.Chat && in.Op != llm.Complete, !in.Routed():
		return byProvider
	case o.Name == "speed":
		return fastGood
	case o.Tradeoff <= 0:
		return cheapGood
	case o.Tradeoff >= 1:
		return byQuality
	}
	return byValue
}

// option is a target with one of its reasoning efforts.
type option struct {
	cand      *candidate
	effort    *effortEntry // nil for the model's default
	quality   float64      // predicted probability of a good answer
	spread    float64      // standard deviation of quality
	strained  bool         // whether the effort is above the model's default; such options do not set the standard for others
	output    int64        // expected output tokens
	cost      money.Amount // expected cost of the request
	total     money.Amount // cost including the prompt that later turns read again
	uncached  money.Amount // value of total without cached prompts
	latency   time.Duration
	out       bool     // whether a policy rules the option out for its cost
	standing  standing // options of a better standing come first
	value     float64  // higher is better; comparable between options of one request
	valueIdle float64  // value without cached prompts
}

// assess computes quality, cost and latency of the options of the candidates that can serve the request.
func (r *ranking) assess() {
	for i := range r.candidates {
		cand := &r.candidates[i]
		if !cand.eligible {
			continue
		}
		efforts := r.efforts(cand)
		if len(efforts) == 0 {
			r.options = append(r.options, r.optionFor(cand, nil))
		}
		for j := range efforts {
			r.options = append(r.options, r.optionFor(cand, &efforts[j]))
		}
	}
}

// optionFor computes the option of a target with an effort.
func (r *ranking) optionFor(cand *candidate, effort *effortEntry) option {
	o := option{cand: cand, effort: effort}
	if r.in.Op == llm.Chat || r.in.Op == llm.Complete {
		level := ""
		if effort != nil {
			level = effort.level
		}
		ability := r.abilityOf(cand.model)
		o.strained = ability.Efforts[level] > 0
		e := predict.Success(&r.features, ability, level)
		o.quality, o.spread = round(e.Probability), round(e.Spread)
	}
	r.expect(&o)
	latency, rate := cand.Seen.Latency, cand.Seen.TokensPS
	if latency <= 0 {
		latency = unseenLatency
	}
	if rate <= 0 {
		rate = unseenTokensPS
	}
	o.latency = latency + time.Duration(float64(o.output)/rate*float64(time.Second))
	return o
}

// abilityOf returns the ability of a model, moved by what the workspace has learned.
func (r *ranking) abilityOf(model int) *predict.Ability {
	m := &r.snap.models[model]
	if r.c.Corrections == nil {
		return &m.ability
	}
	shift := r.c.Corrections.Shift(m.model.Name, r.features.Task)
	if shift == 0 {
		return &m.ability
	}
	moved := m.ability
	moved.Levels[r.features.Task.Index()] += shift
	return &moved
}

// judge computes the values of all options and decides which effort each candidate would run at. Options that policies or the budget rule
// out do not take part.
func (r *ranking) judge() {
	r.best, r.bestSpread = 0, 0
	for i := range r.options {
		if o := &r.options[i]; o.available() && !o.strained && o.quality > r.best {
			r.best, r.bestSpread = o.quality, o.spread
		}
	}
	for i := range r.options {
		o := &r.options[i]
		o.standing = r.standingOf(o)
		o.value, o.valueIdle = r.value(o, o.total), r.value(o, o.uncached)
	}
	for i := range r.options {
		o := &r.options[i]
		if have := o.cand.option; have == nil || o.compare(have) < 0 {
			o.cand.option = o
		}
	}
	for i := range r.candidates {
		if cand := &r.candidates[i]; cand.option != nil {
			cand.fill(r.in.Effort)
			cand.Score = r.score(cand.option)
		}
	}
}

// available reports whether the option could be chosen now.
func (o *option) available() bool { return o.cand.ready() && !o.out }

// standing is the outcome of the guards for an option.
type standing uint8

const (
	fair   standing = iota
	dear            // another option costs a fraction and is as good as the prediction can tell
	weak            // another option is much better, or the option is predicted to fail
	banned          // a policy rules the option out for its cost
)

// compare orders options, better ones first. Of weak options the better one comes first, whatever it costs.
func (o *option) compare(other *option) int {
	switch {
	case o.standing != other.standing:
		return int(o.standing) - int(other.standing)
	case o.standing == weak && o.quality != other.quality:
		return cmp.Compare(other.quality, o.quality)
	}
	return cmp.Compare(other.value, o.value)
}

// value returns the value of an option by the criterion.
func (r *ranking) value(o *option, total money.Amount) float64 {
	cost := total.Dollars() / r.reference
	switch r.criterion {
	case bySpeed, fastGood:
		return -o.latency.Seconds() - 1e-6*cost
	case byQuality:
		return math.Round(100*o.quality) - cost/(1+cost) // points, and less than one point for the cost
	case byProvider:
		return -math.Log2(max(total.Dollars(), 1e-12)) - 0.25*math.Log2(max(o.latency.Seconds(), minLatency))
	case byValue:
		return 100*pointValue*r.pointWeight()*o.quality - cost
	case byPrice, cheapGood:
	}
	return -cost
}

// pointWeight is the weight of quality at the place on the dial: 0 at the cheap end, 1 in the middle.
func (r *ranking) pointWeight() float64 {
	t := r.objective.Tradeoff
	return t / max(1-t, 1e-6)
}

// standingOf applies the guards to an option.
func (r *ranking) standingOf(o *option) standing {
	switch {
	case o.out:
		return banned
	case r.criterion != byValue && r.criterion != cheapGood && r.criterion != fastGood:
		return fair
	case r.tooWeak(o):
		return weak
	case r.criterion != cheapGood && r.tooDear(o):
		return dear
	}
	return fair
}

// tooDear reports whether another option costs a fraction and is as good as the prediction can tell.
func (r *ranking) tooDear(o *option) bool {
	points := 2 * guardPoints * (1 - r.objective.Tradeoff) // no guard at the best end of the dial, twice as strict at the cheap end
	for i := range r.options {
		other := &r.options[i]
		if other == o || !other.available() || o.total.Dollars() <= dearFactor*other.total.Dollars() || r.tooWeak(other) {
			continue
		}
		uncertain := math.Hypot(o.spread, other.spread)
		if other.cand.model == o.cand.model || r.criterion == fastGood {
			uncertain = 0 // efforts of one model share the uncertain ability
		}
		if gain := o.quality - other.quality; gain < points || gain < uncertain {
			return true
		}
	}
	return false
}

// tooWeak reports whether an option is clearly further below the best than auto may go, or predicted to fail although the best is not.
func (r *ranking) tooWeak(o *option) bool {
	gap := r.best - o.quality
	return o.quality < failing && r.best >= failing || gap > costPoints && gap > certain*math.Hypot(o.spread, r.bestSpread)
}

// score maps the order of the options to 0..1 for display: 1 for the best fair option, and less for each worse standing.
func (r *ranking) score(o *option) float64 {
	best := math.Inf(-1)
	for i := range r.options {
		if other := &r.options[i]; other.available() && other.standing == fair {
			best = max(best, other.value)
		}
	}
	behind := max(0, best-o.value)
	if o.standing == weak {
		behind = r.best - o.quality // weak options are ordered by quality
	}
	if math.IsInf(behind, 0) {
		behind = 0
	}
	return round(1 / (1 + max(0, behind)) / float64(1+o.standing))
}

// fill copies the values of the chosen option to the stored candidate.
func (c *candidate) fill(requestedEffort string) {
	o := c.option
	c.Quality, c.Spread, c.Output, c.cost = o.quality, o.spread, o.output, o.cost
	c.Latency = o.latency.Milliseconds()
	c.Speed = round(1 - position(o.latency.Seconds(), minLatency, latencySpan))
	if c.priced() {
		c.Cost = round(1 - position(c.cost.Dollars(), minCost, costSpan))
	}
	if c.Effort = ""; o.effort != nil && requestedEffort == "" {
		c.Effort = o.effort.level
	}
}

// Lengths of the scales, as the natural logarithm of the upper end divided by the lower end.
const (
	costSpan    = 6 * math.Ln10 // from minCost to 1 dollar
	latencySpan = 3 * math.Ln10 // from minLatency to 100 seconds
)

// position maps a positive number to 0..1 on a logarithmic scale.
func position(v, low, span float64) float64 {
	if v <= low {
		return 0
	}
	return min(1, math.Log(v/low)/span)
}

// referenceCost returns the cost in dollars to which the value of a point refers. Up to the middle of the dial it is the cost of the
// request at the cheapest target that is nearly as good as the best of the pool. Above, it approaches the cost of the best, because
// otherwise one cheap and good model would make every better model too expensive at any place on the dial.
func (r *ranking) referenceCost() float64 {
	low, high := r.costAt(r.snap.nearlyBest), r.costAt(r.snap.best)
	return low * math.Pow(high/low, max(0, 2*r.objective.Tradeoff-1))
}

// costAt returns the cost of the request in dollars at a target of the snapshot, without cached prompts.
func (r *ranking) costAt(entry int) float64 {
	if entry < 0 || r.criterion == byProvider {
		return minCost
	}
	e := &r.snap.entries[entry]
	cand := candidate{entry: e, target: e.target, model: e.model, price: &r.snap.pricesAt(r.in.At)[entry]}
	cand.prompt = r.promptFor(&cand)
	o := option{cand: &cand}
	r.expect(&o)
	return max(o.uncached.Dollars(), minCost)
}

// ParseObjective parses the objective of `auto`, `auto:cost` and similar names of routes; routed is whether the model name is one of them. A
// trade-off number takes precedence.
func ParseObjective(model string, routed bool, tradeoff string) (Objective, error) {
	o := Objective{Name: "auto", Tradeoff: 0.5}
	if base, name, _ := strings.Cut(model, ":"); routed && name != "" {
		named, known := NamedObjective(name)
		if !known {
			e := llm.Errorf(llm.InvalidRequest, "Model %q has an unknown objective. Use %s, %[2]s:cost, %[2]s:quality or %[2]s:speed.", model, base)
			e.Param = "model"
			return o, e
		}
		o = named
	}
	if tradeoff == "" {
		return o, nil
	}
	t, err := strconv.ParseFloat(tradeoff, 64)
	if err != nil || !(t >= 0 && t <= 1) {
		e := llm.Errorf(llm.InvalidRequest, "Header x-fairlead-tradeoff must be a number from 0 (cheapest) to 1 (best), not %q.", tradeoff)
		e.Param = "x-fairlead-tradeoff"
		return o, e
	}
	return Objective{Name: "number", Tradeoff: t}, nil
}

// NamedObjective returns the objective with the given name, such as cost.
func NamedObjective(name string) (Objective, bool) {
	switch name {
	case "cost":
		return Objective{Name: "cost", Tradeoff: 0}, true
	case "quality":
		return Objective{Name: "quality", Tradeoff: 1}, true
	case "speed":
		return Objective{Name: "speed", Tradeoff: 0.5}, true
	}
	return Objective{}, false
}
