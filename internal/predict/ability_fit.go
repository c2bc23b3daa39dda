package predict

import "math"

const (
	fitRounds  = 30
	fitClose   = 1e-4
	worstScore = 3 // standard deviations beyond which a score pulls no harder: one absurd figure must not bend the rest
)

// pool is anchors that are always asked together. Targets share pools, so that each is computed once in a step.
type pool struct {
	anchors []Anchor
}

// target is a score as the fit sees it: the mean chance over these pools, each weighing the same, should be this.
type target struct {
	pools []*pool
	logit float64 // of the mean chance
	noise float64 // standard deviation of that logit
}

// belief is what is thought of a model before its scores are seen.
type belief struct {
	mean      []float64
	precision square // whole
}

// fit finds the most probable vector given a belief and the targets, by Gauss-Newton steps on the logits of the means.
func (g *gauge) fit(b belief, targets []target, source string) Ability {
	vector := append([]float64(nil), b.mean...)
	last := b.misfit(vector, targets)
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
	return Ability{Vector: vector, Spread: g.spread(curvature), Source: source, Precision: curvature.v}
}

// search takes the step, or the part of it that helps; nil when none does.
func (b belief) search(vector, step []float64, targets []target, last float64) ([]float64, float64) {
	for part := 1.0; part > 1e-3; part /= 2 {
		next := make([]float64, len(vector))
		for k := range next {
			next[k] = vector[k] + part*step[k]
		}
		if misfit := b.misfit(next, targets); misfit < last {
			return next, misfit
		}
	}
	return nil, last
}

// misfit is what the fit makes small: half the squared distances from the belief and from the targets, each in its own
// standard deviation, the far ones counted by their distance only.
func (b belief) misfit(vector []float64, targets []target) float64 {
	away := difference(vector, b.mean)
	sum := dot(away, b.precision.times(away)) / 2
	means := map[*pool]float64{}
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

// mean chance of a target; means has those of the pools seen before.
func (t target) mean(means map[*pool]float64, vector []float64) float64 {
	sum := 0.0
	for _, p := range t.pools {
		m, seen := means[p]
		if !seen {
			m = meanChance(p.anchors, vector)
			means[p] = m
		}
		sum += m
	}
	return sum / float64(len(t.pools))
}

// slope is the downhill direction of the misfit and its curvature.
func (b belief) slope(vector []float64, targets []target) ([]float64, square) {
	n := len(vector)
	gradient := b.precision.times(difference(b.mean, vector))
	curvature := newSquare(n)
	copy(curvature.v, b.precision.v)
	sheets := map[*pool]*sheet{}
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

// sheet is the mean chance of a pool and how it changes with the vector.
type sheet struct {
	mean float64
	row  []float64
}

func newSheet(p *pool, vector []float64) *sheet {
	s := &sheet{row: make([]float64, len(vector))}
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

// derivative fills the row with how the logit of the mean chance changes with the vector, and returns the mean.
func (t target) derivative(sheets map[*pool]*sheet, vector, row []float64) float64 {
	clear(row)
	mean := 0.0
	for _, p := range t.pools {
		s := sheets[p]
		if s == nil {
			s = newSheet(p, vector)
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

// spread is the standard deviation of the logit over general prompts.
func (g *gauge) spread(curvature square) float64 {
	factor := curvature.factor()
	row := make([]float64, curvature.n)
	sum := 0.0
	for _, a := range g.typical {
		row[0] = 1
		copy(row[1:], a.Skills)
		sum += a.Weight * squaredLength(factor.half(row))
	}
	return math.Sqrt(sum)
}

func unboundedLogit(p float64) float64 {
	p = min(max(p, 1e-9), 1-1e-9)
	return math.Log(p / (1 - p))
}
