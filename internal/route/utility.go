package route

import (
	"math"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
)

// Defaults for targets without observations.
const (
	unseenLatency  = 1500 * time.Millisecond
	unseenTokensPS = 60.0
)

// Lower ends of the cost and latency scales.
const (
	minCost    = 1e-6 // lower end of the cost scale in dollars
	minLatency = 0.1  // lower end of the latency scale in seconds
)

// minAmount is the smallest amount that can be billed, in dollars.
const minAmount = 1e-9

// weights holds the weights of the penalty components.
type weights struct {
	cost         float64 // penalty per reference cost if relative, otherwise per doubling of the price
	quality      float64 // penalty per percentage point below the quality target
	speed        float64 // penalty per doubling of the time to the last token
	qualityShare float64 // quality target as a share of the best model's success probability
	relative     bool    // whether costs are compared with the reference cost of the request
	fine         bool    // whether the cost scale is logarithmic below minCost, too
}

// pointValue is the value of one percentage point of success at a trade-off of 0.5, as a multiple of the reference cost of the request. It
// was chosen to minimise the end-to-end regret over recorded outcomes.
const pointValue = 0.20

// weigh converts an objective to weights. At a trade-off t, one percentage point of success is worth pointValue·t/(1-t) of the reference
// cost of the request. Dollars are weighted linearly, because a mixture of two models costs the mean of both costs: on any other scale,
// auto would choose models that a mixture outperforms.
func weigh(in *Input, o Objective) weights {
	switch in.Controls.Provider.Sort {
	case "price":
		return weights{cost: 1}
	case "latency", "throughput":
		return weights{speed: 1}
	}
	if in.Op == llm.Embed || in.Op == llm.Moderate || in.Op.Media() || !IsAuto(in.Model) {
		return weights{cost: 1, speed: 0.25, fine: true} // the model is fixed, so only providers differ
	}
	if o.Name == "speed" {
		return weights{cost: 0.1, quality: 0.2, speed: 1, qualityShare: 0.8}
	}
	const maxWeight = 1e6 // weight at which only quality counts
	t := o.Tradeoff
	return weights{cost: 1, quality: min(maxWeight, pointValue*t/max(1-t, 1e-9)), speed: 0.02, qualityShare: 1, relative: true}
}

// qualityTarget returns the quality target. It considers all configured models, so that excluding a model for this request does not change
// the choice among the other models.
func (r *ranking) qualityTarget() QualityTarget {
	if r.weights.quality == 0 {
		return QualityTarget{}
	}
	// Up to the default trade-off, the quality of the best model is predicted at its default effort, so that the quality target does not
	// require a higher effort.
	effortShare := max(0, 2*r.objective.Tradeoff-1)
	if r.in.Effort != "" {
		effortShare = 0
	}
	best := 0.0
	for i := range r.snap.models {
		if m := &r.snap.models[i]; m.comparable() {
			best = max(best, r.successOf(i).Shift(m.maxEffort*effortShare).Probability)
		}
	}
	return QualityTarget{Best: round(best), Target: round(best * r.weights.qualityShare)}
}

// referenceCost returns the cost in dollars to which weights.cost refers. Up to the default trade-off, it is the cost of the request at the
// cheapest target that is nearly as good as the best target. Above the default trade-off, it approaches the cost at the best target,
// because otherwise a single cheap and good model would make every better model too expensive at any trade-off.
func (r *ranking) referenceCost() float64 {
	if !r.weights.relative {
		return minCost
	}
	low, high := r.costAt(r.snap.nearlyBest), r.costAt(r.snap.best)
	return low * math.Pow(high/low, max(0, 2*r.objective.Tradeoff-1))
}

// costAt returns the cost of the request in dollars at a target in the snapshot, without cached prompts.
func (r *ranking) costAt(entry int) float64 {
	if entry < 0 {
		return minCost
	}
	e := &r.snap.entries[entry]
	cand := candidate{entry: e, target: e.target, model: e.model, price: &r.snap.pricesAt(r.in.At)[entry]}
	cand.prompt = r.promptFor(&cand)
	r.expect(&cand)
	return max(cand.totalUncached.Dollars(), minCost)
}

type estimate struct {
	predict.Estimate
	known bool
}

// successOf returns the predicted success probability of a model.
func (r *ranking) successOf(model int) predict.Estimate {
	if e := &r.success[model]; !e.known {
		ability := &r.snap.models[model].ability
		if r.c.Corrections != nil {
			ability = r.c.Corrections.Ability(r.snap.models[model].model.Name, r.features.Task, ability)
		}
		e.Estimate, e.known = predict.Success(&r.features, ability), true
	}
	return r.success[model].Estimate
}

// score computes the components and the penalty of a candidate. If the router may choose the reasoning effort, score uses the effort with
// the smallest penalty. The results do not depend on other candidates, so removing a candidate never changes the order of the others.
func (r *ranking) score(cand *candidate) {
	cand.scored = true
	if r.c.State != nil {
		cand.Seen = r.c.State(cand.Target)
	}
	if r.c.CacheHit != nil {
		cand.Cache = r.c.CacheHit(cand.target, cand.prompt, !r.policyRules.CacheMarks.IsSet())
	}
	efforts := r.efforts(cand)
	if len(efforts) == 0 {
		r.estimate(cand)
		return
	}
	best, least := 0, math.Inf(1)
	for i := range efforts {
		cand.effort = &efforts[i]
		if r.estimate(cand); cand.penalty < least {
			best, least = i, cand.penalty
		}
	}
	if cand.effort = &efforts[best]; best < len(efforts)-1 {
		r.estimate(cand)
	}
	if r.in.Effort == "" {
		cand.Effort = cand.effort.level
	}
}

// estimate computes the penalty and its components at the candidate's effort.
func (r *ranking) estimate(cand *candidate) {
	r.expect(cand)
	if cand.priced() && cand.Target != r.in.Last {
		cand.Discards = r.discards
		cand.total, cand.totalUncached = cand.total.Add(r.discards), cand.totalUncached.Add(r.discards)
	}
	if cand.priced() {
		cand.Cost = round(1 - position(cand.cost.Dollars(), minCost, costSpan))
	}
	if r.in.Op == llm.Chat || r.in.Op == llm.Complete {
		success := r.successOf(cand.model)
		if cand.effort != nil {
			success = success.Shift(cand.effort.logit)
		}
		cand.Quality, cand.Spread = round(success.Probability), round(success.Spread)
	}
	latency, rate := cand.Seen.Latency, cand.Seen.TokensPS
	if latency <= 0 {
		latency = unseenLatency
	}
	if rate <= 0 {
		rate = unseenTokensPS
	}
	latency += time.Duration(float64(cand.Output) / rate * float64(time.Second))
	cand.Latency = latency.Milliseconds()
	cand.Speed = round(1 - position(latency.Seconds(), minLatency, latencySpan))
	cand.delay = math.Log2(max(latency.Seconds(), minLatency) / minLatency)
	r.rate(cand)
}

// rate computes the penalty from the components.
func (r *ranking) rate(cand *candidate) {
	w := &r.weights
	cand.penaltyWithoutCost = w.quality*100*max(0, r.target.Target-cand.Quality) + w.speed*cand.delay
	cand.penalty = cand.penaltyWithoutCost + r.price(cand.total)
	if w.relative {
		cand.Score = round(1 / (1 + cand.penalty))
		return
	}
	cand.Score = round(min(1, 1-cand.penalty/(20*(w.cost+w.quality+w.speed))))
}

// price returns the penalty of a cost. With weights.relative, it is proportional to the cost. Otherwise, it is proportional to the number
// of doublings of minCost. Below minCost it is linear, so that free models do not dominate the ranking. With weights.fine it is also
// logarithmic below minCost, because embedding a short input costs less than minCost.
func (r *ranking) price(a money.Amount) float64 {
	w := &r.weights
	if w.relative {
		return w.cost * a.Dollars() / r.reference
	}
	v := a.Dollars() / minCost
	if v < 1 && !w.fine {
		return w.cost * (v - 1) * math.Log2E
	}
	return w.cost * math.Log2(max(v, minAmount/minCost))
}

// Lengths of the scales, as the natural logarithm of the upper end divided by the lower end.
const (
	costSpan    = 6 * math.Ln10 // length of the scale from minCost to 1 dollar
	latencySpan = 3 * math.Ln10 // length of the scale from minLatency to 100 seconds
)

// position maps a positive number to 0..1 on a logarithmic scale.
func position(v, low, span float64) float64 {
	if v <= low {
		return 0
	}
	return min(1, math.Log(v/low)/span)
}

// ParseObjective parses the objective of `auto`, `auto:cost` and similar names. A trade-off number takes precedence.
func ParseObjective(model, tradeoff string) (Objective, error) {
	o := Objective{Name: "auto", Tradeoff: 0.5}
	if _, name, _ := strings.Cut(model, ":"); IsAuto(model) && name != "" {
		named, known := NamedObjective(name)
		if !known {
			e := llm.Errorf(llm.InvalidRequest, "Model %q has an unknown objective. Use auto, auto:cost, auto:quality or auto:speed.", model)
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
