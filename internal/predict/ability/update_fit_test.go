package ability

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/predict"
)

// untrained returns a trained model's ability fitted from its scores only, and the trained vector that the fit should reproduce.
func untrained(p *predict.Predictor, name string) (fitted predict.Ability, truth []float64) {
	a, _ := p.Known(name)
	var scores []Score
	for _, benchmark := range []string{"mmlu", "mmlu_pro", "gsm8k", "math_l5", "bfcl", "mbpp", "zebra_grid"} {
		scores = append(scores, Score{benchmark, meanProbability(p.Anchors(benchmark), a.Vector)})
	}
	return New(p).Ability("", scores, 0), a.Vector
}

// rated returns rated responses of a model to prompts of a benchmark.
func rated(p *predict.Predictor, r *rand.Rand, benchmark string, n int, truth []float64) []Label {
	labels, anchors := make([]Label, n), p.Anchors(benchmark)
	for i := range labels {
		z := anchors[r.IntN(len(anchors))].Skills
		labels[i] = Label{Skills: z, Weight: 1}
		if r.Float64() < sigmoid(truth[0]+dot(z, truth[1:])) {
			labels[i].Score = 1
		}
	}
	return labels
}

// squaredError returns the squared error of the logits over the prompts of a benchmark.
func squaredError(p *predict.Predictor, benchmark string, a predict.Ability, truth []float64) float64 {
	away, sum := difference(a.Vector, truth), 0.0
	for _, x := range p.Anchors(benchmark) {
		sum += x.Weight * math.Pow(away[0]+dot(x.Skills, away[1:]), 2)
	}
	return sum
}

// A fit to scores is already good, so a hundred ratings change it little, and even less for other kinds of prompts.
func TestFewRatingsImproveAFit(t *testing.T) {
	t.Parallel()
	p, err := predict.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(17, 1))
	var before, after, elsewhereBefore, elsewhereAfter float64
	for _, name := range p.Models() {
		fitted, truth := untrained(p, name)
		for _, benchmark := range []string{"mmlu", "gsm8k", "bfcl"} {
			got := Update(fitted, rated(p, r, benchmark, 100, truth))
			before += squaredError(p, benchmark, fitted, truth)
			after += squaredError(p, benchmark, got, truth)
			for _, other := range []string{"mbpp", "zebra_grid", "mmlu_pro"} {
				elsewhereBefore += squaredError(p, other, fitted, truth)
				elsewhereAfter += squaredError(p, other, got, truth)
			}
		}
	}
	if after > 0.95*before || elsewhereAfter > elsewhereBefore {
		t.Errorf("the squared error changed from %.2f to %.2f on rated benchmarks and from %.2f to %.2f on others, want lower errors",
			before, after, elsewhereBefore, elsewhereAfter)
	}
}

func TestManyRatingsReplaceTheFit(t *testing.T) {
	t.Parallel()
	p, err := predict.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []float64{-2, 1.5} {
		fitted, truth := untrained(p, "gpt-4o-mini-2024-07-18")
		truth = append([]float64(nil), truth...)
		truth[0] += off
		got := Update(fitted, rated(p, rand.New(rand.NewPCG(5, 1)), "mmlu", 400, truth))
		want, before, after := meanProbability(p.Anchors("mmlu"), truth), meanProbability(p.Anchors("mmlu"), fitted.Vector), meanProbability(p.Anchors("mmlu"), got.Vector)
		if moved := (after - before) / (want - before); moved < 0.75 || moved > 1.15 || got.Spread > fitted.Spread/1.2 {
			t.Errorf("shift %v: mean probability changed from %.3f to %.3f, want %.3f; spread %.3f, fitted %.3f",
				off, before, after, want, got.Spread, fitted.Spread)
		}
	}
}

// train/ability.py computes the figures of the model card. Its updates must equal the results of Update.
func TestUpdateMatchesModelCard(t *testing.T) {
	t.Parallel()
	fitted := predict.Ability{Vector: []float64{0.3, 1, -0.2}, Spread: 0.6, Precision: []float64{4, 0, 0, 1, 9, 0, -0.5, 2, 6}}
	skills := [][]float64{{0.5, -1}, {-1, 0.25}, {2, 0}, {0.1, 0.7}}
	scores := []float64{1, 0, 1, 0.25, 0, 0, 1, 1, 1, 0}
	var labels []Label
	for i := range 20 {
		labels = append(labels, Label{Skills: skills[i%4], Score: scores[i%10], Weight: 1})
	}
	want := []float64{-0.00543639, 0.99988182, -0.41245095}
	if diff := cmp.Diff(want, Update(fitted, labels).Vector, cmpopts.EquateApprox(0, 1e-7)); diff != "" {
		t.Error(diff)
	}
}
