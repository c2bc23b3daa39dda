package quality_test

import (
	"math"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
	"fairlead.dev/internal/quality"
)

func newRater(t *testing.T) (*quality.Rater, *predict.Predictor) {
	t.Helper()
	p, err := predict.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return quality.New(ability.New(p), p), p
}

func TestReferencePromptsHaveTheirTask(t *testing.T) {
	t.Parallel()
	for _, task := range predict.Tasks() {
		prompts := quality.Prompts(task)
		if len(prompts) < 6 {
			t.Errorf("%s has %d prompts, want at least 6", task, len(prompts))
		}
		for _, p := range prompts {
			if got := predict.TaskOf(p); got != task {
				t.Errorf("TaskOf(%q) = %s, want %s", p.Text, got, task)
			}
		}
	}
}

func TestRatingIsTheMeanSuccessProbability(t *testing.T) {
	t.Parallel()
	rater, p := newRater(t)
	known, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	m, ok := known.Model("gpt-5-mini")
	if !ok {
		t.Fatal("gpt-5-mini is not in the catalog")
	}
	a := ability.New(p).Of(m)
	rating := rater.Rate(m, nil)
	for _, got := range rating.Tasks {
		want, prompts := 0.0, quality.Prompts(got.Task)
		for _, one := range prompts {
			f := p.Features(one)
			want += predict.Success(&f, &a).Probability / float64(len(prompts))
		}
		if math.Abs(got.Mean-want) > 1e-12 || !(got.Low < got.Mean && got.Mean < got.High) || got.Learned {
			t.Errorf("%s: %+v, want mean %v", got.Task, got, want)
		}
	}
	if o := rating.Overall; !(0 < o.Low && o.Low < o.Mean && o.Mean < o.High && o.High < 1) {
		t.Errorf("overall rating %+v, want 0 < low < mean < high < 1", o)
	}
}

func TestRatingOmitsUnsupportedTasks(t *testing.T) {
	t.Parallel()
	rater, _ := newRater(t)
	has := func(m *catalog.Model, task predict.Task) bool {
		for _, one := range rater.Rate(m, nil).Tasks {
			if one.Task == task {
				return true
			}
		}
		return false
	}
	blind := &catalog.Model{Name: "blind", Op: llm.Chat, Quality: 0.6, Context: 8000}
	full := &catalog.Model{Name: "full", Op: llm.Chat, Quality: 0.6, Abilities: llm.Vision | llm.Tools, Context: 200_000}
	for _, task := range []predict.Task{predict.Vision, predict.ToolUse, predict.LongContext} {
		if has(blind, task) || !has(full, task) {
			t.Errorf("%s: rated for the small model %t, for the full model %t; want false, true", task, has(blind, task), has(full, task))
		}
	}
	if got := rater.Rate(&catalog.Model{Name: "no data", Op: llm.Chat}, nil); got != nil {
		t.Errorf("rating of a model without data is %+v, want nil", got)
	}
	if got := rater.Rate(&catalog.Model{Name: "e", Op: llm.Embed, Quality: 0.5}, nil); got != nil {
		t.Errorf("rating of an embedding model is %+v, want nil", got)
	}
}

// lower is a correction that lowers every ability for code.
type lower struct{}

func (lower) Ability(_ string, task predict.Task, base *predict.Ability) *predict.Ability {
	if task != predict.Code {
		return base
	}
	moved := *base
	moved.Vector = append([]float64{base.Vector[0] - 2}, base.Vector[1:]...)
	return &moved
}

func TestRatingUsesLearnedAbilities(t *testing.T) {
	t.Parallel()
	rater, _ := newRater(t)
	m := &catalog.Model{Name: "m", Op: llm.Chat, Quality: 0.7}
	before, after := rater.Rate(m, nil), rater.Rate(m, lower{})
	for i, task := range after.Tasks {
		changed := task.Mean < before.Tasks[i].Mean
		if want := task.Task == predict.Code; changed != want || task.Learned != want {
			t.Errorf("%s: mean changed from %v to %v, learned %t; want lower and learned = %t",
				task.Task, before.Tasks[i].Mean, task.Mean, task.Learned, want)
		}
	}
}

func BenchmarkRateCatalog(b *testing.B) {
	p, err := predict.Embedded()
	if err != nil {
		b.Fatal(err)
	}
	known, err := catalog.Default()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rater := quality.New(ability.New(p), p)
		for _, m := range known.Models() {
			rater.Rate(m, nil)
		}
	}
}
