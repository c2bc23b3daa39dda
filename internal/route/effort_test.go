package route

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route/predict"
)

// reasoner is a Predictor whose models gain from reasoning.
type reasoner struct{}

func (reasoner) Ability(m *catalog.Model) predict.Ability {
	a := predict.AtQuality(m.Quality)
	a.Efforts = map[string]float64{"none": -0.9, "medium": 0, "max": 0.6}
	return a
}

// reasonerSnapshot returns a snapshot with one model and three efforts.
func reasonerSnapshot(t *testing.T) *Snapshot {
	t.Helper()
	model := &catalog.Model{Name: "reasoner", Op: llm.Chat, Quality: 0.9, Abilities: llm.Reasoning, Context: 100_000}
	p := &provider.Provider{Name: "p", Targets: []*provider.Target{{
		Provider: "p", Model: model, Upstream: "reasoner", FirstToken: time.Minute,
		Price:   &catalog.Price{Input: money.Rate(money.Dollar), Output: money.Rate(10 * money.Dollar)},
		Efforts: []string{"none", "medium", "max"},
	}}}
	return NewSnapshot(defaultCatalog(t), []*provider.Provider{p}, reasoner{})
}

func TestEffortIsChosenWithTheModel(t *testing.T) {
	t.Parallel()
	input := func(difficulty float64, change func(*Input)) Input {
		in := Input{Op: llm.Chat, Model: "auto", ResponseOptions: ResponseOptions{Choices: 1}, PromptSize: PromptSize{InputTokens: 1000}, Objective: Objective{Name: "auto", Tradeoff: 0.5}}
		in.Features = predict.Features{Task: predict.Maths, Difficulty: difficulty, Output: 300}
		change(&in)
		return in
	}
	for name, tc := range map[string]struct {
		in   Input
		want string // effort sent to the provider
	}{
		"a trivial prompt":            {input(0, func(in *Input) {}), "none"},
		"a hard prompt":               {input(3, func(in *Input) {}), "medium"},
		"a hard prompt, cheapest":     {input(3, func(in *Input) { in.Objective.Tradeoff = 0 }), "none"},
		"a hard prompt, best":         {input(3, func(in *Input) { in.Objective.Tradeoff = 1 }), "max"},
		"limit too low for reasoning": {input(3, func(in *Input) { in.Objective.Tradeoff, in.MaxOutput = 1, 1000 }), "none"},
		"the client's effort":         {input(3, func(in *Input) { in.Effort = "max" }), ""},
		"a named model":               {input(3, func(in *Input) { in.Model = "reasoner" }), ""},
		"limits of the route":         {input(3, func(in *Input) { in.Route = &Route{MaxEffort: "low"} }), "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snap := reasonerSnapshot(t)
			d, err := Decide(&tc.in, snap, Conditions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Plan[0].Effort; got != tc.want {
				t.Errorf("effort = %q, want %q: %+v", got, tc.want, d.Candidates)
			}
			archive, err := snap.Archive()
			if err != nil {
				t.Fatal(err)
			}
			restored, err := Restore(archive, defaultCatalog(t))
			if err != nil {
				t.Fatal(err)
			}
			again, err := Decide(&d.Input, restored, Conditions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d.Candidates, again.Candidates, cmp.AllowUnexported(Exclusion{})); diff != "" {
				t.Errorf("recomputed with the archived snapshot (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHigherEffortHasALongerFirstTokenTimeout(t *testing.T) {
	t.Parallel()
	in := Input{Op: llm.Chat, Model: "auto:quality", ResponseOptions: ResponseOptions{Choices: 1}, PromptSize: PromptSize{InputTokens: 1000}, Objective: Objective{Name: "quality", Tradeoff: 1}}
	in.Features.Difficulty = 3
	d, err := Decide(&in, reasonerSnapshot(t), Conditions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Plan[0].FirstToken, 270*time.Second; got != want {
		t.Errorf("first-token timeout = %s, want %s", got, want)
	}
}
