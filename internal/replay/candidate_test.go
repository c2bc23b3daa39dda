package replay

import (
	"math"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// TestBacktestRoutesToAProviderThatIsNotConnected adds a model that is as good as the large one and cheaper than the middle one.
func TestBacktestRoutesToAProviderThatIsNotConnected(t *testing.T) {
	t.Parallel()
	snap := trio(t)
	var source traffic
	for n, tradeoff := range []float64{0, 1} { // one request for the small model, one for the large
		e := logged(t, n, asked(n, tradeoff), snap, route.Conditions{})
		source = append(source, row(t, &e))
	}
	rate := money.PerMillion(3)
	bargain := &provider.Target{
		Provider: "north", Upstream: "bargain", Price: &catalog.Price{Input: rate, Output: rate},
		Model: &catalog.Model{Name: "bargain", Op: llm.Chat, Context: 128_000, Abilities: llm.Tools},
	}
	vectors := abilities{"bargain": {Vector: []float64{1, 1}}}
	for i, model := range []string{"small", "middle", "large"} {
		vectors[model] = predict.Ability{Vector: []float64{float64(i) - 1, 1}}
	}
	with := route.NewSnapshot(snap.Catalog, append([]*provider.Provider{{Name: "north", Targets: []*provider.Target{bargain}}}, snap.Providers...), vectors)

	got := run(t, source, Options{Live: Rules{Snapshot: snap}, Draft: &Rules{Snapshot: with}, Predictor: predictor})

	c := got.InLive
	if c == nil || c.Changed != 1 || c.Unchanged != 1 || len(c.Routes) != 1 {
		t.Fatalf("comparison %+v, want one changed and one unchanged request", c)
	}
	if moved := c.ByCost[0]; moved.From != "east/large" || moved.To != "north/bargain" || moved.CostAfter.String() != "0.0045" {
		t.Errorf("change %+v, want east/large to north/bargain for 0.0045", moved)
	}
	// Only the draft has the new model. Its quality is predicted with its ability in the draft, so both requests are compared.
	if c.Quality.Requests != 2 || math.Abs(c.Quality.Change) > 1e-9 || c.Cost.Change >= 0 {
		t.Errorf("quality %+v, cost %+v; want equal quality and lower cost", c.Quality, c.Cost)
	}
}
