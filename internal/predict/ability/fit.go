package ability

import (
	"math"

	"fairlead.dev/internal/predict"
)

const (
	fitRounds  = 30
	fitClose   = 1e-4
	worstScore = 3 // number of standard deviations above which the loss of a score is linear, so that one wrong score does not distort the fit
)

// anchorPool is a set of anchors that are evaluated together. Targets share pools, so each pool is computed only once per
// step.
type anchorPool struct {
	anchors []predict.Anchor
}

// target is a score that the vector is fitted to: the mean success probability over the pools, equally weighted.
type target struct {
	pools []*anchorPool
	logit float64 // logit of the mean success probability
	noise float64 // standard deviation of logit

	board    []string // families that a published benchmark resembles; nil for a training-data benchmark
	strength float64  // general strength of a model with this score on the board; NaN if the board is unknown
}

// gaussianPrior is the distribution of a model's vector before its scores are considered.
type gaussianPrior struct {
	mean      []float64
	precision square // inverse covariance, as a full matrix, not only the lower half
}

// fit returns the most probable vector given the prior and the targets, by Gauss-Newton steps on the logits of the
// means.
func (g *abilityFitter) fit(b gaussianPrior, targets []target, source string) predict.Ability {
	vector := append([]float64(nil), b.mean...)
	last := b.loss(vector, targets)
	for range fitRounds {
		gradient, curvature := b.slope(vector, targets)
		step := curvature.factor().solve(gradient)
		next, misfit := b.search(vector, step, targets, last)
		if next == nil {
			break
		}
		vector, last = next, misfit
		if largest(step) < fitClose {
			break
		}
	}
	_, curvature := b.slope(vector, targets)
	return predict.Ability{Vector: vector, Spread: g.spread(curvature), Source: source, Precision: curvature.v}
}

// search halves the step until it reduces the loss, and returns the vector after the step and its loss. It returns a nil vector if no step
// reduces the loss.
func (b gaussianPrior) search(vector, step []float64, targets []target, last float64) ([]float64, float64) {
	for part := 1.0; part > 1e-3; part /= 2 {
		next := make([]float64, len(vector))
		for k := range next {
			next[k] = vector[k] + part*step[k]
		}
		if misfit := b.loss(next, targets); misfit < last {
			return next, misfit
		}
	}
	return nil, last
}

// loss is the objective of the fit: half the sum of the squared distances from the prior and from the targets, in standard
// deviations. Above worstScore the loss of a target is linear.
func (b gaussianPrior) loss(vector []float64, targets []target) float64 {
	away := difference(vector, b.mean)
	sum := dot(away, b.precision.times(away)) / 2
	means := map[*anchorPool]float64{}
	for _, t := range targets {
		r := math.Abs(unboundedLogit(t.mean(means, vector))-t.logit) / t.noise
		if r > worstScore {
			sum += worstScore * (r - worstScore/2.0)
		} else {
			sum += r * r / 2
		}
	}
	return sum
}

// mean returns the mean success probability of a target. It caches the means of the pools in the given map.
func (t target) mean(means map[*anchorPool]float64, vector []float64) float64 {
	sum := 0.0
	for _, p := range t.pools {
		m, seen := means[p]
		if !seen {
			m = meanProbability(p.anchors, vector)
			means[p] = m
		}
		sum += m
	}
	return sum / float64(len(t.pools))
}

// slope returns the descent direction of the loss and its curvature.
func (b gaussianPrior) slope(vector []float64, targets []target) ([]float64, square) {
	n := len(vector)
	gradient := b.precision.times(difference(b.mean, vector))
	curvature := newSquare(n)
	copy(curvature.v, b.precision.v)
	sheets := map[*anchorPool]*poolMean{}
	row := make([]float64, n)
	for _, t := range targets {
		mean := t.derivative(sheets, vector, row)
		r := (unboundedLogit(mean) - t.logit) / t.noise
		weight := 1 / (t.noise * t.noise)
		if math.Abs(r) > worstScore {
			weight *= worstScore / math.Abs(r)
		}
		for k := range gradient {
			gradient[k] -= weight * r * t.noise * row[k]
		}
		curvature.addOuter(row, weight)
	}
	return gradient, curvature
}

// poolMean holds the mean success probability of a pool and its derivative.
type poolMean struct {
	mean float64
	row  []float64
}

func newPoolMean(p *anchorPool, vector []float64) *poolMean {
	s := &poolMean{row: make([]float64, len(vector))}
	for _, a := range p.anchors {
		chance := sigmoid(vector[0] + dot(a.Skills, vector[1:]))
		s.mean += a.Weight * chance
		w := a.Weight * chance * (1 - chance)
		s.row[0] += w
		for k, z := range a.Skills {
			s.row[k+1] += w * z
		}
	}
	return s
}

// derivative sets row to the derivative of the logit of the mean success probability and returns the mean.
func (t target) derivative(sheets map[*anchorPool]*poolMean, vector, row []float64) float64 {
	clear(row)
	mean := 0.0
	for _, p := range t.pools {
		s := sheets[p]
		if s == nil {
			s = newPoolMean(p, vector)
			sheets[p] = s
		}
		mean += s.mean
		for k, v := range s.row {
			row[k] += v
		}
	}
	count := float64(len(t.pools))
	mean /= count
	scale := 1 / (count * max(mean*(1-mean), 1e-9))
	for k := range row {
		row[k] *= scale
	}
	return mean
}

// spread returns the standard deviation of the logit over general prompts.
func (g *abilityFitter) spread(curvature square) float64 {
	factor := curvature.factor()
	row := make([]float64, curvature.n)
	sum := 0.0
	for _, a := range g.typical {
		row[0] = 1
		copy(row[1:], a.Skills)
		x := factor.solveLower(row)
		sum += a.Weight * dot(x, x)
	}
	return math.Sqrt(sum)
}

func unboundedLogit(p float64) float64 {
	p = min(max(p, 1e-9), 1-1e-9)
	return math.Log(p / (1 - p))
}
