package feedback

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/internal/route/predict"
)

const (
	rounds       = 3    // rounds of fitting with verdicts, whose labels depend on the fitted abilities
	familySpread = 0.4  // standard deviation, in logits, of the part of a model's correction that is specific to a task family
	maxShift     = 2    // maximum change of each part, in logits
	minShift     = 0.01 // minimum change that is stored, in logits
)

// usable returns the outcomes of known models, oldest first. Difficulties computed by another predictor version are not comparable.
func (b *Index) usable(outcomes []Rating) []Rating {
	knows := func(model string) bool {
		_, ok := b.options.Base(model)
		return ok
	}
	list := slices.DeleteFunc(slices.Clone(outcomes), func(r Rating) bool {
		return r.Predictor != b.options.Predictor || !knows(r.Model) || r.Source.IsVerdict() && (r.Other == r.Model || !knows(r.Other))
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
	base    predict.Ability
	labels  []label
	shifts  [predict.FamilyCount]float64 // change of the ability in logits
	spreads [predict.FamilyCount]float64 // standard deviation of the corrected ability
}

// label is the outcome of one response of a model.
type label struct {
	family int
	logit  float64 // predicted logit without corrections
	score  float64 // may be outside 0 to 1 for a verdict
	weight float64
}

// fits holds the corrections of all models while they are fitted.
type fits map[string]*modelFit

// fit learns from usable outcomes. The static abilities are the prior. Equal outcomes give equal corrections.
func (b *Index) fit(outcomes []Rating) fits {
	all := fits{}
	add := func(model string) {
		if all[model] == nil {
			base, _ := b.options.Base(model)
			all[model] = &modelFit{base: base}
		}
	}
	repeat := 1
	for i := range outcomes {
		add(outcomes[i].Model)
		if outcomes[i].Source.IsVerdict() {
			repeat = rounds
			add(outcomes[i].Other)
		}
	}
	for range repeat {
		for i := range outcomes {
			r := &outcomes[i]
			if r.Source.IsVerdict() {
				addVerdict(all[r.Model], all[r.Other], r, b.weight(r))
			} else {
				all[r.Model].add(r, r.Score, b.weight(r))
			}
		}
		for _, f := range all {
			f.update()
		}
	}
	return all
}

// corrections returns the fitted corrections, rounded so that the stored ones stay short.
func (all fits) corrections() (*Corrections, error) {
	c := &Corrections{Shifts: map[string]map[predict.Family]float64{}}
	for model, f := range all {
		for i, family := range predict.Families() {
			shift := math.Round(1000*f.shifts[i]) / 1000
			if math.Abs(shift) < minShift {
				continue
			}
			if c.Shifts[model] == nil {
				c.Shifts[model] = map[predict.Family]float64{}
			}
			c.Shifts[model][family] = shift
		}
	}
	return c, c.setVersion()
}

func (f *modelFit) add(r *Rating, score, weight float64) {
	f.labels = append(f.labels, label{r.Task.Index(), logit(r, &f.base), score, weight})
}

// addVerdict adds labels for both models of a comparison. They move the difference of the two probabilities towards the verdict, but do
// not change their mean. A tie of two equally good models therefore changes nothing.
func addVerdict(model, other *modelFit, r *Rating, weight float64) {
	p, q := model.probability(r), other.probability(r)
	gap := 2*r.Score - 1 - (p - q)
	model.add(r, p+gap/2, weight)
	other.add(r, q-gap/2, weight)
}

// probability returns the fitted success probability for the prompt of an outcome.
func (f *modelFit) probability(r *Rating) float64 {
	return sigmoid(logit(r, &f.base) + f.shifts[r.Task.Index()])
}

// update fits a shift that all families share, and then a shift of each family to the remaining error. The spread of a family follows from
// the curvature of the posterior, with the prior of both shifts together.
func (f *modelFit) update() {
	common := 0.0
	for _, s := range f.base.Spreads {
		common += s / predict.FamilyCount
	}
	shared, _ := fitShift(f.labels, common)
	var byFamily [predict.FamilyCount][]label
	for _, l := range f.labels {
		l.logit += shared
		byFamily[l.family] = append(byFamily[l.family], l)
	}
	for i := range f.shifts {
		own, information := fitShift(byFamily[i], familySpread)
		f.shifts[i] = shared + own
		f.spreads[i] = 1 / math.Sqrt(information+1/(common*common+familySpread*familySpread))
	}
	f.labels = f.labels[:0]
}

// fitShift returns the most probable change of the logit and the information of the labels about it. The prior of the change has mean 0 and
// the given standard deviation.
func fitShift(labels []label, spread float64) (shift, information float64) {
	if spread <= 0 {
		return 0, 0
	}
	for range 8 {
		gradient := -shift / (spread * spread)
		information = 0
		for i := range labels {
			p := sigmoid(labels[i].logit + shift)
			gradient += labels[i].weight * (labels[i].score - p)
			information += labels[i].weight * p * (1 - p)
		}
		step := gradient / (information + 1/(spread*spread))
		shift = min(max(shift+step, -maxShift), maxShift)
		if math.Abs(step) < 1e-4 {
			break
		}
	}
	return shift, information
}

// success returns the predicted probability of a good answer to the prompt of an outcome.
func success(r *Rating, a *predict.Ability) predict.Estimate {
	return predict.Success(&predict.Features{Task: r.Task, Difficulty: r.Difficulty}, a, "")
}

func logit(r *Rating, a *predict.Ability) float64 {
	p := success(r, a).Probability
	return math.Log(p / (1 - p))
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
