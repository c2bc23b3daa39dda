package route

import (
	"testing"
)

func TestHoldoutServesTheBaselineBelowItsShare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		holdout *Holdout
		model   string // requested model
		first   string
		heldOut string
	}{
		"no holdout":         {nil, "auto", "cheap", ""},
		"held out":           {&Holdout{"best", 0.25, 0.2}, "auto", "best", "p/cheap"},
		"draw above share":   {&Holdout{"best", 0.25, 0.25}, "auto", "cheap", ""},
		"baseline is chosen": {&Holdout{"cheap", 0.25, 0.2}, "auto", "cheap", ""},
		"unknown baseline":   {&Holdout{"none", 0.25, 0.2}, "auto", "cheap", ""},
		"a named model":      {&Holdout{"best", 0.25, 0.2}, "cheap", "cheap", ""},
	} {
		cheap, best := &candidate{Candidate: Candidate{Target: "p/cheap", Model: "cheap"}}, &candidate{Candidate: Candidate{Target: "p/best", Model: "best"}}
		r := &ranking{in: &Input{Model: tc.model, Holdout: tc.holdout}, standings: standings{ready: []*candidate{cheap, best}}}
		heldOut := r.holdOut()
		if heldOut != tc.heldOut || r.ready[0].Model != tc.first || len(r.ready) != 2 {
			t.Errorf("%s: first model %s, held out %q; want %s, %q", name, r.ready[0].Model, heldOut, tc.first, tc.heldOut)
		}
	}
}
