package feedback

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/predict"
)

func twoShifts() *Corrections {
	return &Corrections{Abilities: map[string]*Shift{
		"small": {Base: bases["small"].Vector, Corrected: predict.Ability{Vector: []float64{0.75, 1.25, -0.5}, Spread: 0.2, Source: "benchmarks"}, Ratings: 7, Tasks: map[predict.Task]float64{predict.Maths: 0.5}},
		"large": {Base: []float64{1, 1, 1}, Corrected: predict.Ability{Vector: []float64{0.5, 1, 1.25}, Spread: 0.1, Source: "trained"}, Ratings: 9},
	}}
}

func TestCorrectionIsAppliedToTheCallersBase(t *testing.T) {
	t.Parallel()
	small, large, other := bases["small"], bases["large"], predict.Ability{Vector: []float64{1, 2}}
	for _, c := range []struct {
		name        string
		corrections *Corrections
		model       string
		base, want  *predict.Ability
	}{
		{"none at all", nil, "small", &small, &small},
		{"no ability", twoShifts(), "small", nil, nil},
		{"none for this model", twoShifts(), "medium", &small, &small},
		{"the base it was computed from", twoShifts(), "small", &small, &twoShifts().Abilities["small"].Corrected},
		{"another base is shifted by the difference", twoShifts(), "large", &large, &predict.Ability{Vector: []float64{1, 0.5, 0.5}, Spread: 0.1, Source: "trained"}},
		{"other skills", twoShifts(), "small", &other, &other},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.corrections.Ability(c.model, predict.Code, c.base)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if small.Vector[0] != 0.5 || large.Vector[0] != 1.5 {
		t.Errorf("Ability changed a base: small %v, large %v", small.Vector, large.Vector)
	}
}

func TestCorrectionsRoundTrip(t *testing.T) {
	t.Parallel()
	made := twoShifts()
	if err := made.setVersion(); err != nil {
		t.Fatal(err)
	}
	body, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(body)
	if diff := cmp.Diff(made, got); err != nil || diff != "" || got.Version == "" {
		t.Error(err, diff)
	}
	made.Abilities["small"].Corrected.Vector[0] += 1e-9
	if err := made.setVersion(); err != nil || made.Version == got.Version {
		t.Errorf("another correction has the same version %s, %v", made.Version, err)
	}
	var none *Corrections
	body, err = none.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err = Decode(body); err != nil || got.Version != "" || len(got.Abilities) > 0 {
		t.Errorf("Decode of no corrections = %+v, %v", got, err)
	}
	for _, broken := range []string{"", "[]", `{"a": null}`, `{"a": {"base": [1], "ability": {"vector": []}}}`} {
		if _, err := Decode([]byte(broken)); err == nil {
			t.Errorf("Decode(%s): got no error", broken)
		}
	}
}
