package feedback

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
)

const (
	rounds     = 3    // rounds of fitting with verdicts, whose labels depend on the fitted abilities
	taskSpread = 0.4  // standard deviation, in logits, of the task-specific part of a model's ability
	maxShift   = 2    // maximum change per task, in logits
	minShift   = 0.01 // minimum change per task that is stored, in logits
)

// usable returns the outcomes of known models, oldest first. Skills computed by another predictor version are not comparable.
func (b *Index) usable(outcomes []Rating) []Rating {
	knows := func(model string, r *Rating) bool {
		base, ok := b.options.Base(model)
		return ok && len(base.Vector) == len(r.Skills)+1
	}
	list := slices.DeleteFunc(slices.Clone(outcomes), func(r Rating) bool {
		return r.Predictor != b.options.Predictor || !knows(r.Model, &r) || r.Source.IsVerdict() && (r.Other == r.Model || !knows(r.Other, &r))
	})
	slices.SortStableFunc(list, func(a, b Rating) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.RequestID, b.RequestID)) })
	return list
}

// weight returns the weight of an outcome, which is halved at every half-life of its age. A judge is less reliable than a check or a hook,
// so its verdict counts half.
func (b *Index) weight(r *Rating) float64 {
	weight := math.Exp2(-float64(max(0, b.day.Sub(r.Time))) / float64(b.options.HalfLife()))
	if r.Source.IsVerdict() && r.Label == "judge" {
		weight /= 2
	}
	return weight
}

// modelFit is the correction of a model while it is fitted.
type modelFit struct {
	prior  predict.Ability // static ability
	shift  *Shift
	labels []taskLabel
}

type taskLabel struct {
	ability.Label
	task predict.Task
}

// fit learns from usable outcomes. The static abilities are the prior. Equal outcomes give equal corrections.
func (b *Index) fit(outcomes []Rating) map[string]*Shift {
	fits := map[string]*modelFit{}
	count := func(model string) {
		if fits[model] == nil {
			base, _ := b.options.Base(model)
			fits[model] = &modelFit{prior: base, shift: &Shift{Base: slices.Clone(base.Vector), Corrected: base}}
		}
		fits[model].shift.Ratings++
	}
	repeat := 1
	for i := range outcomes {
		count(outcomes[i].Model)
		if outcomes[i].Source.IsVerdict() {
			repeat = rounds
			count(outcomes[i].Other)
		}
	}
	for range repeat {
		for i := range outcomes {
			r := &outcomes[i]
			label := ability.Label{Skills: r.Skills, Score: r.Score, Weight: b.weight(r)}
			if r.Source.IsVerdict() {
				addVerdict(fits[r.Model], fits[r.Other], r, label)
			} else {
				fits[r.Model].add(r.Task, label)
			}
		}
		for _, f := range fits {
			f.update()
		}
	}
	shifts := make(map[string]*Shift, len(fits))
	for model, f := range fits {
		shifts[model] = f.shift
	}
	return shifts
}

func (f *modelFit) add(task predict.Task, label ability.Label) {
	f.labels = append(f.labels, taskLabel{label, task})
}

// addVerdict adds labels for both models of a comparison. They move the difference of the two probabilities towards the verdict, but do
// not change their mean. A tie of two equally good models therefore changes nothing.
func addVerdict(model, other *modelFit, r *Rating, label ability.Label) {
	label.Loose = true
	p, q := model.probability(r), other.probability(r)
	gap := 2*r.Score - 1 - (p - q)
	label.Score = p + gap/2
	model.add(r.Task, label)
	label.Score = q - gap/2
	other.add(r.Task, label)
}

// probability returns the fitted success probability for the prompt of an outcome.
func (f *modelFit) probability(r *Rating) float64 {
	return sigmoid(logit(f.shift.Corrected.Vector, r.Skills) + f.shift.Tasks[r.Task])
}

// update fits the ability to all labels. It then fits a shift for each task to the remaining error.
func (f *modelFit) update() {
	plain := make([]ability.Label, len(f.labels))
	byTask := map[predict.Task][]ability.Label{}
	for i, l := range f.labels {
		plain[i] = l.Label
	}
	f.shift.Corrected = ability.Update(f.prior, plain)
	for _, l := range f.labels {
		l.Offset = logit(f.shift.Corrected.Vector, l.Skills)
		byTask[l.task] = append(byTask[l.task], l.Label)
	}
	f.shift.Tasks = nil
	for task, list := range byTask {
		if shift := taskShift(list); math.Abs(shift) >= minShift {
			if f.shift.Tasks == nil {
				f.shift.Tasks = map[predict.Task]float64{}
			}
			f.shift.Tasks[task] = shift
		}
	}
	f.labels = f.labels[:0]
}

// taskShift returns the most probable change of the logit. Its prior has mean 0 and standard deviation taskSpread. The offset of each label
// is the predicted logit. The result is rounded so that stored corrections stay short.
func taskShift(list []ability.Label) float64 {
	shift := 0.0
	for range 8 {
		gradient, curvature := -shift/(taskSpread*taskSpread), 1/(taskSpread*taskSpread)
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

func logit(vector, skills []float64) float64 {
	sum := vector[0]
	for i, z := range skills {
		sum += z * vector[i+1]
	}
	return sum
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
