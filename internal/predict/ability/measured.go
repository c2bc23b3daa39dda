package ability

import (
	"slices"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/predict"
)

const (
	minRecords    = 100  // minimum number of a model's outcomes in a prompt family for the family to count as measured
	scoreOutcomes = 25   // weight of a model's scores as an equivalent number of recorded outcomes, derived from a standard deviation of 0.4 logits
	minLinks      = 4    // minimum number of models with both outcomes and scores for estimating the level of a family only from the scores
	meanStrength  = -1.2 // mean strength of the recorded models
	// strengthShrinkage is the number of recorded families above which a model's own strength outweighs meanStrength. derivedShrinkage is
	// the number above which the level in the trained vector outweighs the level derived from the strength.
	strengthShrinkage, derivedShrinkage = 0.6, 3
	shrinkage                           = 1.0 // weight of the overall mean offset in a family's offset, as an equivalent number of models
)

// recordedFamily is a prompt family in the training data.
type recordedFamily struct {
	predict.Family
	pool   *anchorPool
	sparse bool    // whether only small models are recorded; the prior is then wrong for larger models
	scale  family  // relation between mean success probability and strength
	offset float64 // mean difference between recorded abilities and abilities fitted to published scores, in logits
	links  float64 // number of models that the offset is computed from
}

// addRecorded reads the families of the training data, and computes the difference between published scores and recorded outcomes over the
// catalog models that have both.
func (g *abilityFitter) addRecorded(p Source) {
	for _, f := range p.Families() {
		// Collect the anchors whose largest family share belongs to family f. A name with a slash denotes a part of a benchmark that is
		// also listed as a whole. The parts are skipped because their prompts would count twice.
		var anchors []predict.Anchor
		for _, name := range p.Benchmarks() {
			if strings.Contains(name, "/") {
				continue
			}
			for _, a := range p.Anchors(name) {
				if a.Skills[f.Level-1] > 0.5 {
					anchors = append(anchors, a)
				}
			}
		}
		scale := family{slope: 1}
		for _, key := range sortedKeys(families) {
			if slices.Contains(families[key].benchmarks, f.Name) {
				scale = families[key]
				break
			}
		}
		sparse := f.Name == "code" || f.Name == "qa"
		g.recorded = append(g.recorded, recordedFamily{Family: f, pool: &anchorPool{normalise(anchors)}, sparse: sparse, scale: scale})
	}
	if len(g.recorded) > 0 {
		g.setOffsets(g.linked(p))
	}
}

// link is a model with recorded outcomes and published scores.
type link struct {
	name      string
	trained   predict.Ability
	published []float64 // vector fitted to the scores, without offsets
}

// linked returns the catalog models with recorded outcomes and scores. Models that share a recorded ability count once.
func (g *abilityFitter) linked(p Source) []link {
	known, err := catalog.Default()
	if err != nil {
		return nil // ignored here, because the callers that serve requests report the error
	}
	var list []link
	seen := map[string]bool{}
	for _, m := range known.Models() {
		for _, name := range spellings(m.Name) {
			a, ok := p.Known(name)
			if !ok || seen[name] || len(m.Benchmarks) == 0 || len(a.Records) != len(g.recorded) {
				continue
			}
			seen[name] = true
			list = append(list, link{m.Name, a, g.fit(g.prior, g.withStrength(g.targets(scoresOf(m))), "").Vector})
			break
		}
	}
	return list
}

// setOffsets sets the offset of each family to the mean over the links with enough records, averaged with the mean offset of
// all families.
func (g *abilityFitter) setOffsets(links []link) {
	sums, counts := make([]float64, len(g.recorded)), make([]float64, len(g.recorded))
	overall, measured := 0.0, 0.0
	for i := range g.recorded {
		f := &g.recorded[i]
		for _, l := range links {
			if l.trained.Records[i] >= minRecords {
				sums[i] += f.logit(l.trained.Vector) - f.logit(l.published)
				counts[i]++
			}
		}
		if counts[i] > 0 && !f.sparse {
			overall += sums[i] / counts[i]
			measured++
		}
	}
	overall /= max(measured, 1)
	for i := range g.recorded {
		g.recorded[i].links = counts[i]
		g.recorded[i].offset = (sums[i] + shrinkage*overall) / (counts[i] + shrinkage)
	}
}

// logit returns the logit of the mean success probability over the prompts of the family.
func (f *recordedFamily) logit(vector []float64) float64 {
	return logit(meanProbability(f.pool.anchors, vector))
}

// scored returns the ability of a model for which only scores are known. If all scores are from published boards, the ability is adjusted
// by the offsets, because leaderboards use other prompts and grading than the recorded benchmarks.
func (g *abilityFitter) scored(targets []target) predict.Ability {
	a := g.fit(g.prior, g.withStrength(targets), predict.FromBenchmarks)
	_, curvature := g.prior.slope(a.Vector, targets) // without the targets of withStrength, which are not additional evidence
	a.Spread, a.Precision = g.spread(curvature), curvature.v
	if published(targets) {
		g.addOffsets(a.Vector)
	}
	return a
}

func (g *abilityFitter) addOffsets(vector []float64) {
	for i := range g.recorded {
		vector[g.recorded[i].Level] += g.recorded[i].offset
	}
}

// measured returns a trained ability with corrected levels for families with few outcomes. The fewer outcomes a family has,
// the more its level follows the scores of the model or, without scores, its strength in the other families.
func (g *abilityFitter) measured(a predict.Ability, targets []target) predict.Ability {
	if len(g.recorded) == 0 || len(a.Records) != len(g.recorded) {
		return a
	}
	precision := g.information(&a)
	for i, v := range g.prior.precision.v {
		precision.v[i] += v
	}
	shifted := predict.Ability{Vector: slices.Clone(a.Vector), Spread: a.Spread, Source: a.Source, Records: a.Records, Precision: precision.v}
	// The general strength is the mean over the recorded families, averaged with the mean of the recorded models.
	sum, count := 0.0, 0.0
	for i := range g.recorded {
		if f := &g.recorded[i]; a.Records[i] >= minRecords && !f.sparse {
			sum += (f.logit(a.Vector) - f.scale.centre) / f.scale.slope
			count++
		}
	}
	strength := (sum + strengthShrinkage*meanStrength) / (count + strengthShrinkage)
	trust := count / (count + derivedShrinkage)
	var scores []float64
	if len(targets) > 0 {
		scores = g.scored(targets).Vector
	}
	for i := range g.recorded {
		f := &g.recorded[i]
		derived, estimate := f.logit(a.Vector), f.scale.centre+f.scale.slope*strength
		switch {
		case scores != nil && f.links >= minLinks:
			estimate = f.logit(scores)
		case scores != nil && f.sparse:
			estimate = (estimate + f.logit(scores)) / 2
		case scores != nil:
			estimate = (derived + f.logit(scores)) / 2
		case !f.sparse:
			estimate += trust * (derived - estimate)
		}
		shifted.Vector[f.Level] += scoreOutcomes / (scoreOutcomes + a.Records[i]) * (estimate - derived)
	}
	return shifted
}

// information returns the precision matrix that the recorded outcomes imply for the vector, with both halves filled.
func (g *abilityFitter) information(a *predict.Ability) square {
	m := newSquare(len(a.Vector))
	row := make([]float64, m.n)
	for i, count := range a.Records {
		for _, anchor := range g.recorded[i].pool.anchors {
			row[0] = 1
			copy(row[1:], anchor.Skills)
			chance := sigmoid(dot(row, a.Vector))
			m.addOuter(row, count*anchor.Weight*chance*(1-chance))
		}
	}
	return m.mirror()
}
