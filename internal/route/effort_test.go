package route

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
)

// reasonerSnapshot returns a snapshot with one model and three efforts. The model's success probability is 62 % without reasoning and 82 %
// with the highest effort.
func reasonerSnapshot(t *testing.T) *Snapshot {
	t.Helper()
	model := &catalog.Model{Name: "reasoner", Op: llm.Chat, Quality: 0.75, Abilities: llm.Reasoning, Context: 100_000}
	p := &provider.Provider{Name: "p", Targets: []*provider.Target{{
		Provider: "p", Model: model, Upstream: "reasoner", FirstToken: time.Minute,
		Price:   &catalog.Price{Input: money.Rate(money.Dollar), Output: money.Rate(10 * money.Dollar)},
		Efforts: []catalog.Effort{{Level: "none", Logit: -0.6}, {Level: "medium", Logit: 0}, {Level: "max", Logit: 0.4}},
	}}}
	return NewSnapshot(defaultCatalog(t), []*provider.Provider{p}, nil)
}

func TestEffortIsChosenWithTheModel(t *testing.T) {
	t.Parallel()
	type outcome struct {
		Effort  string // effort of the first candidate
		Sent    string // effort sent to the provider
		Quality float64
		Output  int64
	}
	input := func(change func(*Input)) Input {
		in := Input{Op: llm.Chat, Model: "auto", ResponseOptions: ResponseOptions{Choices: 1}, PromptSize: PromptSize{InputTokens: 1000}, Objective: Objective{Name: "auto", Tradeoff: 0.5}, Prediction: Prediction{Features: predict.Features{Task: predict.Maths}}}
		change(&in)
		return in
	}
	for name, tc := range map[string]struct {
		in   Input
		want outcome
	}{
		"cheapest":                    {input(func(in *Input) { in.Objective.Tradeoff = 0 }), outcome{"none", "none", 0.622133, 450}},
		"best":                        {input(func(in *Input) { in.Objective.Tradeoff = 1 }), outcome{"max", "max", 0.817367, 11_700}},
		"default trade-off":           {input(func(*Input) {}), outcome{"medium", "medium", 0.75, 2950}},
		"an easy prompt":              {input(func(in *Input) { in.Features.Ease = 5 }), outcome{"none", "none", 0.995924, 450}},
		"limit too low for reasoning": {input(func(in *Input) { in.Objective.Tradeoff, in.MaxOutput = 1, 1000 }), outcome{"none", "none", 0.622133, 450}},
		"the client's effort":         {input(func(in *Input) { in.Effort = "max" }), outcome{"", "", 0.817367, 11_700}},
		"custom settings":             {input(func(in *Input) { in.Effort = llm.CustomEffort }), outcome{"", "", 0.75, 2950}},
		"a named model":               {input(func(in *Input) { in.Model = "reasoner" }), outcome{"", "", 0.75, 2950}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snap := reasonerSnapshot(t)
			d, err := Decide(&tc.in, snap, Conditions{})
			if err != nil {
				t.Fatal(err)
			}
			first := d.Candidates[0]
			if diff := cmp.Diff(tc.want, outcome{first.Effort, d.Plan[0].Effort, first.Quality, first.Output}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
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
	d, err := Decide(&in, reasonerSnapshot(t), Conditions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Plan[0].FirstToken, 270*time.Second; got != want {
		t.Errorf("first-token timeout = %s, want %s", got, want)
	}
}
