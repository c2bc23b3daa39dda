package feedback

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"fairlead.dev/internal/learn"
	"fairlead.dev/internal/predict"
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
	Version     string // version of the corrections; empty while the static abilities are used
	Verdicts    int    // number of ratings and verdicts used
	MinVerdicts int    // number of ratings and verdicts below which the static abilities are used
	Active      bool   // whether the router uses the learned abilities
	Check       learn.Check
	Tasks       []LearnedTask // sorted by model and task
	At          time.Time     // time of the computation; zero before the first one
}

// LearnedTask is the learned ability of a model for a task. Abilities are mean success probabilities over the prompts with outcomes.
type LearnedTask struct {
	Model    string
	Task     predict.Task
	Outcomes int
	Static   float64 // mean ability predicted without outcomes
	Learned  float64 // mean ability predicted with outcomes
	Low      float64 // lower bound of the 95 % interval of Learned; High is the upper bound
	High     float64
	Changed  time.Time // time at which the model's quality changed; earlier outcomes are not used; zero if it did not change
}

// Learning returns the state learned from the outcomes of a workspace.
func (b *Index) Learning(workspaceID string) Learned {
	l := Learned{MinVerdicts: b.options.MinVerdicts}
	if s := (*b.workspaces.Load())[workspaceID]; s != nil {
		l = s.learned
		l.At = s.at
	}
	return l
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

// Verdict stores the verdict of a comparison. It sets the ID and the time. Corrections are updated soon after.
func (b *Index) Verdict(ctx context.Context, r Rating) error {
	if err := b.complete(&r); err != nil {
		return err
	}
	if !r.Source.IsVerdict() {
		return fmt.Errorf("store verdict on %s: unexpected source %s", r.RequestID, r.Source)
	}
	if err := b.writer.SaveRating(ctx, r); err != nil {
		return err
	}
	b.recomputeSoon(ctx, r.WorkspaceID)
	return nil
}

// outcomeOf converts a rating to an outcome for package learn.
func outcomeOf(r *Rating) learn.Outcome {
	x := learn.Outcome{
		Request: r.RequestID, At: r.Time, Kind: learn.Rated, Model: r.Model, Other: r.Other, Task: r.Task, Skills: r.Skills,
		Value: r.Score, Weight: 1,
	}
	if r.Source.IsVerdict() {
		x.Kind, x.Value = learn.Compared, 2*r.Score-1
		if r.Label == "judge" { // a judge is less reliable than a check or a hook, so its verdict counts half
			x.Weight = 0.5
		}
	}
	return x
}

// describe returns the abilities in a state, by model and task, for display.
func describe(s *learn.State, outcomes []learn.Outcome) []LearnedTask {
	type group struct {
		model string
		task  predict.Task
	}
	sums := map[group]*LearnedTask{}
	add := func(model string, x *learn.Outcome) {
		m := s.Models[model]
		if m == nil || len(m.Base.Vector) != len(x.Skills)+1 || x.At.Before(m.Changed) {
			return
		}
		t := sums[group{model, x.Task}]
		if t == nil {
			t = &LearnedTask{Model: model, Task: x.Task, Changed: m.Changed}
			sums[group{model, x.Task}] = t
		}
		features := predict.Features{Skills: x.Skills, Known: 1}
		before := predict.Success(&features, &m.Base)
		after := predict.Success(&features, &m.Learned).Shift(m.Tasks[x.Task])
		t.Outcomes++
		t.Static += before.Probability
		t.Learned += after.Probability
		t.High += after.Spread
	}
	for i := range outcomes {
		x := &outcomes[i]
		add(x.Model, x)
		if x.Kind == learn.Compared {
			add(x.Other, x)
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
