package route

import (
	"math"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/money"
	"fairlead/internal/predict"
)

// Defaults for targets without observations.
const (
	unseenLatency  = 1500 * time.Millisecond
	unseenTokensPS = 60.0
)

// Lower ends of the cost and latency scales.
const (
	minCost    = 1e-6 // dollars
	minLatency = 0.1  // seconds
)

// minAmount is the smallest billable amount in dollars.
const minAmount = 1e-9

// weights are the weights of the penalty's components. The unit is one doubling of the price.
type weights struct {
	cost         float64 // per doubling of the price
	quality      float64 // per percentage point below the quality target
	speed        float64 // per doubling of the time to the last token
	qualityShare float64 // quality target as a share of the best model's success probability
	fine         bool    // use the logarithmic scale also below minCost
}

// weigh converts the objective into weights. A trade-off t sets the quality target to 1-(1-t)^4.32 of the best model's
// success probability (95 % at 0.5). Each percentage point below the target costs t/(1-t) doublings of the price.
func weigh(in *Input, o Objective) weights {
	switch in.Controls.Provider.Sort {
	case "price":
		return weights{cost: 1}
	case "latency", "throughput":
		return weights{speed: 1}
	}
	if in.Op == llm.Embed || in.Op == llm.Moderate || !IsAuto(in.Model) {
		return weights{cost: 1, speed: 0.25, fine: true} // the model is fixed: only providers differ
	}
	if o.Name == "speed" {
		return weights{cost: 0.1, quality: 0.2, speed: 1, qualityShare: 0.8}
	}
	const maxWeight = 1000 // doublings per point: only quality counts
	t := o.Tradeoff
	return weights{cost: 1, quality: min(maxWeight, t/max(1-t, 1e-9)), speed: 0.1, qualityShare: 1 - math.Pow(1-t, math.Log2(20))}
}

// qualityTarget returns the quality target. It considers all configured models, so that excluding one for this request does not
// change the choice among the others.
func (r *ranking) qualityTarget() QualityTarget {
	if r.weights.qualityShare == 0 && r.weights.quality == 0 {
		return QualityTarget{}
	}
	best := 0.0
	for i := range r.snap.models {
		if m := &r.snap.models[i]; m.model.Op == llm.Chat && !m.model.Deprecated {
			best = max(best, r.successOf(i).Probability)
		}
	}
	return QualityTarget{Best: round(best), Target: round(best * r.weights.qualityShare)}
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
			ability = r.c.Corrections.Ability(r.snap.models[model].model.Name, ability)
		}
		e.Estimate, e.known = predict.Success(&r.in.Features, ability), true
	}
	return r.success[model].Estimate
}

// score computes the components and the penalty of a candidate. They do not depend on other candidates, so removing one
// never changes the order of the others.
func (r *ranking) score(cand *candidate) {
	cand.scored = true
	cand.Seen = r.c.state(cand.Target)
	cand.Cache = r.c.cacheHit(cand.target, cand.prompt)
	r.expect(cand)
	if cand.priced() {
		cand.Cost = round(1 - costs.position(cand.cost.Dollars()))
	}
	if r.in.Op == llm.Chat || r.in.Op == llm.Complete {
		success := r.successOf(cand.model)
		cand.Quality, cand.Spread = round(success.Probability), round(success.Spread)
	}
	latency := expectedLatency(cand.Seen, cand.Output)
	cand.Latency = latency.Milliseconds()
	cand.Speed = round(1 - waits.position(latency.Seconds()))
	cand.delay = doublings(latency.Seconds(), minLatency)
	r.rate(cand)
}

// rate computes the penalty from the components.
func (r *ranking) rate(cand *candidate) {
	w := &r.weights
	cand.penaltyWithoutCost = w.quality*100*max(0, r.target.Target-cand.Quality) + w.speed*cand.delay
	cand.penalty = cand.penaltyWithoutCost + w.price(cand.total)
	cand.Score = round(min(1, 1-cand.penalty/(20*(w.cost+w.quality+w.speed))))
}

// price returns the penalty of a cost in doublings of minCost. The scale is linear below minCost, so that free models do not
// dominate the ranking. With w.fine it stays logarithmic, because embedding a short text costs less than minCost.
func (w *weights) price(a money.Amount) float64 {
	v := a.Dollars() / minCost
	if v < 1 && !w.fine {
		return w.cost * (v - 1) * math.Log2E
	}
	return w.cost * math.Log2(max(v, minAmount/minCost))
}

// doublings returns how often least must be doubled to reach v.
func doublings(v, least float64) float64 { return math.Log2(max(v, least) / least) }

// scale maps positive numbers to 0..1 logarithmically.
type scale struct {
	low  float64
	span float64 // logarithm of high/low
}

func newScale(low, high float64) scale { return scale{low, math.Log(high / low)} }

var (
	costs = newScale(minCost, 1)
	waits = newScale(minLatency, 100)
)

// position returns the position of v on the scale.
func (s *scale) position(v float64) float64 {
	if v <= s.low {
		return 0
	}
	return min(1, math.Log(v/s.low)/s.span)
}

func expectedLatency(s State, output int64) time.Duration {
	first, rate := s.Latency, s.TokensPS
	if first <= 0 {
		first = unseenLatency
	}
	if rate <= 0 {
		rate = unseenTokensPS
	}
	return first + time.Duration(float64(output)/rate*float64(time.Second))
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

// NamedObjective returns the objective with a name such as cost.
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
