package feedback

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"fairlead.dev/internal/route/predict"
)

// Settings configures how a workspace learns from outcomes.
type Settings struct {
	Disabled bool `json:"disabled,omitempty"` // whether learning is off and models keep their static abilities
}

// MinVerdicts is the number of ratings and verdicts below which a gateway uses the static abilities.
const MinVerdicts = 50

// Learned describes the state that was learned from the outcomes of a workspace.
type Learned struct {
	Settings    Settings
	Version     string        // version of the corrections; empty while the static abilities are used
	Verdicts    int           // number of ratings and verdicts that count
	MinVerdicts int           // number of ratings and verdicts below which the static abilities are used
	Tasks       []LearnedTask // sorted by model and task
	At          time.Time     // time of the computation; zero before the first one
}

// LearnedTask is the learned ability of a model for a task. Abilities are mean success probabilities over the prompts with outcomes.
type LearnedTask struct {
	Model    string
	Task     predict.Family
	Outcomes int
	Static   float64 // mean ability predicted without outcomes
	Learned  float64 // mean ability predicted with outcomes
	Low      float64 // lower bound of the 95 % interval of Learned; High is the upper bound
	High     float64
}

// Learning returns the state learned from the outcomes of a workspace.
func (b *Index) Learning(workspaceID string) Learned {
	if s := (*b.workspaces.Load())[workspaceID]; s != nil {
		return s.learned
	}
	return Learned{MinVerdicts: b.options.MinVerdicts}
}

// Configure changes the settings of a workspace.
func (b *Index) Configure(ctx context.Context, workspaceID string, s Settings) error {
	if err := b.writer.SaveLearning(ctx, workspaceID, s); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.recomputeWorkspace(ctx, workspaceID)
}

// describe returns the abilities by model and task for display, with the static ability for models without a correction.
func (b *Index) describe(outcomes []Rating, fitted fits) []LearnedTask {
	type group struct {
		model string
		task  predict.Family
	}
	sums := map[group]*LearnedTask{}
	add := func(model string, r *Rating) {
		base, _ := b.options.Base(model)
		t := sums[group{model, r.Task}]
		if t == nil {
			t = &LearnedTask{Model: model, Task: r.Task}
			sums[group{model, r.Task}] = t
		}
		after := base
		if f := fitted[model]; f != nil {
			i := r.Task.Index()
			after.Levels[i] += f.shifts[i]
			after.Spreads[i] = f.spreads[i]
		}
		estimate := success(r, &after)
		t.Outcomes++
		t.Static += success(r, &base).Probability
		t.Learned += estimate.Probability
		t.High += estimate.Spread
	}
	for i := range outcomes {
		r := &outcomes[i]
		add(r.Model, r)
		if r.Source.IsVerdict() {
			add(r.Other, r)
		}
	}
	list := make([]LearnedTask, 0, len(sums))
	for _, t := range sums {
		n := float64(t.Outcomes)
		half := 1.96 * t.High / n
		t.Static, t.Learned = t.Static/n, t.Learned/n
		t.Low, t.High = math.Max(0, t.Learned-half), math.Min(1, t.Learned+half)
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b LearnedTask) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Task, b.Task)) })
	return list
}
