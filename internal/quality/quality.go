// Package quality predicts the quality of models by task type, with the functions and abilities that routing uses. The quality for a
// task type is the mean success probability over fixed reference prompts, so that models can be compared without traffic. The package
// performs no I/O.
package quality

import (
	"math"
	"sync"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
)

// Abilities returns the abilities of models; *ability.Fitter implements it.
type Abilities interface {
	Of(m *catalog.Model) predict.Ability
}

// Features computes the features of prompts; *predict.Predictor implements it.
type Features interface {
	Features(p predict.Prompt) predict.Features
}

// Corrections adjusts abilities to the outcomes of a workspace.
type Corrections interface {
	// Ability returns the corrected ability of a model for a task, or base for a model without outcomes.
	Ability(model string, task predict.Task, base *predict.Ability) *predict.Ability
}

// Interval is a mean success probability with its 95 % interval, from 0 to 1.
type Interval struct {
	Mean, Low, High float64
}

// Rating is the predicted quality of a model.
type Rating struct {
	Overall Interval // mean over all task types except tool use, vision and long context
	Source  string   // source of the ability: trained, benchmarks or quality
	Tasks   []Task   // task types that the model can do, in the order of predict.Tasks
}

// Task is the predicted quality for one task type.
type Task struct {
	Task predict.Task
	Interval
	Learned bool // whether outcomes of the workspace changed the prediction
}

// Rater rates models. It is safe for concurrent use.
type Rater struct {
	abilities Abilities
	tasks     func() map[predict.Task][]predict.Features // features of the reference prompts, computed on first use

	mu    sync.Mutex
	known map[evidence]predict.Ability
}

// evidence identifies the data to which an ability is fitted. Abilities are cached by their evidence, because fitting takes milliseconds
// and a changed price or provider creates a new catalog with the same evidence.
type evidence struct {
	name    string
	quality float64
	source  string
	scores  *catalog.Benchmark // address of the scores, which is the same for all copies of a model; nil if there are none
	count   int
}

// New returns a rater.
func New(abilities Abilities, features Features) *Rater {
	return &Rater{abilities: abilities, known: map[evidence]predict.Ability{}, tasks: sync.OnceValue(func() map[predict.Task][]predict.Features {
		all := map[predict.Task][]predict.Features{}
		for _, task := range predict.Tasks() {
			for _, p := range Prompts(task) {
				all[task] = append(all[task], features.Features(p))
			}
		}
		return all
	})}
}

// maxKnown is the maximum number of cached abilities. When it is reached, the cache is cleared.
const maxKnown = 4096

func (r *Rater) ability(m *catalog.Model) predict.Ability {
	key := evidence{name: m.Name, quality: m.Quality, source: m.QualitySource, count: len(m.Benchmarks)}
	if len(m.Benchmarks) > 0 {
		key.scores = &m.Benchmarks[0]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.known[key]
	if !ok {
		if len(r.known) >= maxKnown {
			clear(r.known)
		}
		a = r.abilities.Of(m)
		r.known[key] = a
	}
	return a
}

// Rate returns the rating of a chat model, or nil if nothing is known about it. corrections may be nil.
func (r *Rater) Rate(m *catalog.Model, corrections Corrections) *Rating {
	if m.Op != llm.Chat {
		return nil
	}
	base := r.ability(m)
	if base.Source == predict.FromPrior {
		return nil
	}
	rating := &Rating{Source: base.Source}
	texts := 0
	for _, task := range predict.Tasks() {
		if !can(m, task) {
			continue
		}
		best := &base
		if corrections != nil {
			best = corrections.Ability(m.Name, task, &base)
		}
		prompts := r.tasks()[task]
		var mean Interval // mean of the intervals; averaging the bounds is correct because all prompts share the error of the ability
		for i := range prompts {
			mean.add(bounds(predict.Success(&prompts[i], best)))
		}
		mean = mean.divided(len(prompts))
		rating.Tasks = append(rating.Tasks, Task{Task: task, Interval: mean, Learned: best != &base})
		if task != predict.ToolUse && task != predict.Vision && task != predict.LongContext {
			texts++
			rating.Overall.add(mean)
		}
	}
	rating.Overall = rating.Overall.divided(texts)
	return rating
}

// can reports whether the model supports the given task type.
func can(m *catalog.Model, task predict.Task) bool {
	switch task { //nolint:exhaustive // the other kinds need only text
	case predict.ToolUse:
		return m.Abilities.Has(llm.Tools)
	case predict.Vision:
		return m.Abilities.Has(llm.Vision)
	case predict.LongContext:
		return m.Context == 0 || m.Context > longPrompt
	}
	return true
}

// bounds returns the 95 % interval of an estimate, which is symmetric in logits.
func bounds(e predict.Estimate) Interval {
	p := e.Probability
	if p <= 0 || p >= 1 {
		return Interval{p, p, p}
	}
	d := 1.96 * e.Spread / (p * (1 - p))
	shifted := func(d float64) float64 { return 1 / (1 + (1-p)/p*math.Exp(-d)) }
	return Interval{Mean: p, Low: shifted(-d), High: shifted(d)}
}

func (i *Interval) add(other Interval) {
	i.Mean += other.Mean
	i.Low += other.Low
	i.High += other.High
}

func (i Interval) divided(n int) Interval {
	if n == 0 {
		return Interval{}
	}
	return Interval{i.Mean / float64(n), i.Low / float64(n), i.High / float64(n)}
}
