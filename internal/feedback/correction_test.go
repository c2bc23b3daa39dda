package feedback

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/route/predict"
)

func TestCorrectionsRoundTrip(t *testing.T) {
	t.Parallel()
	made := &Corrections{Shifts: map[string]map[predict.Family]float64{
		"small": {predict.Maths: 0.5, predict.Code: -0.125}, "large": {predict.Chat: 1.011},
	}}
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
	if code, chat, other := got.Shift("small", predict.Code), got.Shift("small", predict.Chat), got.Shift("medium", predict.Code); code != -0.125 || chat != 0 || other != 0 {
		t.Errorf("Shift: code %v, chat %v, another model %v; want -0.125, 0, 0", code, chat, other)
	}
	made.Shifts["small"][predict.Maths] += 0.001
	if err := made.setVersion(); err != nil || made.Version == got.Version {
		t.Errorf("another correction has the same version %s, %v", made.Version, err)
	}
	if _, err := Decode([]byte("[]")); err == nil {
		t.Error("Decode of an array returned no error")
	}
}

func TestNoCorrectionsShiftNothing(t *testing.T) {
	t.Parallel()
	var none *Corrections
	if shift := none.Shift("small", predict.Code); shift != 0 {
		t.Errorf("Shift = %v, want 0", shift)
	}
	body, err := none.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(body); err != nil || got.Version != "" || len(got.Shifts) > 0 {
		t.Errorf("Decode of no corrections = %+v, %v", got, err)
	}
}
