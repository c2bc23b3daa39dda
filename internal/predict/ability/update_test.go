package ability

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/predict"
)

// draws returns random prompts with outcomes of a model with the given true ability.
func draws(seed uint64, n, skills int, truth []float64) []Label {
	r := rand.New(rand.NewPCG(seed, 1))
	labels := make([]Label, n)
	for i := range labels {
		z := make([]float64, skills)
		for k := range z {
			z[k] = r.NormFloat64() / 2
		}
		labels[i] = Label{Skills: z, Weight: 1}
		if r.Float64() < sigmoid(truth[0]+dot(z, truth[1:])) {
			labels[i].Score = 1
		}
	}
	return labels
}

// distance returns the mean error of the success probability over new prompts.
func distance(a, truth []float64) float64 {
	sum := 0.0
	for _, l := range draws(99, 400, len(a)-1, truth) {
		sum += math.Abs(sigmoid(a[0]+dot(l.Skills, a[1:])) - sigmoid(truth[0]+dot(l.Skills, truth[1:])))
	}
	return sum / 400
}

func TestUpdateMovesAbilityTowardsTruth(t *testing.T) {
	t.Parallel()
	truth := []float64{1.2, 0.8, -0.5, 0, 0.6, 0, 0, 0.3, 0}
	start := predict.Ability{Vector: []float64{-0.2, 0.4, 0, 0, 0.2, 0, 0.1, 0, 0}, Spread: 0.8, Source: predict.FromBenchmarks}
	last := distance(start.Vector, truth)
	for _, n := range []int{10, 100, 1000, 10_000} {
		got := Update(start, draws(7, n, 8, truth))
		now := distance(got.Vector, truth)
		if now >= last {
			t.Errorf("%d ratings: error %.4f, want less than %.4f", n, now, last)
		}
		if got.Spread >= start.Spread || got.Source != start.Source {
			t.Errorf("%d ratings: spread %.3f, source %s; want less than %.3f, source %s",
				n, got.Spread, got.Source, start.Spread, start.Source)
		}
		last = now
	}
}

func TestUpdateWithoutUsableRatingsChangesNothing(t *testing.T) {
	t.Parallel()
	start := predict.Ability{Vector: []float64{1, 2}, Spread: 0.5, Source: predict.FromTraining}
	for name, labels := range map[string][]Label{
		"none":            nil,
		"without weight":  {{Skills: []float64{1}, Score: 1}},
		"of other skills": {{Skills: []float64{1, 2}, Score: 1, Weight: 1}},
		"NaN":             {{Skills: []float64{1}, Score: math.NaN(), Weight: 1}},
	} {
		if diff := cmp.Diff(start, Update(start, labels)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestUpdateMovesInterceptFirst(t *testing.T) {
	t.Parallel()
	start := predict.Ability{Vector: []float64{0, 0.5, 0.5}, Spread: 0.6}
	few := draws(3, 5, 2, []float64{3, 0.5, 0.5})
	got := Update(start, few)
	moved := math.Hypot(got.Vector[1]-0.5, got.Vector[2]-0.5)
	if got.Vector[0] < 0.1 || moved > got.Vector[0]/2 {
		t.Errorf("intercept changed by %.3f, skills by %.3f; want mostly the intercept", got.Vector[0], moved)
	}
}

func TestContradictingRatingsStayBounded(t *testing.T) {
	t.Parallel()
	start := predict.Ability{Vector: []float64{0.3, 1}, Spread: 0.5}
	var labels []Label
	for i := range 2000 {
		labels = append(labels, Label{Skills: []float64{1}, Score: float64(i % 2), Weight: 1})
	}
	got := Update(start, labels)
	if p := sigmoid(got.Vector[0] + got.Vector[1]); math.Abs(p-0.5) > 0.02 || largest(got.Vector) > 3 {
		t.Errorf("probability %.3f, vector %v; want about 0.5 and values up to 3", p, got.Vector)
	}
	all := Update(start, []Label{{Skills: []float64{5}, Score: 1, Weight: 1e6}, {Skills: []float64{-5}, Score: 1, Weight: 1e6}})
	for _, v := range all.Vector {
		if math.IsNaN(v) || math.Abs(v) > 50 {
			t.Errorf("ratings with a large weight gave %v, want finite values up to 50", all.Vector)
		}
	}
}

func TestBetterRatingNeverLowersProbability(t *testing.T) {
	t.Parallel()
	start := predict.Ability{Vector: []float64{0.2, 0.5, -0.5, 0.1}, Spread: 0.7}
	labels := draws(11, 60, 3, []float64{0, 1, 0, 0})
	for i := range labels {
		last := -1.0
		for _, score := range []float64{0, 0.25, 0.5, 1, 7} {
			labels[i].Score = score
			a := Update(start, labels)
			now := predict.Success(&predict.Features{Skills: labels[i].Skills}, &a).Probability
			if now < last-1e-9 {
				t.Fatalf("rating %d lowered the probability to %.6f from %.6f", i, now, last)
			}
			last = now
		}
		labels[i].Score = 0.5
	}
}

func TestLowWeightRatingsCountLess(t *testing.T) {
	t.Parallel()
	start := predict.Ability{Vector: []float64{0, 0}, Spread: 0.6}
	fresh := Update(start, []Label{{Skills: []float64{0}, Score: 1, Weight: 1}})
	old := Update(start, []Label{{Skills: []float64{0}, Score: 1, Weight: 0.1}})
	if !(0 < old.Vector[0] && old.Vector[0] < fresh.Vector[0]/2) {
		t.Errorf("recent ratings changed the intercept by %.4f, old ratings by %.4f; want less than half", fresh.Vector[0], old.Vector[0])
	}
}
