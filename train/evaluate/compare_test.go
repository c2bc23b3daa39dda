package main

import (
	"math"
	"testing"
)

func TestGainIsMeasuredOverTheMixOfTwoModels(t *testing.T) {
	t.Parallel()
	c := &comparison{models: []string{"cheap", "dominated", "good"}}
	for i := range 4 {
		hard := float64(i % 2)
		c.tasks = append(c.tasks, &outcome{group: string(rune('a' + i)), scores: map[string]float64{"cheap": 1 - hard, "dominated": 0, "good": 1}})
		c.costs = append(c.costs, []float64{1, 2, 3})
		picks := make([]int, len(goals()))
		for j := range picks {
			picks[j] = 2 * (i % 2) // the good model only for hard tasks
		}
		c.picks = append(c.picks, picks)
	}
	r := c.evaluate()
	// At the cost of 2, the mix of half and half has a quality of 0.75, and the dominated model of the same cost none.
	for name, c := range map[string]struct{ got, want float64 }{
		"over the mix": {r.mean.value, 0.25}, "over one model": {r.overOne, 0.5}, "best": {r.best, 1}, "cheapest good model": {r.cheapest, 3},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
}

func TestLevelOfAFamilyIsShrunkToTheModel(t *testing.T) {
	t.Parallel()
	few, many := tally{0: {2, 2}}, tally{0: {2000, 1500}}
	if level, _ := few.level(-1, familyVariance); level < -1 || level > -0.5 {
		t.Errorf("level of two outcomes = %v, want nearly the model's level of -1", level)
	}
	if level, _ := many.level(-1, familyVariance); math.Abs(level-math.Log(3)) > 0.05 {
		t.Errorf("level of many outcomes = %v, want the logit of 0.75", level)
	}
}
