package route

import (
	"math"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
)

// tried returns the propensity of each model, and the model that serves a request with the given draw.
func tried(share, floor, draw float64, ready ...*candidate) (chances map[string]float64, first string, explored bool) {
	r := &ranking{in: &Input{Model: "auto", Exploration: Exploration{Explore: share, Draw: draw, Trial: &Trial{Floor: floor}}}, standings: standings{ready: ready}}
	explored = r.explore()
	chances = map[string]float64{}
	for _, cand := range r.ready {
		chances[cand.Model] = cand.Propensity
	}
	return chances, r.ready[0].Model, explored
}

func trialOf(model string, quality, spread float64, total money.Amount) *candidate {
	return &candidate{
		Candidate: Candidate{Target: "p/" + model, Model: model, Scores: Scores{Quality: quality, Spread: spread}}, estimates: estimates{total: total}, scored: true,
		target: &provider.Target{Price: &catalog.Price{}},
	}
}

func TestTrialsStayWithinTheShareOfSpending(t *testing.T) {
	t.Parallel()
	models := func() []*candidate {
		return []*candidate{
			trialOf("first", 0.8, 0.05, 100), trialOf("cheap", 0.78, 0.05, 10), trialOf("costly", 0.82, 0.05, 300),
			trialOf("weak", 0.7, 0.2, 10), trialOf("certain", 0.76, 0.01, 10), trialOf("extreme", 0.9, 0.1, 1000),
		}
	}
	chances, first, explored := tried(0.1, 0, 0.9, models()...)
	if first != "first" || explored {
		t.Errorf("a draw above the share chose %s, explored %t; want first, false", first, explored)
	}
	sum, cost := 0.0, 0.0
	for _, cand := range models() {
		sum += chances[cand.Model]
		if cand.Model != "first" {
			cost += chances[cand.Model] * float64(cand.total)
		}
	}
	if math.Abs(sum-1) > 1e-9 || cost > 0.1*100 {
		t.Errorf("propensities %v sum to %v, expected cost of trials %v; want 1 and at most 10", chances, sum, cost)
	}
	if chances["cheap"] != 0.05 || chances["costly"] <= 0 || chances["costly"] >= 0.05 {
		t.Errorf("propensities %v, want 0.05 for cheap and less for costly", chances)
	}
	for _, never := range []string{"weak", "certain", "extreme"} { // too low a quality, certainly worse than first, too expensive
		if chances[never] != 0 {
			t.Errorf("propensity of %s = %v, want 0", never, chances[never])
		}
	}
	if _, first, explored := tried(0.1, 0, 0.02, models()...); first != "cheap" || !explored {
		t.Errorf("a draw below the share chose %s, explored %t; want cheap, true", first, explored)
	}
	if chances, first, _ := tried(0.1, 0.79, 0.02, models()...); chances["cheap"] != 0 || first != "costly" {
		t.Errorf("with a quality floor: propensities %v, chose %s; want costly without cheap", chances, first)
	}
}
