// Package learn corrects model abilities with the outcomes of a workspace: ratings and verdicts of comparisons. The static
// predictor is the prior. All functions are pure: equal outcomes and options give
// equal states, so a state can be stored by version and decisions can be recomputed with it.
package learn

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
)

// Kind is the type of evidence that an outcome provides.
type Kind string

// The kinds of outcomes.
const (
	Rated    Kind = "rated"    // a score from 0 to 1
	Compared Kind = "compared" // a difference from -1 to 1 between the responses of two models
)

// Outcome is evidence of the quality of one response.
type Outcome struct {
	Request string
	At      time.Time
	Kind    Kind
	Model   string       // model that responded
	Other   string       // model whose response was compared with the response of Model
	Task    predict.Task // task of the prompt
	Skills  []float64    // skills of the prompt
	Value   float64      // score or difference
	Weight  float64      // weight of the outcome; 1 for a verdict that is certain
}

// Options configures Fit.
type Options struct {
	// Base returns the ability of a model without outcomes, or false for an unknown model.
	Base func(model string) (predict.Ability, bool)
	// HalfLife is the age at which the weight of an outcome is halved. The age is the time from the outcome to Today.
	HalfLife time.Duration
	Today    time.Time
	// MinVerdicts is the number of ratings and verdicts below which nothing is learned.
	MinVerdicts int
	// Shared sets whether a deviation that all models have for a task is attributed to the difficulty of the prompts, so that it does not
	// change the abilities.
	Shared bool
	// Guard sets whether State.Active requires that the learned abilities predict later outcomes better than the static abilities.
	Guard bool
}

// State is the result of learning.
type State struct {
	Models   map[string]*Model
	Verdicts int // number of ratings and comparisons
	Check    Check
	Active   bool // whether the learned abilities are used; if false, models keep their static abilities
}

// Model is the learned ability of a model.
type Model struct {
	Base     predict.Ability          // static ability
	Learned  predict.Ability          // static ability, corrected by the outcomes
	Tasks    map[predict.Task]float64 // additional change of the logit per task
	Outcomes int                      // number of ratings and comparisons used
	Dropped  int                      // number of unused ratings and comparisons: those before Changed or before a change of the compared model
	Changed  time.Time                // time at which the quality of the model changed; zero if it did not change
}

// logit returns the learned logit of a prompt.
func (m *Model) logit(task predict.Task, skills []float64) float64 {
	return logitOf(m.Learned.Vector, skills) + m.Tasks[task]
}

const (
	rounds     = 3    // rounds of fitting if labels depend on the fitted abilities
	taskSpread = 0.4  // standard deviation, in logits, of the task-specific part of a model's ability
	hardSpread = 0.5  // standard deviation, in logits, of the difficulty of a workspace's prompts for a task
	maxShift   = 2    // maximum change per task, in logits
	minShift   = 0.01 // minimum change per task that is stored, in logits
)

// Fit learns from the outcomes of a workspace, which need not be in order.
func Fit(outcomes []Outcome, o Options) State {
	all := usable(outcomes, &o)
	s := State{Models: map[string]*Model{}, Verdicts: len(all)}
	if s.Verdicts == 0 || s.Verdicts < o.MinVerdicts {
		return s
	}
	f := &fitter{o: &o}
	fitted := f.fit(all)
	s.Models = fitted.models
	changes := fitted.drifts(all)
	if len(changes) > 0 {
		all = slices.DeleteFunc(all, func(x Outcome) bool {
			return x.At.Before(changes[x.Model]) || x.Kind == Compared && x.At.Before(changes[x.Other])
		})
		before := s.Models
		s.Models = f.fit(all).models
		for model, at := range changes {
			if s.Models[model] == nil {
				s.Models[model] = &Model{Base: before[model].Base, Learned: before[model].Base}
			}
			s.Models[model].Changed, s.Models[model].Dropped = at, before[model].Outcomes-s.Models[model].Outcomes
		}
	}
	s.Check = f.check(all)
	s.Active = !o.Guard || s.Check.Outcomes >= minChecked && s.Check.Static-s.Check.Learned > minGain*s.Check.Error
	return s
}

// usable returns the outcomes of known models with their decayed weights, in order of time.
func usable(outcomes []Outcome, o *Options) []Outcome {
	list := make([]Outcome, 0, len(outcomes))
	for _, x := range outcomes {
		base, ok := o.Base(x.Model)
		if !ok || len(base.Vector) != len(x.Skills)+1 || !(x.Weight > 0) || math.IsNaN(x.Value) {
			continue
		}
		if x.Kind == Compared {
			if _, ok := o.Base(x.Other); !ok || x.Other == x.Model {
				continue
			}
		}
		x.Weight *= o.decay(x.At)
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b Outcome) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Request, b.Request)) })
	return list
}

// decay returns the weight of an outcome that occurred at the given time.
func (o *Options) decay(at time.Time) float64 {
	if o.HalfLife <= 0 {
		return 1
	}
	return math.Exp2(-float64(max(0, o.Today.Sub(at))) / float64(o.HalfLife))
}

// fitter learns abilities from outcomes.
type fitter struct{ o *Options }

// fitted is the result of one fit.
type fitted struct {
	models map[string]*Model
	shared shared // difficulty of the tasks, given the learned abilities
	static shared // difficulty of the tasks, given the static abilities
}

// shared maps each task to the change of the logit that all models have in common.
type shared map[predict.Task]float64

// fit learns from outcomes. It fits the abilities and the difficulty of the tasks alternately.
func (f *fitter) fit(outcomes []Outcome) *fitted {
	r := &fitted{models: map[string]*Model{}, shared: shared{}, static: shared{}}
	model := func(name string) *Model {
		if r.models[name] == nil {
			base, _ := f.o.Base(name)
			r.models[name] = &Model{Base: base, Learned: base}
		}
		return r.models[name]
	}
	repeat := 1
	if f.o.Shared {
		repeat = rounds
	}
	for i := range outcomes {
		x := &outcomes[i]
		model(x.Model).Outcomes++
		if x.Kind == Compared {
			repeat = rounds
			model(x.Other).Outcomes++
		}
	}
	if f.o.Shared {
		r.static = r.difficulty(outcomes)
		r.shared = r.static
	}
	for range repeat {
		labels := labels{}
		for i := range outcomes {
			switch x := &outcomes[i]; x.Kind {
			case Rated:
				labels.add(x.Model, x.Task, ability.Label{Skills: x.Skills, Score: x.Value, Weight: x.Weight, Offset: r.shared[x.Task]})
			case Compared:
				labels.compare(x, r.models)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(labels)) {
			model(name).update(labels[name])
		}
		if f.o.Shared {
			r.shared = r.difficulty(outcomes)
		}
	}
	return r
}

// difficulty returns, for each task, the change of the logit that the ratings of all models have in common, given the models' abilities.
func (r *fitted) difficulty(outcomes []Outcome) shared {
	byTask := map[predict.Task][]ability.Label{}
	for i := range outcomes {
		if x := &outcomes[i]; x.Kind == Rated {
			offset := r.models[x.Model].logit(x.Task, x.Skills)
			byTask[x.Task] = append(byTask[x.Task], ability.Label{Score: x.Value, Weight: x.Weight, Offset: offset})
		}
	}
	found := shared{}
	for task, list := range byTask {
		found[task] = shiftOf(list, hardSpread)
	}
	return found
}

// labels holds the labels of each model.
type labels map[string][]taskLabel

type taskLabel struct {
	ability.Label
	task predict.Task
}

func (l labels) add(model string, task predict.Task, label ability.Label) {
	l[model] = append(l[model], taskLabel{label, task})
}

// compare adds labels for both models of a comparison. They move the difference of the two probabilities towards the verdict, but do
// not change their mean. A tie of two equally good models therefore changes nothing.
func (l labels) compare(x *Outcome, models map[string]*Model) {
	p, q := sigmoid(models[x.Model].logit(x.Task, x.Skills)), sigmoid(models[x.Other].logit(x.Task, x.Skills))
	gap := min(max(x.Value, -1), 1) - (p - q)
	l.add(x.Model, x.Task, ability.Label{Skills: x.Skills, Score: p + gap/2, Weight: x.Weight, Loose: true})
	l.add(x.Other, x.Task, ability.Label{Skills: x.Skills, Score: q - gap/2, Weight: x.Weight, Loose: true})
}

// update fits the ability to all labels. It then fits a shift for each task to the remaining error.
func (m *Model) update(list []taskLabel) {
	plain := make([]ability.Label, len(list))
	byTask := map[predict.Task][]ability.Label{}
	for i, l := range list {
		plain[i] = l.Label
		byTask[l.task] = append(byTask[l.task], l.Label)
	}
	m.Learned = ability.Update(m.Base, plain)
	m.Tasks = map[predict.Task]float64{}
	for task, list := range byTask {
		for i := range list {
			list[i].Offset += logitOf(m.Learned.Vector, list[i].Skills)
		}
		if shift := shiftOf(list, taskSpread); math.Abs(shift) >= minShift {
			m.Tasks[task] = shift
		}
	}
}

// shiftOf returns the most probable change of the logit. Its prior has mean 0 and standard deviation spread. The offset of each label is
// the predicted logit. The result is rounded so that stored states stay short.
func shiftOf(list []ability.Label, spread float64) float64 {
	shift := 0.0
	for range 8 {
		gradient, curvature := -shift/(spread*spread), 1/(spread*spread)
		for i := range list {
			p := sigmoid(list[i].Offset + shift)
			gradient += list[i].Weight * (list[i].Score - p)
			curvature += list[i].Weight * p * (1 - p)
		}
		step := gradient / curvature
		shift = min(max(shift+step, -maxShift), maxShift)
		if math.Abs(step) < 1e-4 {
			break
		}
	}
	return math.Round(1000*shift) / 1000
}

func logitOf(vector, skills []float64) float64 {
	sum := vector[0]
	for i, z := range skills {
		sum += z * vector[i+1]
	}
	return sum
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
