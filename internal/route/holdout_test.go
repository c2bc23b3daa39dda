package route

import (
	"testing"
)

func TestHoldoutServesTheBaselineBelowItsShare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		holdout *Holdout
		model   string // requested model
		explore float64
		skipped bool // whether exploration drew no model, because the first choice is free
		first   string
		heldOut string
		chances map[string]float64 // probabilities by model
	}{
		"no holdout":          {nil, "auto", 0, false, "cheap", "", nil},
		"held out":            {&Holdout{"best", 0.25, 0.2}, "auto", 0, false, "best", "p/cheap", map[string]float64{"best": 0.25, "cheap": 0.75}},
		"draw above share":    {&Holdout{"best", 0.25, 0.25}, "auto", 0, false, "cheap", "", map[string]float64{"best": 0.25, "cheap": 0.75}},
		"baseline is chosen":  {&Holdout{"cheap", 0.25, 0.2}, "auto", 0, false, "cheap", "", map[string]float64{"cheap": 1}},
		"unknown baseline":    {&Holdout{"none", 0.25, 0.2}, "auto", 0, false, "cheap", "", nil},
		"a named model":       {&Holdout{"best", 0.25, 0.2}, "cheap", 0, false, "cheap", "", nil},
		"with exploration":    {&Holdout{"best", 0.5, 0.9}, "auto", 0.5, false, "cheap", "", map[string]float64{"best": 0.625, "cheap": 0.375}},
		"skipped exploration": {&Holdout{"best", 0.25, 0.9}, "auto", 0.5, true, "cheap", "", map[string]float64{"best": 0.25, "cheap": 0.75}},
	} {
		cheap, best := &candidate{Candidate: Candidate{Target: "p/cheap", Model: "cheap"}}, &candidate{Candidate: Candidate{Target: "p/best", Model: "best"}}
		if tc.explore > 0 && !tc.skipped {
			cheap.Propensity, best.Propensity = 0.75, 0.25
		}
		r := &ranking{in: &Input{Model: tc.model, Exploration: Exploration{Holdout: tc.holdout, Explore: tc.explore}}, standings: standings{ready: []*candidate{cheap, best}}}
		heldOut := r.holdOut()
		if heldOut != tc.heldOut || r.ready[0].Model != tc.first || len(r.ready) != 2 {
			t.Errorf("%s: first model %s, held out %q; want %s, %q", name, r.ready[0].Model, heldOut, tc.first, tc.heldOut)
		}
		for _, cand := range r.ready {
			if cand.Propensity != tc.chances[cand.Model] {
				t.Errorf("%s: propensity of %s = %v, want %v", name, cand.Model, cand.Propensity, tc.chances[cand.Model])
			}
		}
	}
}
