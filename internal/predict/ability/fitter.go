// Package ability estimates what models can do: it fits ability vectors to published benchmark scores or to a mean
// quality, and corrects them by ratings. Success probabilities are computed by package predict. It performs no I/O.
package ability

import (
	"sync"

	"fairlead/internal/predict"
)

// Source is the trained data that abilities are fitted with; *predict.Predictor implements it.
type Source interface {
	Prior() predict.Prior
	Benchmarks() []string
	Anchors(benchmark string) []predict.Anchor
	Known(model string) (predict.Ability, bool)
	Features(prompt predict.Prompt) predict.Features
}

// Fitter estimates the abilities of models. It is safe for concurrent use.
type Fitter struct {
	source Source
	lazy   func() *abilityFitter // created on first use, because reading the probes takes some milliseconds
}

// New returns a fitter that uses the trained data of source.
func New(source Source) *Fitter {
	return &Fitter{source: source, lazy: sync.OnceValue(func() *abilityFitter { return newAbilityFitter(source) })}
}

// Score is a model's score on a benchmark.
type Score struct {
	Benchmark string
	Value     float64 // a share from 0 to 1; values above 1 are percentages
}

// Ability returns the best available estimate of a model's ability: the trained ability if the name is one of the
// training data, otherwise a fit to its scores, otherwise to its quality, the mean success probability. Without any
// of these it is the mean of the trained models. An empty name always selects the fit.
//
// Few models were recorded on every kind of prompt, so scores also adjust a trained ability, with a low weight.
func (f *Fitter) Ability(name string, scores []Score, quality float64) predict.Ability {
	g := f.lazy()
	targets := g.targets(scores)
	if name != "" {
		if a, ok := f.Trained(name); ok {
			return g.refine(a, targets)
		}
	}
	if len(targets) > 0 {
		return g.fit(g.prior, targets, predict.FromBenchmarks)
	}
	if quality > 0 && quality <= 1 {
		return g.atQuality(quality)
	}
	return g.fit(g.prior, nil, predict.FromPrior)
}

// trainedPrecision is how much more precise a trained vector is than the prior's mean, in variances.
const trainedPrecision = 3

// refine adjusts a trained ability by scores.
func (g *abilityFitter) refine(a predict.Ability, targets []target) predict.Ability {
	if len(targets) == 0 {
		return a
	}
	held := gaussianPrior{mean: a.Vector, precision: newSquare(g.prior.precision.n)}
	for i, v := range g.prior.precision.v {
		held.precision.v[i] = trainedPrecision * v
	}
	moved := g.fit(held, targets, a.Source)
	moved.Spread = min(moved.Spread, a.Spread)
	return moved
}

// Trained returns the ability learned from a model's own responses, under any spelling of its name.
func (f *Fitter) Trained(name string) (predict.Ability, bool) {
	for _, spelling := range spellings(name) {
		if a, ok := f.source.Known(spelling); ok {
			return a, true
		}
	}
	return predict.Ability{}, false
}

// abilityFitter fits abilities to benchmark scores.
type abilityFitter struct {
	prior    gaussianPrior
	pools    map[string]*anchorPool // by folded benchmark name
	families map[string]*anchorPool
	general  []predict.Anchor // anchors of the general families
	typical  []predict.Anchor // subset of general
}

func newAbilityFitter(p Source) *abilityFitter {
	prior := p.Prior()
	n := len(prior.Mean)
	covariance := newSquare(n)
	for i := range n {
		copy(covariance.v[i*n:(i+1)*n], prior.Covariance[i])
	}
	g := &abilityFitter{prior: gaussianPrior{prior.Mean, covariance.factor().inverse()}, pools: map[string]*anchorPool{}, families: map[string]*anchorPool{}}
	for _, name := range p.Benchmarks() {
		g.pools[fold(name)] = &anchorPool{thin(p.Anchors(name))}
	}
	for name, prompts := range probes {
		g.addProbes(p, fold(name), prompts)
	}
	for name := range families {
		g.families[name] = &anchorPool{g.family(name)}
	}
	for _, name := range generalFamilies {
		g.general = append(g.general, g.families[name].anchors...)
	}
	g.general = normalise(g.general)
	g.typical = thin(g.general)
	return g
}

// addProbes creates anchors from prompts, for a benchmark that the artefact does not have.
func (g *abilityFitter) addProbes(p Source, name string, prompts []string) {
	if g.pools[name] != nil {
		return
	}
	anchors := make([]predict.Anchor, len(prompts))
	for i, text := range prompts {
		anchors[i] = predict.Anchor{Skills: p.Features(predict.Prompt{Text: text}).Skills, Weight: 1 / float64(len(prompts))}
	}
	g.pools[name] = &anchorPool{anchors}
}

// family returns the anchors of a benchmark family with a total weight of one. It returns all anchors if the artefact
// does not have the family.
func (g *abilityFitter) family(name string) []predict.Anchor {
	var list []predict.Anchor
	for _, benchmark := range families[name].benchmarks {
		if p := g.pools[fold(benchmark)]; p != nil {
			list = append(list, p.anchors...)
		}
	}
	if len(list) == 0 {
		for _, benchmark := range sortedKeys(g.pools) {
			list = append(list, g.pools[benchmark].anchors...)
		}
	}
	return thin(list)
}

// maxAnchors is enough for a mean.
const maxAnchors = 32

// thin keeps evenly spaced anchors and normalises their weights.
func thin(anchors []predict.Anchor) []predict.Anchor {
	if len(anchors) <= maxAnchors {
		return normalise(anchors)
	}
	kept := make([]predict.Anchor, maxAnchors)
	for i := range kept {
		kept[i] = anchors[i*len(anchors)/maxAnchors]
	}
	return normalise(kept)
}

// normalise scales the weights so that they sum to one.
func normalise(anchors []predict.Anchor) []predict.Anchor {
	sum := 0.0
	for _, a := range anchors {
		sum += a.Weight
	}
	scaled := make([]predict.Anchor, len(anchors))
	for i, a := range anchors {
		scaled[i] = predict.Anchor{Skills: a.Skills, Weight: a.Weight / max(sum, 1e-12)}
	}
	return scaled
}

// atQuality moves the intercept of the mean model until its mean success probability over general prompts equals the
// quality.
func (g *abilityFitter) atQuality(quality float64) predict.Ability {
	quality = min(max(quality, 0.02), 0.98)
	a := g.fit(g.prior, nil, predict.FromQuality)
	low, high := a.Vector[0]-20, a.Vector[0]+20
	for range 60 {
		a.Vector[0] = (low + high) / 2
		if meanProbability(g.general, a.Vector) < quality {
			low = a.Vector[0]
		} else {
			high = a.Vector[0]
		}
	}
	a.Spread *= 0.8 // one number gives the overall level, not the strengths
	return a
}

func meanProbability(anchors []predict.Anchor, vector []float64) float64 {
	sum := 0.0
	for _, a := range anchors {
		sum += a.Weight * sigmoid(vector[0]+dot(a.Skills, vector[1:]))
	}
	return sum
}
