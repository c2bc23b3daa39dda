package main

import (
	"fmt"
	"math"
	"testing"
)

// mixed returns rows in which a cheap model solves every other prompt and an expensive one three of four.
func mixed() (rows []Row) {
	for i := range 80 {
		cheap, strong := float64(i%2), 1.0
		if i%4 == 0 {
			strong = 0
		}
		rows = append(rows, Row{
			ID: fmt.Sprint(i), Source: "s", Scores: map[string]float64{"cheap": cheap, "strong": strong}, Costs: map[string]float64{"cheap": 1, "strong": 5},
		})
	}
	return rows
}

func choose(rows []*Row, pick func(r *Row) string) []Chosen {
	choices := make([]Chosen, len(rows))
	for i, r := range rows {
		choices[i] = Chosen{Model: pick(r), Framed: true, Flipped: i%4 == 0}
	}
	return choices
}

func TestChoicesAreComparedWithAFixedMix(t *testing.T) {
	t.Parallel()
	data := mixed()
	rows, models := PoolRows(Pool{Name: "p", Sources: []string{"s"}}, data, func(string) bool { return true })
	if len(rows) != 80 || len(models) != 2 {
		t.Fatalf("%d rows of models %v, want 80 of two models", len(rows), models)
	}
	for name, tc := range map[string]struct {
		pick              func(r *Row) string
		quality, mix, low float64
	}{
		"always cheap":  {func(*Row) string { return "cheap" }, 0.5, 0.5, 0},
		"always strong": {func(*Row) string { return "strong" }, 0.75, 0.75, 0},
		"where it helps": {func(r *Row) string {
			if r.Scores["strong"] > r.Scores["cheap"] {
				return "strong"
			}
			return "cheap"
		}, 0.75, 0.5625, 0.1},
	} {
		got, ok := EvaluateChoices("p", rows, models, choose(rows, tc.pick))
		if !ok || math.Abs(got.Auto.Quality-tc.quality) > 1e-9 || math.Abs(got.Mix-tc.mix) > 1e-9 || math.Abs(got.Gain-(tc.quality-tc.mix)) > 1e-9 || got.Low < tc.low-1e-9 {
			t.Errorf("%s: got %+v, want quality %v, mix %v, low at least %v", name, got, tc.quality, tc.mix, tc.low)
		}
		if got.Flips != 0.25 || !got.Recorded || got.Best != (Spend{0.75, 5}) || got.Cheapest != (Spend{0.5, 1}) || got.Random != (Spend{0.625, 3}) || got.Oracle.Quality != 0.75 {
			t.Errorf("%s: wrong reference values in %+v", name, got)
		}
	}
	if _, ok := EvaluateChoices("p", rows, models[:1], choose(rows, func(*Row) string { return "cheap" })); ok {
		t.Error("EvaluateChoices with one model = true, want false")
	}
}

func TestCalibrationComparesPredictedAndObserved(t *testing.T) {
	t.Parallel()
	data, predictions := mixed(), Predictions{}
	for _, r := range data {
		predictions[r.ID] = map[string]float64{"cheap": 0.6, "strong": 0.75, "absent": 0.1}
	}
	list := Calibrate(data, predictions)
	if len(list) != 2 || list[0].Model != "cheap" || math.Abs(list[0].Predicted-0.6) > 1e-9 || list[0].Observed != 0.5 || list[1].Prompts != 80 {
		t.Errorf("calibration = %+v", list)
	}
}
