package feedback

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/route/predict"
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
	return sigmoid(logit(r, new(bases[model])) + w.shift[model])
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
	r.Time, r.Task = start.Add(time.Duration(w.n)*time.Minute), []predict.Family{predict.Code, predict.Maths}[w.IntN(2)]
	r.Difficulty = 3 * w.Float64()
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

func TestFitFindsTheShiftOfAWorkspace(t *testing.T) {
	t.Parallel()
	const runs = 20
	both := func(w *simulation) []Rating {
		return append(many(200, func() Rating { return w.rated("small") }), many(200, func() Rating { return w.rated("large") })...)
	}
	badMaths := func(w *simulation) []Rating {
		list := both(w)
		for i := range list {
			if list[i].Task == predict.Maths {
				list[i].Score = 0
			}
		}
		return list
	}
	none, up := map[string]float64{}, map[string]float64{"small": 1.5}
	for _, c := range []struct {
		name           string
		shift          map[string]float64
		outcomes       func(w *simulation) []Rating
		model          string
		family         predict.Family
		atLeast, below float64 // mean shift
	}{
		{"agreement changes little", none, both, "small", predict.Code, -0.1, 0.1},
		{"agreement changes little", none, both, "large", predict.Maths, -0.1, 0.1},
		{"a better model in a rated family", up, both, "small", predict.Maths, 1.1, 1.6},
		{"a better model in a family without ratings", up, both, "small", predict.Chat, 0.9, 1.6},
		{"the other model stays", up, both, "large", predict.Maths, -0.1, 0.1},
		{"bad maths", none, badMaths, "small", predict.Maths, -4, -1.5},
		{"code after bad maths", none, badMaths, "small", predict.Code, -1, -0.1},
		{"verdicts raise the better model", up, func(w *simulation) []Rating { return many(500, w.compared) }, "small", predict.Code, 0.5, 1.2},
		{"verdicts lower the other", up, func(w *simulation) []Rating { return many(500, w.compared) }, "large", predict.Code, -1, -0.3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mean := 0.0
			for seed := range uint64(runs) {
				mean += fitted(t, c.outcomes(newSimulation(seed, c.shift)), dayOf(start)).Shift(c.model, c.family) / runs
			}
			if !(mean >= c.atLeast && mean < c.below) {
				t.Errorf("%s in %s moved by %.3f, want at least %v and below %v", c.model, c.family, mean, c.atLeast, c.below)
			}
		})
	}
}

func TestSpreadShrinksInRatedFamilies(t *testing.T) {
	t.Parallel()
	w := newSimulation(6, nil)
	b := newTestBook(newFakeStore(), &clock{t: start})
	spreads := b.fit(b.usable(many(200, func() Rating { return w.rated("small") })))["small"].spreads
	if code, chat := spreads[predict.Code.Index()], spreads[predict.Chat.Index()]; !(code < 0.3 && chat > 0.6) {
		t.Errorf("spread %.3f with a hundred outcomes, %.3f without; want below 0.3, above 0.6", code, chat)
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
	if c, err := b.fit(b.usable(list)).corrections(); err != nil || len(c.Shifts) > 0 {
		t.Errorf("shifts %v, %v; want none", c.Shifts, err)
	}
}

func TestOrderOfOutcomesDoesNotMatter(t *testing.T) {
	t.Parallel()
	w := newSimulation(8, map[string]float64{"small": 1})
	list := append(many(100, func() Rating { return w.rated("small") }), many(100, w.compared)...)
	want := fitted(t, list, dayOf(start))
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if diff := cmp.Diff(want, fitted(t, list, dayOf(start))); diff != "" {
		t.Error(diff)
	}
}
