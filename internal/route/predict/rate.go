package predict

import "math"

// medium is the difficulty at which models are rated.
const medium = 2

// Interval is a probability of a good answer with its 95 % interval, from 0 to 1.
type Interval struct{ Mean, Low, High float64 }

// Rating is what is known about a model, as probabilities that people can compare.
type Rating struct {
	Overall  Interval              // mean over the families
	Families [FamilyCount]Interval // probability of a good answer to a medium task, by family
	Learned  [FamilyCount]bool     // whether the workspace's outcomes changed the probability
	Source   string                // origin of the ability: table, prior or quality
}

// Rate returns the rating of a model. shift is the change of its ability that a workspace has learned, in logits; nil for none.
func Rate(a *Ability, shift func(Family) float64) Rating {
	r := Rating{Source: a.Source}
	for i, family := range families {
		moved := *a
		if shift != nil {
			moved.Levels[i] += shift(family)
			r.Learned[i] = moved.Levels[i] != a.Levels[i]
		}
		p := Success(&Features{Task: family, Difficulty: medium}, &moved, "").Probability
		// The interval is symmetric in logits, so that it stays between 0 and 1.
		bound := func(d float64) float64 { return 1 / (1 + (1-p)/p*math.Exp(-d*a.Spreads[i])) }
		one := Interval{Mean: p, Low: bound(-1.96), High: bound(1.96)}
		r.Families[i] = one
		r.Overall.Mean += one.Mean / FamilyCount
		r.Overall.Low += one.Low / FamilyCount
		r.Overall.High += one.High / FamilyCount
	}
	return r
}
