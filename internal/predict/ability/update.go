package ability

import (
	"math"

	"fairlead.dev/internal/predict"
)

// Label holds the rating of a response and the skills of its prompt.
type Label struct {
	Skills []float64 // skills of the prompt
	Score  float64   // rating from 0 (bad) to 1 (good)
	Weight float64   // weight of the rating, lower for old ratings and weak evidence
	Offset float64   // part of the logit that does not depend on the ability
	Loose  bool      // whether Score may be outside 0 to 1; only the mean of several labels must be in that range
}

const (
	interceptSpread = 0.2 // standard deviation of the intercept due to a workspace that rates all responses of a model higher or lower
	minSpread       = 0.5 // minimum standard deviation of the logit for a vector without a known precision
	skillsShare     = 0.2 // share of the variance assigned to the skills of such a vector; the remainder is assigned to the intercept
	updateRounds    = 12
	enoughClose     = 1e-5
	spreadOver      = 100 // approximate maximum number of labels used to compute the new spread
)

// Update corrects an ability with ratings. The new vector is the most probable one given the ability and the ratings. In a vector with a
// known precision, the intercept and the uncertain components change. For other vectors the intercept changes first, and the weights of
// skills change only if many ratings agree. Without ratings the ability is unchanged.
func Update(prior predict.Ability, labels []Label) predict.Ability {
	var usable []Label
	for _, l := range labels {
		if l.Weight > 0 && !math.IsNaN(l.Score) && len(l.Skills)+1 == len(prior.Vector) {
			if !l.Loose {
				l.Score = min(max(l.Score, 0), 1)
			}
			usable = append(usable, l)
		}
	}
	if len(usable) == 0 {
		return prior
	}
	u := newUpdate(prior, usable)
	for range updateRounds {
		gradient, curvature := u.slope()
		step := curvature.factor().solve(gradient)
		u.move(step)
		if largest(step) < enoughClose {
			break
		}
	}
	_, curvature := u.slope()
	return predict.Ability{Vector: u.vector, Spread: prior.Spread * u.shrink(curvature), Source: prior.Source, Mean: prior.Mean}
}

// update holds the state of the search for the corrected vector.
type update struct {
	start     []float64
	vector    []float64
	precision square // precision of the prior, as a full matrix
	rows      [][]float64
	labels    []Label
	weight    float64 // sum of the labels' weights
}

func newUpdate(prior predict.Ability, labels []Label) *update {
	u := &update{start: prior.Vector, vector: append([]float64(nil), prior.Vector...), labels: labels}
	flat := make([]float64, len(labels)*len(prior.Vector))
	for i, l := range labels {
		row := flat[i*len(prior.Vector) : (i+1)*len(prior.Vector)]
		row[0] = 1
		copy(row[1:], l.Skills)
		u.rows = append(u.rows, row)
		u.weight += l.Weight
	}
	if n := len(prior.Vector); len(prior.Precision) == n*n {
		// Add the variance interceptSpread² to the intercept. Only the lower half of the precision is read.
		free, first := square{n, append([]float64(nil), prior.Precision...)}, make([]float64, n)
		for i := range first {
			first[i] = free.at(i, 0)
		}
		free.addOuter(first, -1/(1/(interceptSpread*interceptSpread)+first[0]))
		u.precision = free.mirror()
	} else {
		u.precision = u.assumedPrecision(prior.Spread)
	}
	return u
}

// assumedPrecision returns a precision for a vector of which only the spread is known.
func (u *update) assumedPrecision(spread float64) square {
	size := 0.0 // mean squared length of the skill vectors; used to make the result independent of their scale
	for _, l := range u.labels {
		size += l.Weight * dot(l.Skills, l.Skills)
	}
	size = max(size/u.weight, 1e-6)
	variance := math.Pow(max(spread, minSpread), 2)
	m := newSquare(len(u.vector))
	for k := range u.vector {
		m.v[k*m.n+k] = size / (variance * skillsShare)
	}
	m.v[0] = 1 / (variance * (1 - skillsShare))
	return m
}

// slope returns the gradient of the log posterior and its negative curvature.
func (u *update) slope() ([]float64, square) {
	gradient := u.precision.times(difference(u.start, u.vector))
	curvature := newSquare(len(u.vector))
	copy(curvature.v, u.precision.v)
	for i, l := range u.labels {
		chance := sigmoid(dot(u.rows[i], u.vector) + l.Offset)
		pull := l.Weight * (l.Score - chance)
		for k, x := range u.rows[i] {
			gradient[k] += pull * x
		}
		curvature.addOuter(u.rows[i], l.Weight*chance*(1-chance))
	}
	return gradient, curvature
}

func (u *update) objective(vector []float64) float64 {
	away := difference(vector, u.start)
	sum := -dot(away, u.precision.times(away)) / 2
	for i, l := range u.labels {
		x := dot(u.rows[i], vector) + l.Offset
		softplus := x // approximation for large x
		if x <= 30 {
			softplus = math.Log1p(math.Exp(x))
		}
		sum += l.Weight * (l.Score*x - softplus)
	}
	return sum
}

// move adds the step to the vector. It halves the step until the objective no longer decreases.
func (u *update) move(step []float64) {
	before := u.objective(u.vector)
	for part := 1.0; part > 1e-3; part /= 2 {
		next := make([]float64, len(u.vector))
		for k := range next {
			next[k] = u.vector[k] + part*step[k]
		}
		if u.objective(next) >= before {
			u.vector = next
			return
		}
	}
}

// shrink returns the factor by which the labels reduce the spread of the logit.
func (u *update) shrink(curvature square) float64 {
	wide, narrow := u.precision.factor(), curvature.factor()
	before, after := 0.0, 0.0
	for i := 0; i < len(u.rows); i += 1 + len(u.rows)/spreadOver {
		a, b := wide.solveLower(u.rows[i]), narrow.solveLower(u.rows[i])
		before += u.labels[i].Weight * dot(a, a)
		after += u.labels[i].Weight * dot(b, b)
	}
	return math.Sqrt(min(1, after/before))
}

func difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for k := range d {
		d[k] = a[k] - b[k]
	}
	return d
}

func largest(x []float64) float64 {
	maximum := 0.0
	for _, v := range x {
		maximum = max(maximum, math.Abs(v))
	}
	return maximum
}
