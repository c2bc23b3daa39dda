package route

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route/predict"
)

// The rule of auto: a target is worth its predicted quality minus its cost.
const (
	// pointValue is the value of one point of quality in the middle of the dial, as a share of the reference cost of the request. It was
	// chosen by the end-to-end result over recorded outcomes.
	pointValue = 0.12
	// cheapEnd is the lowest place on the dial that counts, for auto:cost and housekeeping: a point is worth 0.2 % of the reference cost
	// there, so that the cheapest model serves unless another is much better for little more. Models whose chance is below hopeless are
	// never chosen if others are not.
	cheapEnd = 0.015
	hopeless = 0.1
	// If another option is predicted to be good enough, an option that costs more than dearFactor times as much must be guardPoints better
	// in the middle of the dial, because people expect simple requests to be cheap.
	goodEnough  = 0.85
	dearFactor  = 3
	guardPoints = 0.06
	// stayPoints is the gain for which a conversation changes its model.
	stayPoints = 0.05
)

// Defaults for targets without observations.
const (
	unseenLatency  = 1500 * time.Millisecond
	unseenTokensPS = 60.0
)

// Lower ends of costs and latencies that are divided by.
const (
	minCost    = 1e-6 // in dollars
	minLatency = 0.1  // in seconds
)

// criterion is the way in which targets are compared.
type criterion uint8

const (
	byValue    criterion = iota // quality against cost
	byTime                      // quality against cost and time
	byPrice                     // expected cost
	bySpeed                     // expected time to the last token
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
		return byTime
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
	for i := range r.options {
		o := &r.options[i]
		o.standing = r.standingOf(o)
		o.value, o.valueIdle = r.value(o, o.total), r.value(o, o.uncached)
		if have := o.cand.option; have == nil || o.compare(have) < 0 {
			o.cand.option = o
		}
	}
	for i := range r.candidates {
		if cand := &r.candidates[i]; cand.option != nil {
			cand.fill(r.in.Effort)
		}
	}
}

// available reports whether the option could be chosen now.
func (o *option) available() bool { return o.cand.ready() && !o.out }

// standing is the outcome of the guards for an option.
type standing uint8

const (
	fair    standing = iota
	dear             // another option is good enough for a fraction of the cost
	failing          // the option is predicted to fail, another is not
	banned           // a policy rules the option out for its cost
)

// compare orders options, better ones first.
func (o *option) compare(other *option) int {
	return cmp.Or(cmp.Compare(o.standing, other.standing), cmp.Compare(other.value, o.value))
}

// value returns the value of an option by the criterion.
func (r *ranking) value(o *option, total money.Amount) float64 {
	cost, value := total.Dollars()/r.reference.cost, 100*pointValue*r.pointWeight()*o.quality
	switch r.criterion {
	case bySpeed:
		return -o.latency.Seconds() - 1e-6*cost
	case byQuality:
		return math.Round(100*o.quality) - cost/(1+cost) // points, and less than one point for the cost
	case byProvider:
		return -math.Log2(max(total.Dollars(), 1e-12)) - 0.25*math.Log2(max(o.latency.Seconds(), minLatency))
	case byTime:
		return value - cost - o.latency.Seconds()/r.reference.seconds
	case byPrice:
		return -cost
	case byValue:
	}
	return value - cost
}

// pointWeight is the weight of quality at the place on the dial: nearly 0 at the cheap end, 1 in the middle.
func (r *ranking) pointWeight() float64 {
	t := max(r.objective.Tradeoff, cheapEnd)
	return t / max(1-t, 1e-6)
}

// standingOf applies the guards to an option.
func (r *ranking) standingOf(o *option) standing {
	switch {
	case o.out:
		return banned
	case r.criterion != byValue && r.criterion != byTime:
		return fair
	case o.quality < hopeless && slices.ContainsFunc(r.options, func(other option) bool { return other.quality >= hopeless && other.available() }):
		return failing
	case r.tooDear(o):
		return dear
	}
	return fair
}

// tooDear reports whether another option is good enough for a fraction of the cost.
func (r *ranking) tooDear(o *option) bool {
	points := 2 * guardPoints * (1 - r.objective.Tradeoff) // no guard at the best end of the dial, twice as strict at the cheap end
	return slices.ContainsFunc(r.options, func(other option) bool {
		return other.quality >= goodEnough && o.quality-other.quality < points && o.total.Dollars() > dearFactor*other.total.Dollars() && other.available()
	})
}

// fill copies the values of the chosen option to the stored candidate.
func (c *candidate) fill(requestedEffort string) {
	o := c.option
	c.Quality, c.Spread, c.Output, c.cost = o.quality, o.spread, o.output, o.cost
	c.Latency = o.latency.Milliseconds()
	if c.Effort = ""; o.effort != nil && requestedEffort == "" {
		c.Effort = o.effort.level
	}
}

// reference is what the request would cost, and how long it would take, at a usual target. Values refer to it.
type reference struct{ cost, seconds float64 }

// newReference returns the reference of the request. Up to the middle of the dial it is the cheapest target that is nearly as good as the
// best of the pool. Above, the cost approaches that of the best, because otherwise one cheap and good model would make every better model too
// expensive at any place on the dial.
func (r *ranking) newReference() reference {
	low, high := r.referenceAt(r.snap.nearlyBest), r.referenceAt(r.snap.best)
	low.cost *= math.Pow(high.cost/low.cost, max(0, 2*r.objective.Tradeoff-1))
	return low
}

// referenceAt returns the cost without cached prompts and the time of the request at a target of the snapshot.
func (r *ranking) referenceAt(entry int) reference {
	if entry < 0 || r.criterion == byProvider {
		return reference{minCost, minLatency}
	}
	e := &r.snap.entries[entry]
	cand := candidate{entry: e, target: e.target, model: e.model, price: &r.snap.pricesAt(r.in.At)[entry]}
	cand.prompt = r.promptFor(&cand)
	o := r.optionFor(&cand, nil)
	return reference{max(o.uncached.Dollars(), minCost), max(o.latency.Seconds(), minLatency)}
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
