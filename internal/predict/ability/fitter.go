// Package ability estimates the abilities of models. It fits ability vectors to published benchmark scores or to a mean quality, and
// corrects them with ratings. Success probabilities are computed by package predict. It performs no I/O.
package ability

import (
	"sync"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/predict"
)

// Source is the trained data that abilities are fitted with; *predict.Predictor implements it.
type Source interface {
	Prior() predict.Prior
	Benchmarks() []string
	Anchors(benchmark string) []predict.Anchor
	Known(model string) (predict.Ability, bool)
	Features(prompt predict.Prompt) predict.Features
	Families() []predict.Family
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
	Value     float64 // score as a share from 0 to 1; values above 1 are percentages
}

// Of returns the ability of a catalog model. Every package that predicts success uses Of, so that the predictions agree. A quality set by
// the operator takes precedence over recorded outcomes.
func (f *Fitter) Of(m *catalog.Model) predict.Ability {
	name := m.Name
	if m.QualitySource == catalog.OverrideSource {
		name = ""
	}
	return f.Ability(name, scoresOf(m), m.Quality)
}

// Named returns the ability of a model by any of its names in the catalog. Models that are not in the catalog are found by
// their names in the training data. It returns false if nothing is known about the model.
func (f *Fitter) Named(known *catalog.Catalog, name string) (predict.Ability, bool) {
	if m, ok := known.Model(name); ok {
		a := f.Of(m)
		return a, a.Source != predict.FromPrior
	}
	if _, ok := f.Trained(name); !ok {
		return predict.Ability{}, false
	}
	return f.Ability(name, nil, 0), true
}

func scoresOf(m *catalog.Model) []Score {
	scores := make([]Score, len(m.Benchmarks))
	for i, b := range m.Benchmarks {
		scores[i] = Score{Benchmark: b.Name, Value: b.Value}
	}
	return scores
}

// Ability returns the best available estimate of a model's ability: the trained ability if the training data has the name,
// otherwise a fit to the scores, otherwise a fit to the quality. Without any of these it is the mean of the trained models.
// An empty name never selects a trained ability.
//
// Most trained models have few or no outcomes for some families of prompts. The scores change a trained ability mostly for
// these families.
func (f *Fitter) Ability(name string, scores []Score, quality float64) predict.Ability {
	a := f.estimate(name, scores, quality)
	a.Mean = meanProbability(f.lazy().general, a.Vector)
	return a
}

func (f *Fitter) estimate(name string, scores []Score, quality float64) predict.Ability {
	g := f.lazy()
	targets := g.targets(scores)
	if name != "" {
		if a, ok := f.Trained(name); ok {
			return g.measured(a, targets)
		}
	}
	if len(targets) > 0 {
		return g.scored(targets)
	}
	if quality > 0 && quality <= 1 {
		return g.atQuality(quality)
	}
	return g.fit(g.prior, nil, predict.FromPrior)
}

// Trained returns the ability that was learned from a model's own responses. It accepts any spelling of the name.
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
	pools    map[string]*anchorPool // anchor pools by folded benchmark name
	families map[string]*anchorPool
	general  []predict.Anchor // anchors of the general families
	typical  []predict.Anchor // subset of general, used to compute spreads
	recorded []recordedFamily
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
	for name, prompts := range probes { // probes are used for benchmarks that the artefact does not have
		if g.pools[fold(name)] != nil {
			continue
		}
		anchors := make([]predict.Anchor, len(prompts))
		for i, text := range prompts {
			anchors[i] = predict.Anchor{Skills: p.Features(predict.Prompt{Text: text}).Skills, Weight: 1 / float64(len(prompts))}
		}
		g.pools[fold(name)] = &anchorPool{anchors}
	}
	for name := range families {
		g.families[name] = &anchorPool{g.family(name)}
	}
	for _, name := range generalFamilies {
		g.general = append(g.general, g.families[name].anchors...)
	}
	g.general = normalise(g.general)
	g.typical = thin(g.general)
	g.addRecorded(p)
	return g
}

// family returns at most maxAnchors anchors of a benchmark family, with weights that sum to one. If the artefact does not have the family,
// it selects from the anchors of all benchmarks.
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

// maxAnchors is the maximum number of anchors that thin keeps. It is enough to estimate a mean.
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

// atQuality estimates the ability of a model from its quality alone, which it converts to a general strength. A configured quality has the
// same scale as catalog qualities.
func (g *abilityFitter) atQuality(quality float64) predict.Ability {
	const centre, slope = 1.04, 1.04 // line from strength to the logit of quality, fitted to the 196 catalog models with a quality and scores
	strength := (logit(quality) - centre) / slope
	targets := make([]target, len(generalFamilies))
	for i, name := range generalFamilies {
		targets[i] = g.atStrength(name, strength, strengthNoise)
	}
	a := g.fit(g.prior, targets, predict.FromQuality)
	g.addOffsets(a.Vector)
	return a
}

func meanProbability(anchors []predict.Anchor, vector []float64) float64 {
	sum := 0.0
	for _, a := range anchors {
		sum += a.Weight * sigmoid(vector[0]+dot(a.Skills, vector[1:]))
	}
	return sum
}
