package predict

import "sync"

// Score is what a model reached on a benchmark.
type Score struct {
	Benchmark string
	Value     float64 // a share from 0 to 1; above 1 it is per cent
}

// Where an ability comes from.
const (
	FromTraining   = "trained"
	FromBenchmarks = "benchmarks"
	FromQuality    = "quality"
	FromPrior      = "prior"
)

// Ability is what a model can do, by the best that is known of it: what was learned from its own answers when the name
// is one of those trained with, else a fit to its scores, else to its quality, the mean chance of a good answer. With
// nothing known it is the mean of the models learned from. An empty name asks for the fit, whoever it is.
//
// Few models were recorded on every kind of prompt, so scores of a trained one are heard too, but quietly.
func (p *Predictor) Ability(name string, scores []Score, quality float64) Ability {
	g := p.gauges.of(p)
	targets := g.targets(scores)
	if name != "" {
		if a, ok := p.Trained(name); ok {
			return g.refined(a, targets)
		}
	}
	if len(targets) > 0 {
		return g.fit(g.prior, targets, FromBenchmarks)
	}
	if quality > 0 && quality <= 1 {
		return g.atQuality(quality)
	}
	return g.fit(g.prior, nil, FromPrior)
}

// trainedHold is how much closer a trained vector is held than the prior's mean, in variances.
const trainedHold = 3

// refined lets scores move a trained ability.
func (g *gauge) refined(a Ability, targets []target) Ability {
	if len(targets) == 0 {
		return a
	}
	held := belief{mean: a.Vector, precision: newSquare(g.prior.precision.n)}
	for i, v := range g.prior.precision.v {
		held.precision.v[i] = trainedHold * v
	}
	moved := g.fit(held, targets, a.Source)
	moved.Spread = min(moved.Spread, a.Spread)
	return moved
}

// Trained is the ability that was learned from a model's own answers, by any spelling of its name.
func (p *Predictor) Trained(name string) (Ability, bool) {
	for _, spelling := range spellings(name) {
		if a, ok := p.Known(spelling); ok {
			return a, true
		}
	}
	return Ability{}, false
}

// gaugeOnce makes the gauge of a predictor when it is first needed: reading the probes takes some milliseconds.
type gaugeOnce struct {
	once  sync.Once
	gauge *gauge
}

func (o *gaugeOnce) of(p *Predictor) *gauge {
	o.once.Do(func() { o.gauge = newGauge(p) })
	return o.gauge
}

// gauge turns scores into abilities.
type gauge struct {
	prior    belief
	pools    map[string]*pool // by folded name of the benchmark
	families map[string]*pool
	general  []Anchor // of the families that ask a bit of everything
	typical  []Anchor // some of these
}

func newGauge(p *Predictor) *gauge {
	prior := p.Prior()
	n := len(prior.Mean)
	covariance := newSquare(n)
	for i := range n {
		copy(covariance.v[i*n:(i+1)*n], prior.Covariance[i])
	}
	g := &gauge{prior: belief{prior.Mean, covariance.factor().inverse()}, pools: map[string]*pool{}, families: map[string]*pool{}}
	for _, name := range p.Benchmarks() {
		g.pools[folded(name)] = &pool{thinned(p.Anchors(name))}
	}
	for name, prompts := range probes {
		g.addProbes(p, folded(name), prompts)
	}
	for name := range families {
		g.families[name] = &pool{g.family(name)}
	}
	for _, name := range generalFamilies {
		g.general = append(g.general, g.families[name].anchors...)
	}
	g.general = normalised(g.general)
	g.typical = thinned(g.general)
	return g
}

// addProbes makes anchors of prompts, for a benchmark the artefact has none of.
func (g *gauge) addProbes(p *Predictor, name string, prompts []string) {
	if g.pools[name] != nil {
		return
	}
	anchors := make([]Anchor, len(prompts))
	for i, text := range prompts {
		anchors[i] = Anchor{Skills: p.Features(Prompt{Text: text}).Skills, Weight: 1 / float64(len(prompts))}
	}
	g.pools[name] = &pool{anchors}
}

// family is the anchors of a family of benchmarks, weighing one together. It is every anchor there is when the artefact
// has none of the family.
func (g *gauge) family(name string) []Anchor {
	var list []Anchor
	for _, benchmark := range families[name].benchmarks {
		if p := g.pools[folded(benchmark)]; p != nil {
			list = append(list, p.anchors...)
		}
	}
	if len(list) == 0 {
		for _, benchmark := range sortedKeys(g.pools) {
			list = append(list, g.pools[benchmark].anchors...)
		}
	}
	return thinned(list)
}

// mostAnchors is enough for a mean.
const mostAnchors = 32

// thinned keeps anchors at even steps, with the weights normalised.
func thinned(anchors []Anchor) []Anchor {
	if len(anchors) <= mostAnchors {
		return normalised(anchors)
	}
	kept := make([]Anchor, mostAnchors)
	for i := range kept {
		kept[i] = anchors[i*len(anchors)/mostAnchors]
	}
	return normalised(kept)
}

// normalised scales the weights so that they sum to one.
func normalised(anchors []Anchor) []Anchor {
	sum := 0.0
	for _, a := range anchors {
		sum += a.Weight
	}
	scaled := make([]Anchor, len(anchors))
	for i, a := range anchors {
		scaled[i] = Anchor{Skills: a.Skills, Weight: a.Weight / max(sum, 1e-12)}
	}
	return scaled
}

// atQuality moves the intercept of the mean model until its mean chance over general prompts is the quality.
func (g *gauge) atQuality(quality float64) Ability {
	quality = min(max(quality, 0.02), 0.98)
	a := g.fit(g.prior, nil, FromQuality)
	low, high := a.Vector[0]-20, a.Vector[0]+20
	for range 60 {
		a.Vector[0] = (low + high) / 2
		if meanChance(g.general, a.Vector) < quality {
			low = a.Vector[0]
		} else {
			high = a.Vector[0]
		}
	}
	a.Spread *= 0.8 // one number says where the model stands, not what it is good at
	return a
}

func meanChance(anchors []Anchor, vector []float64) float64 {
	sum := 0.0
	for _, a := range anchors {
		sum += a.Weight * sigmoid(vector[0]+dot(a.Skills, vector[1:]))
	}
	return sum
}
