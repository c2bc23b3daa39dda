package predict

import "math"

// Label is an answer that somebody rated.
type Label struct {
	Skills []float64 // of the prompt's sketch
	Score  float64   // 0 bad to 1 good
	Weight float64   // less for old ratings and for weak signs
}

const (
	leastSpread  = 0.5 // however sure a vector is elsewhere, a workspace's traffic may differ by this
	skillsShare  = 0.2 // of the variance that ratings may explain by skills; the rest is the intercept's
	updateRounds = 12
	enoughClose  = 1e-5
	spreadOver   = 100 // labels that the new spread is measured at
)

// Update corrects an ability by ratings: the most probable vector given both. The intercept moves first; the weights of
// skills are held closer to what they were, so that they move only when many ratings agree. Without ratings nothing changes.
func Update(prior Ability, labels []Label) Ability {
	labels = usable(prior, labels)
	if len(labels) == 0 {
		return prior
	}
	u := newUpdate(prior, labels)
	for range updateRounds {
		gradient, curvature := u.slope()
		step := curvature.factor().solve(gradient)
		u.move(step)
		if largest(step) < enoughClose {
			break
		}
	}
	_, curvature := u.slope()
	return Ability{Vector: u.vector, Spread: prior.Spread * u.shrink(curvature), Source: prior.Source}
}

func usable(prior Ability, labels []Label) []Label {
	var kept []Label
	for _, l := range labels {
		if l.Weight > 0 && !math.IsNaN(l.Score) && len(l.Skills)+1 == len(prior.Vector) {
			l.Score = min(max(l.Score, 0), 1)
			kept = append(kept, l)
		}
	}
	return kept
}

// update is the search for the corrected vector.
type update struct {
	start     []float64
	vector    []float64
	precision []float64 // of the prior, by dimension
	rows      [][]float64
	labels    []Label
	weight    float64 // of all labels
}

func newUpdate(prior Ability, labels []Label) *update {
	u := &update{
		start: prior.Vector, vector: append([]float64(nil), prior.Vector...),
		precision: make([]float64, len(prior.Vector)), labels: labels,
	}
	size := 0.0 // mean squared length of the skills, by which their scale does not matter
	flat := make([]float64, len(labels)*len(prior.Vector))
	for i, l := range labels {
		row := flat[i*len(prior.Vector) : (i+1)*len(prior.Vector)]
		row[0] = 1
		copy(row[1:], l.Skills)
		u.rows = append(u.rows, row)
		size += l.Weight * dot(l.Skills, l.Skills)
		u.weight += l.Weight
	}
	size = max(size/u.weight, 1e-6)
	variance := math.Pow(max(prior.Spread, leastSpread), 2)
	u.precision[0] = 1 / (variance * (1 - skillsShare))
	for k := 1; k < len(u.precision); k++ {
		u.precision[k] = size / (variance * skillsShare)
	}
	return u
}

// slope is the gradient of the log posterior and its negative curvature.
func (u *update) slope() ([]float64, square) {
	gradient := make([]float64, len(u.vector))
	curvature := newSquare(len(u.vector))
	for k, p := range u.precision {
		gradient[k] = p * (u.start[k] - u.vector[k])
		curvature.v[k*curvature.n+k] = p
	}
	for i, l := range u.labels {
		chance := sigmoid(dot(u.rows[i], u.vector))
		pull := l.Weight * (l.Score - chance)
		for k, x := range u.rows[i] {
			gradient[k] += pull * x
		}
		curvature.addOuter(u.rows[i], l.Weight*chance*(1-chance))
	}
	return gradient, curvature
}

func (u *update) objective(vector []float64) float64 {
	sum := 0.0
	for k, p := range u.precision {
		d := vector[k] - u.start[k]
		sum -= p * d * d / 2
	}
	for i, l := range u.labels {
		x := dot(u.rows[i], vector)
		sum += l.Weight * (l.Score*x - softplus(x))
	}
	return sum
}

// move takes the step, or the part of it that helps.
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

// shrink is by how much the labels narrow the spread of the logit where they are.
func (u *update) shrink(curvature square) float64 {
	factor := curvature.factor()
	before, after := 0.0, 0.0
	for i := 0; i < len(u.rows); i += 1 + len(u.rows)/spreadOver {
		after += u.labels[i].Weight * squaredLength(factor.half(u.rows[i]))
		for k, x := range u.rows[i] {
			before += u.labels[i].Weight * x * x / u.precision[k]
		}
	}
	return math.Sqrt(min(1, after/before))
}

func softplus(x float64) float64 {
	if x > 30 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

func squaredLength(x []float64) float64 { return dot(x, x) }

func largest(x []float64) float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}
