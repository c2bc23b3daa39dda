package feedback

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/predict"
)

// simulation generates random outcomes of a workspace. shift is the difference between the true and the static logit of each model.
type simulation struct {
	*rand.Rand
	shift map[string]float64
	n     int
}

func newSimulation(seed uint64, shift map[string]float64) *simulation {
	return &simulation{Rand: rand.New(rand.NewPCG(seed, 3)), shift: shift}
}

func (w *simulation) probability(model string, r *Rating) float64 {
	return sigmoid(logit(bases[model].Vector, r.Skills) + w.shift[model])
}

func (w *simulation) good(model string, r *Rating) float64 {
	if w.Float64() < w.probability(model, r) {
		return 1
	}
	return 0
}

func (w *simulation) rated(model string) Rating {
	w.n++
	r := draft(w.n, model, 0)
	r.Time, r.Task = start.Add(time.Duration(w.n)*time.Minute), []predict.Task{predict.Code, predict.Maths}[w.IntN(2)]
	r.Skills = []float64{w.NormFloat64() / 2, w.NormFloat64() / 2}
	r.Score = w.good(model, &r)
	return r
}

func (w *simulation) compared() Rating {
	r := w.rated("small")
	r.Source, r.Other = FromShadow, "large"
	r.Score = (1 + r.Score - w.good("large", &r)) / 2
	return r
}

func many(n int, draw func() Rating) []Rating {
	list := make([]Rating, n)
	for i := range list {
		list[i] = draw()
	}
	return list
}

// fitted returns the corrections that an index derives from outcomes.
func fitted(outcomes []Rating) *Corrections {
	b := newTestBook(newFakeStore(), &clock{t: start})
	return &Corrections{Abilities: b.fit(b.usable(outcomes))}
}

// meanOf returns the mean success probability of a model over typical prompts of a task.
func meanOf(c *Corrections, model string, task predict.Task) float64 {
	if err := c.setVersion(); err != nil {
		panic(err)
	}
	base := bases[model]
	sum := 0.0
	for i := range 200 {
		skills := []float64{math.Sin(float64(i)) / 2, math.Cos(float64(3*i)) / 2}
		sum += sigmoid(logit(c.Ability(model, task, &base).Vector, skills))
	}
	return sum / 200
}

func TestOutcomesThatAgreeWithThePredictorChangeLittle(t *testing.T) {
	t.Parallel()
	const runs = 40
	change := map[string]float64{}
	for seed := range uint64(runs) {
		w := newSimulation(seed, nil)
		c := fitted(append(many(150, func() Rating { return w.rated("small") }), many(150, func() Rating { return w.rated("large") })...))
		for model := range bases {
			change[model] += (meanOf(c, model, predict.Code) - meanOf(&Corrections{}, model, predict.Code)) / runs
		}
	}
	for model, mean := range change {
		if math.Abs(mean) > 0.02 {
			t.Errorf("%s changed by %.3f on average, want at most 0.02", model, mean)
		}
	}
}

func TestRatingsOfOneModelAreLearned(t *testing.T) {
	t.Parallel()
	w := newSimulation(2, map[string]float64{"small": 1.5})
	c := fitted(append(many(600, func() Rating { return w.rated("small") }), many(600, func() Rating { return w.rated("large") })...))
	before, after := meanOf(&Corrections{}, "small", predict.Maths), meanOf(c, "small", predict.Maths)
	if after < before+0.05 || c.Abilities["small"].Ratings != 600 {
		t.Errorf("mean changed from %.3f to %.3f, want at least 0.05 more; %+v", before, after, c.Abilities["small"])
	}
}

func TestRatingsOfATaskShiftItMost(t *testing.T) {
	t.Parallel()
	w := newSimulation(3, nil)
	list := many(300, func() Rating { return w.rated("small") })
	for i := range list {
		if list[i].Task == predict.Maths {
			list[i].Score = 0
		}
	}
	c, none := fitted(list), &Corrections{}
	code := meanOf(c, "small", predict.Code) - meanOf(none, "small", predict.Code)
	if maths := meanOf(c, "small", predict.Maths) - meanOf(none, "small", predict.Maths); maths > -0.1 || maths > code-0.1 {
		t.Errorf("bad ratings for maths shifted maths by %.3f and code by %.3f", maths, code)
	}
}

func TestVerdictsMoveBothModelsApart(t *testing.T) {
	t.Parallel()
	w := newSimulation(4, map[string]float64{"small": 1})
	c := fitted(many(2000, w.compared))
	truth, n := 0.0, 400
	for range n {
		r := w.compared()
		truth += (w.probability("small", &r) - w.probability("large", &r)) / float64(n)
	}
	before := meanOf(&Corrections{}, "small", predict.Code) - meanOf(&Corrections{}, "large", predict.Code)
	after := meanOf(c, "small", predict.Code) - meanOf(c, "large", predict.Code)
	if math.Abs(after-truth) > math.Abs(before-truth)/2 {
		t.Errorf("difference %.3f before, %.3f after, true difference %.3f", before, after, truth)
	}
}

func TestTiesOfEqualModelsChangeNothing(t *testing.T) {
	t.Parallel()
	w := newSimulation(5, nil)
	list := many(200, w.compared)
	for i := range list {
		list[i].Score = 0.5
	}
	b := newTestBook(newFakeStore(), &clock{t: start})
	b.options.Base = func(string) (predict.Ability, bool) { return bases["small"], true }
	if diff := cmp.Diff(bases["small"].Vector, b.fit(b.usable(list))["small"].Corrected.Vector); diff != "" {
		t.Error(diff)
	}
}

func TestOrderOfOutcomesDoesNotMatter(t *testing.T) {
	t.Parallel()
	w := newSimulation(8, map[string]float64{"small": 1})
	list := append(many(100, func() Rating { return w.rated("small") }), many(100, w.compared)...)
	want := fitted(list)
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if diff := cmp.Diff(want, fitted(list)); diff != "" {
		t.Error(diff)
	}
}
