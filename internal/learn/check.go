package learn

import (
	"math"
	"time"
)

// Check compares two predictions of later outcomes: one with the abilities learned from earlier outcomes, and one with the static
// abilities.
type Check struct {
	Outcomes int     `json:"outcomes"` // number of outcomes that were predicted
	Static   float64 `json:"static"`   // mean squared error of the static abilities
	Learned  float64 `json:"learned"`  // mean squared error of the learned abilities
	Error    float64 `json:"error"`    // standard error of the difference
}

// minChecked is the minimum number of predicted outcomes, and minGain the minimum gain in standard errors, for learned abilities to be
// used.
const (
	minChecked = 20
	minGain    = 2.326
)

// check compares the learned with the static predictions on the second half of the outcomes. It divides this half into three parts and
// predicts each part from all earlier outcomes. The first half does not count, so learned abilities are dropped soon after a model
// changes.
func (f *fitter) check(outcomes []Outcome) Check {
	var c Check
	var sum, squares float64
	const parts = 6
	for part := parts / 2; part < parts; part++ {
		from, to := len(outcomes)*part/parts, len(outcomes)*(part+1)/parts
		if from == 0 || from == to {
			continue
		}
		known := f.fit(outcomes[:from])
		for i := from; i < to; i++ {
			x := &outcomes[i]
			static, learned := f.errors(x, known)
			c.Outcomes++
			c.Static += static
			c.Learned += learned
			sum += static - learned
			squares += (static - learned) * (static - learned)
		}
	}
	if c.Outcomes == 0 {
		return c
	}
	n := float64(c.Outcomes)
	c.Static, c.Learned = c.Static/n, c.Learned/n
	c.Error = math.Sqrt(max(0, squares/n-sum/n*sum/n) / n)
	return c
}

// errors returns the squared errors of the static and the learned prediction of an outcome. Both include the difficulty of the tasks.
func (f *fitter) errors(x *Outcome, known *fitted) (static, learned float64) {
	predict := func(model string, learned bool) float64 {
		base, _ := f.o.Base(model)
		logit := logitOf(base.Vector, x.Skills)
		if m := known.models[model]; m != nil && learned {
			logit = m.logit(x.Task, x.Skills)
		}
		switch {
		case x.Kind == Compared:
		case learned:
			logit += known.shared[x.Task]
		default:
			logit += known.static[x.Task]
		}
		return sigmoid(logit)
	}
	before, after := predict(x.Model, false), predict(x.Model, true)
	if x.Kind == Compared {
		before, after = before-predict(x.Other, false), after-predict(x.Other, true)
	}
	return (x.Value - before) * (x.Value - before), (x.Value - after) * (x.Value - after)
}

const (
	driftStep  = 20  // distance, in outcomes, between the positions that are tested for a change
	minSide    = 30  // minimum number of outcomes before and after a change
	driftLimit = 4.0 // minimum difference of the means before and after a change, in standard errors
)

// drifts returns the models whose quality changed, with the time of the first outcome after the change. The change is assumed where
// the mean prediction errors before and after it differ most.
func (r *fitted) drifts(outcomes []Outcome) map[string]time.Time {
	type series struct {
		at     []time.Time
		values []float64
	}
	all := map[string]*series{}
	add := func(model string, at time.Time, v float64) {
		if all[model] == nil {
			all[model] = &series{}
		}
		all[model].at, all[model].values = append(all[model].at, at), append(all[model].values, v)
	}
	for i := range outcomes {
		x := &outcomes[i]
		logit := r.models[x.Model].logit(x.Task, x.Skills)
		if x.Kind == Rated {
			add(x.Model, x.At, x.Value-sigmoid(logit+r.shared[x.Task]))
			continue
		}
		miss := x.Value - sigmoid(logit) + sigmoid(r.models[x.Other].logit(x.Task, x.Skills))
		add(x.Model, x.At, miss)
		add(x.Other, x.At, -miss)
	}
	changes := map[string]time.Time{}
	for model, s := range all {
		if i := changeAt(s.values); i > 0 {
			changes[model] = s.at[i]
		}
	}
	return changes
}

// changeAt returns the index of the first value after a change of the mean, or 0.
func changeAt(values []float64) int {
	n := len(values)
	if n < 2*minSide {
		return 0
	}
	var total, squares float64
	for _, v := range values {
		total += v
		squares += v * v
	}
	variance := max(squares/float64(n)-total/float64(n)*total/float64(n), 1e-6)
	best, at, before := driftLimit, 0, 0.0
	for i, v := range values {
		if i >= minSide && n-i >= minSide && i%driftStep == 0 {
			a, b := float64(i), float64(n-i)
			if z := math.Abs(before/a-(total-before)/b) / math.Sqrt(variance*(1/a+1/b)); z > best {
				best, at = z, i
			}
		}
		before += v
	}
	return at
}
