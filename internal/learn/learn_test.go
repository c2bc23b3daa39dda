package learn

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/predict"
)

// runs is the number of simulated runs. The figures in the documentation are from 1,000.
var runs = flag.Int("runs", 40, "simulated runs")

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// bases are the static abilities.
var bases = map[string]predict.Ability{
	"small": {Vector: []float64{0.4, 0.5, -0.2}, Spread: 0.6, Source: predict.FromBenchmarks},
	"large": {Vector: []float64{1.2, 0.4, 0.2}, Spread: 0.4, Source: predict.FromBenchmarks},
}

func baseOf(model string) (predict.Ability, bool) {
	a, ok := bases[model]
	return a, ok
}

func options() Options {
	return Options{Base: baseOf, HalfLife: 30 * 24 * time.Hour, Today: start.AddDate(0, 0, 30), MinVerdicts: 50, Shared: true, Guard: true}
}

// simulation generates random outcomes. shift is the difference between the true and the static logit of each model.
type simulation struct {
	*rand.Rand
	shift map[string]float64
	n     int
}

func newSimulation(seed uint64, shift map[string]float64) *simulation {
	return &simulation{Rand: rand.New(rand.NewPCG(seed, 3)), shift: shift}
}

// next returns the time and the prompt of the next request.
func (w *simulation) next(kind Kind) Outcome {
	w.n++
	tasks := []predict.Task{predict.Code, predict.Maths}
	return Outcome{
		Request: fmt.Sprintf("req_%06d", w.n), At: start.Add(time.Duration(w.n) * 20 * time.Minute), Kind: kind, Weight: 1, Task: tasks[w.IntN(2)],
		Skills: []float64{w.NormFloat64() / 2, w.NormFloat64() / 2},
	}
}

func (w *simulation) good(model string, x *Outcome) float64 {
	if w.Float64() < w.probability(model, x) {
		return 1
	}
	return 0
}

func (w *simulation) probability(model string, x *Outcome) float64 {
	return sigmoid(logitOf(bases[model].Vector, x.Skills) + w.shift[model])
}

func (w *simulation) rated(model string) Outcome {
	x := w.next(Rated)
	x.Model = model
	x.Value = w.good(model, &x)
	return x
}

func (w *simulation) compared() Outcome {
	x := w.next(Compared)
	x.Model, x.Other = "small", "large"
	x.Value = w.good("small", &x) - w.good("large", &x)
	return x
}

func many(n int, draw func() Outcome) []Outcome {
	list := make([]Outcome, n)
	for i := range list {
		list[i] = draw()
	}
	return list
}

// meanOf returns the mean success probability of a model over typical prompts of a task. It uses the learned abilities if s is active
// and has the model, and otherwise the static abilities.
func meanOf(s *State, model string, task predict.Task) float64 {
	m := s.Models[model]
	if m == nil || !s.Active {
		base := bases[model]
		m = &Model{Learned: base}
	}
	sum := 0.0
	for i := range 200 {
		skills := []float64{math.Sin(float64(i)) / 2, math.Cos(float64(3*i)) / 2}
		sum += sigmoid(m.logit(task, skills))
	}
	return sum / 200
}

func TestFewOutcomesChangeNothing(t *testing.T) {
	t.Parallel()
	w := newSimulation(1, map[string]float64{"small": -3})
	for _, n := range []int{0, 1, 49} {
		if s := Fit(many(n, func() Outcome { return w.rated("small") }), options()); s.Active || len(s.Models) > 0 {
			t.Errorf("%d outcomes gave %+v, want the static abilities", n, s)
		}
	}
}

func TestOutcomesThatAgreeWithThePredictorChangeLittle(t *testing.T) {
	t.Parallel()
	active := 0
	for seed := range uint64(40) {
		w := newSimulation(seed, nil)
		s := Fit(append(many(150, func() Outcome { return w.rated("small") }), many(150, func() Outcome { return w.rated("large") })...), options())
		if s.Active {
			active++
		}
		for model := range bases {
			if got, want := meanOf(&s, model, predict.Code), meanOf(&State{}, model, predict.Code); math.Abs(got-want) > 0.12 {
				t.Errorf("seed %d: %s changed from %.3f to %.3f, want at most 0.12", seed, model, want, got)
			}
		}
	}
	if active > 8 {
		t.Errorf("%d of 40 states are active, want at most 8", active)
	}
}

func TestRatingsOfOneModelAreLearned(t *testing.T) {
	t.Parallel()
	w := newSimulation(2, map[string]float64{"small": 1.5})
	s := Fit(append(many(600, func() Outcome { return w.rated("small") }), many(600, func() Outcome { return w.rated("large") })...), options())
	before, after := meanOf(&State{}, "small", predict.Maths), meanOf(&s, "small", predict.Maths)
	if !s.Active || after < before+0.05 || s.Check.Learned >= s.Check.Static || s.Models["small"].Outcomes != 600 {
		t.Errorf("mean changed from %.3f to %.3f, want at least 0.05 more; state %+v", before, after, s)
	}
}

// Ratings that are lower for every model mean that the prompts are hard, not that the models are worse than predicted.
func TestHardPromptsDoNotChangeTheOrderOfModels(t *testing.T) {
	t.Parallel()
	w := newSimulation(3, map[string]float64{"small": -1, "large": -1})
	s := Fit(append(many(300, func() Outcome { return w.rated("small") }), many(300, func() Outcome { return w.rated("large") })...), options())
	small, large := meanOf(&s, "small", predict.Code), meanOf(&s, "large", predict.Code)
	before := meanOf(&State{}, "large", predict.Code) - meanOf(&State{}, "small", predict.Code)
	if got := large - small; math.Abs(got-before) > 0.05 {
		t.Errorf("the difference of the models changed from %.3f to %.3f", before, got)
	}
}

func TestVerdictsMoveBothModelsApart(t *testing.T) {
	t.Parallel()
	w := newSimulation(4, map[string]float64{"small": 1})
	o := options()
	o.HalfLife = 0
	s := Fit(many(2000, w.compared), o)
	truth, n := 0.0, 400
	for range n {
		x := w.next(Compared)
		truth += (w.probability("small", &x) - w.probability("large", &x)) / float64(n)
	}
	before := meanOf(&State{}, "small", predict.Code) - meanOf(&State{}, "large", predict.Code)
	after := meanOf(&s, "small", predict.Code) - meanOf(&s, "large", predict.Code)
	if !s.Active || math.Abs(after-truth) > math.Abs(before-truth)/2 {
		t.Errorf("difference %.3f before, %.3f after, true difference %.3f; %+v", before, after, truth, s.Check)
	}
}

func TestTiesOfEqualModelsChangeNothing(t *testing.T) {
	t.Parallel()
	o := options()
	o.Base = func(string) (predict.Ability, bool) { return bases["small"], true }
	w := newSimulation(5, nil)
	list := many(200, w.compared)
	for i := range list {
		list[i].Value = 0
	}
	s := Fit(list, o)
	if s.Active || s.Models["small"].Learned.Vector[0] != bases["small"].Vector[0] {
		t.Errorf("active = %t, small %+v; want the static ability", s.Active, s.Models["small"])
	}
}

func TestChangeOfQualityIsForgotten(t *testing.T) {
	t.Parallel()
	w := newSimulation(6, map[string]float64{"small": 1.5})
	var list []Outcome
	changed := 0
	for i := range 300 {
		if i == 150 {
			w.shift["small"], changed = -1.5, w.n
		}
		list = append(list, w.rated("small"), w.rated("large"))
	}
	s := Fit(list, options())
	m := s.Models["small"]
	if m.Changed.IsZero() || m.Dropped < 100 || math.Abs(m.Changed.Sub(start).Minutes()/20-float64(changed)) > 80 {
		t.Fatalf("changed at %v, %d dropped", m.Changed, m.Dropped)
	}
	if now := meanOf(&s, "small", predict.Code); now > meanOf(&State{}, "small", predict.Code) {
		t.Errorf("mean after the change is %.3f, want at most the static mean", now)
	}
	steady := newSimulation(7, nil)
	if s := Fit(many(400, func() Outcome { return steady.rated("small") }), options()); !s.Models["small"].Changed.IsZero() {
		t.Errorf("a change was detected at %v in steady outcomes", s.Models["small"].Changed)
	}
}

func TestOldOutcomesWeighLess(t *testing.T) {
	t.Parallel()
	o := options()
	for days, want := range map[int]float64{0: 1, -1: 1, 30: 0.5, 60: 0.25, 15: math.Sqrt(0.5)} {
		if got := o.decay(o.Today.AddDate(0, 0, -days)); math.Abs(got-want) > 1e-12 {
			t.Errorf("after %d days an outcome has weight %v, want %v", days, got, want)
		}
	}
}

func TestOrderOfOutcomesDoesNotMatter(t *testing.T) {
	t.Parallel()
	w := newSimulation(8, map[string]float64{"small": 1})
	list := append(many(100, func() Outcome { return w.rated("small") }), many(100, w.compared)...)
	want := Fit(list, options())
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if diff := cmp.Diff(want, Fit(list, options())); diff != "" {
		t.Error(diff)
	}
}

// A router that learns chooses between a cheap and an expensive model, whose true quality is known and changes after half of the
// requests. Compared with the static router, its mean value is higher and its worst loss is limited.
func TestLearningAgainstStaticRouter(t *testing.T) {
	t.Parallel()
	r := simulate(*runs, 50)
	t.Logf("%d runs: mean gain %.4f, worst loss %.4f of the cost of the expensive model; %d runs lose more than 0.01", *runs, -r.mean, r.worst, r.losing)
	if r.mean > -0.05 || r.worst > 0.1 || r.losing*50 > *runs {
		t.Errorf("mean loss %.4f, worst %.4f, %d runs lose", r.mean, r.worst, r.losing)
	}
}

// A gateway learns again at most ten minutes after an outcome. This test learns again after every ten outcomes. After a change, wrong
// abilities are then replaced before they cause a large loss.
func TestFrequentLearningBoundsTheLoss(t *testing.T) {
	t.Parallel()
	r := simulate(*runs, 10)
	t.Logf("%d runs: mean gain %.4f, worst loss %.4f of the cost of the expensive model; %d runs lose more than 0.01", *runs, -r.mean, r.worst, r.losing)
	if r.mean > -0.05 || r.worst > 0.05 || r.losing*200 > *runs {
		t.Errorf("mean loss %.4f, worst %.4f, %d runs lose", r.mean, r.worst, r.losing)
	}
}

// simulated holds the losses per request of simulated runs, compared with the static router.
type simulated struct {
	mean, worst float64
	losing      int // runs that lose more than 0.01
}

// simulate runs the traffic simulation the given number of times. The router learns again whenever the number of outcomes is a multiple of
// every.
func simulate(runs, every int) simulated {
	const requests, share = 4000, 0.1
	r := simulated{worst: math.Inf(-1)}
	for run := range runs {
		w := newSimulation(uint64(run), map[string]float64{})
		drift := func() {
			for _, model := range []string{"small", "large"} {
				w.shift[model] = w.NormFloat64() * 0.7
			}
		}
		drift()
		var outcomes []Outcome
		var s State
		lost := 0.0
		for i := range requests {
			if i == requests/2 {
				drift()
			}
			x := w.next(Compared)
			x.At = start.Add(time.Duration(i) * 10 * time.Minute)
			p := map[string]float64{"small": w.probability("small", &x), "large": w.probability("large", &x)}
			static, learned := choose(&State{}, &x), choose(&s, &x)
			lost += value(static, p) - value(learned, p)
			if w.Float64() >= share {
				continue
			}
			x.Model, x.Other = "small", "large"
			x.Value = w.good("small", &x) - w.good("large", &x)
			if outcomes = append(outcomes, x); len(outcomes)%every == 0 {
				o := options()
				o.Today = x.At
				s = Fit(outcomes, o)
			}
		}
		loss := lost / requests
		r.worst, r.mean = max(r.worst, loss), r.mean+loss/float64(runs)
		if loss > 0.01 {
			r.losing++
		}
	}
	return r
}

// cost maps each model to the cost of one request. A good response is worth five times the cost of the expensive model.
var cost = map[string]float64{"small": 0.1, "large": 1}

const worth = 5

func value(model string, p map[string]float64) float64 { return worth*p[model] - cost[model] }

// choose returns the model with the larger predicted value.
func choose(s *State, x *Outcome) string {
	p := map[string]float64{}
	for model, base := range bases {
		p[model] = sigmoid(logitOf(base.Vector, x.Skills))
		if m := s.Models[model]; m != nil && s.Active {
			p[model] = sigmoid(m.logit(x.Task, x.Skills))
		}
	}
	if value("small", p) >= value("large", p) {
		return "small"
	}
	return "large"
}
