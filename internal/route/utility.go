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

// What is assumed where nothing has been observed.
const (
	unseenLatency  = 1500 * time.Millisecond
	unseenTokensPS = 60.0
)

// The scales of cost and waiting begin here: less makes little difference, or none.
const (
	leastCost    = 1e-6 // dollars
	leastLatency = 0.1  // seconds
)

// leastAmount is the least that can be billed, in dollars.
const leastAmount = 1e-9

// weights say what the parts of the penalty count. The unit is a doubling of the price: a target loses against another
// one that is the same but half as dear by weights.cost.
type weights struct {
	cost    float64 // of a doubling of the price
	quality float64 // of one percentage point below the aim
	speed   float64 // of a doubling of the time to the last token
	aim     float64 // share of the best model's chance that is aimed at
	fine    bool    // amounts below leastCost count like those above it
}

// weigh turns the objective into weights. A trade-off t aims at the share 1-(1-t)^4.32 of the best model's expected
// quality, which is 95 % at 0.5; below the aim, a percentage point is worth t/(1-t) doublings of the price, one at 0.5.
func weigh(in *Input, o Objective) weights {
	switch in.Controls.Provider.Sort {
	case "price":
		return weights{cost: 1}
	case "latency", "throughput":
		return weights{speed: 1}
	}
	if in.Op == llm.Embed || in.Op == llm.Moderate || !IsAuto(in.Model) {
		return weights{cost: 1, speed: 0.25, fine: true} // the model is given: only providers differ
	}
	if o.Name == "speed" {
		return weights{cost: 0.1, quality: 0.2, speed: 1, aim: 0.8}
	}
	const most = 1000 // doublings a point: nobody pays so much, so that only quality counts
	t := o.Tradeoff
	return weights{cost: 1, quality: min(most, t/max(1-t, 1e-9)), speed: 0.1, aim: 1 - math.Pow(1-t, math.Log2(20))}
}

// aimFor is the quality looked for. The best model is the best of all that are configured, whether or not this request may
// use it: what else is excluded never changes a choice.
func (r *race) aimFor() QualityTarget {
	if r.weights.aim == 0 && r.weights.quality == 0 {
		return QualityTarget{}
	}
	best := 0.0
	for i := range r.snap.models {
		if m := &r.snap.models[i]; m.model.Op == llm.Chat && !m.model.Deprecated {
			best = max(best, r.chanceOf(i).Chance)
		}
	}
	return QualityTarget{Best: round(best), Target: round(best * r.weights.aim)}
}

type estimate struct {
	predict.Estimate
	known bool
}

// chanceOf predicts how a model answers the prompt.
func (r *race) chanceOf(model int) predict.Estimate {
	if e := &r.chance[model]; !e.known {
		ability := &r.snap.models[model].ability
		if r.c.Corrections != nil {
			ability = r.c.Corrections.Ability(r.snap.models[model].model.Name, ability)
		}
		e.Estimate, e.known = predict.Success(&r.in.Features, ability), true
	}
	return r.chance[model].Estimate
}

// score fills in the parts and the penalty. Nothing in it depends on the other candidates, so that taking a loser out of
// the field never changes the winner.
func (r *race) score(one *runner) {
	one.scored = true
	one.Seen = r.c.state(one.Target)
	one.Cache = r.c.warm(one.target, one.prompt)
	r.expect(one)
	if one.priced() {
		one.Cost = round(1 - costs.of(one.cost.Dollars()))
	}
	if r.in.Op == llm.Chat || r.in.Op == llm.Complete {
		chance := r.chanceOf(one.model)
		one.Quality, one.Spread = round(chance.Chance), round(chance.Spread)
	}
	latency := expectedLatency(one.Seen, one.Output)
	one.Latency = latency.Milliseconds()
	one.Speed = round(1 - waits.of(latency.Seconds()))
	one.delay = doublings(latency.Seconds(), leastLatency)
	r.rate(one)
}

// rate weighs the parts.
func (r *race) rate(one *runner) {
	w := &r.weights
	one.rest = w.quality*100*max(0, r.aim.Target-one.Quality) + w.speed*one.delay
	one.penalty = one.rest + w.price(one.total)
	one.Score = round(min(1, 1-one.penalty/(20*(w.cost+w.quality+w.speed))))
}

// price is what an amount counts, in doublings of leastCost. Below that the scale goes on straight: less is still less, but what
// is free is not better than everything. Providers of one model are told apart by doublings there too: a short text costs less
// to embed, and there are many of them.
func (w *weights) price(a money.Amount) float64 {
	v := a.Dollars() / leastCost
	if v < 1 && !w.fine {
		return w.cost * (v - 1) * math.Log2E
	}
	return w.cost * math.Log2(max(v, leastAmount/leastCost))
}

// doublings is how often least must be doubled to get v.
func doublings(v, least float64) float64 { return math.Log2(max(v, least) / least) }

// scale maps positive quantities to 0..1 by their logarithm.
type scale struct {
	low  float64
	span float64 // logarithm of how many times as much the high end is
}

func newScale(low, high float64) scale { return scale{low, math.Log(high / low)} }

var (
	costs = newScale(leastCost, 1)
	waits = newScale(leastLatency, 100)
)

// of is the place of a quantity on the scale.
func (s *scale) of(v float64) float64 {
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

// ParseObjective reads what `auto`, `auto:cost` and the like ask for, and a trade-off number that wins over them.
func ParseObjective(model, tradeoff string) (Objective, error) {
	o := Objective{Name: "auto", Tradeoff: 0.5}
	if _, name, _ := strings.Cut(model, ":"); IsAuto(model) && name != "" {
		named, known := NamedObjective(name)
		if !known {
			e := llm.Errorf(llm.InvalidRequest, "Model %q asks for an objective that does not exist. Use auto, auto:cost, auto:quality or auto:speed.", model)
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

// NamedObjective is the objective of a name such as cost.
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
