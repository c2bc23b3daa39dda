package replay

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/route"
)

// syntheticLog returns rated requests whose true quality with the draft is known. The predictions are wrong by up to 0.25, and the
// logged decisions choose the model by the difficulty of the request. Therefore neither the predictions nor the plain means of the
// ratings are right.
func syntheticLog(r *rand.Rand, requests int) (m measured, before, after float64) {
	truth := func(model string, difficulty float64) float64 {
		return map[string]float64{"small": 0.75 - 0.5*difficulty, "middle": 0.8 - 0.3*difficulty, "large": 0.85 - 0.1*difficulty}[model]
	}
	for range requests {
		difficulty := r.Float64()
		logged := chances{{"small", 0.8}, {"middle", 0.1}, {"large", 0.1}}
		if difficulty > 0.6 {
			logged = chances{{"small", 0.1}, {"middle", 0.15}, {"large", 0.75}}
		}
		draft := chances{{"middle", 0.9}, {"large", 0.1}}
		e := &evidence{model: drawModel(r, logged), logged: logged, predict: map[string]float64{"small": 0.75, "middle": 0.55, "large": 0.95 - 0.3*difficulty}}
		if r.Float64() < truth(e.model, difficulty) {
			e.quality = 1
		}
		m.add(e, logged, draft)
	}
	// The mean difficulty is 0.3 for requests below 0.6, and 0.8 for requests above.
	mean := func(c chances, difficulty float64) (sum float64) {
		for _, one := range c {
			sum += one.probability * truth(one.model, difficulty)
		}
		return sum
	}
	easy, hard := chances{{"small", 0.8}, {"middle", 0.1}, {"large", 0.1}}, chances{{"small", 0.1}, {"middle", 0.15}, {"large", 0.75}}
	return m, 0.6*mean(easy, 0.3) + 0.4*mean(hard, 0.8), mean(chances{{"middle", 0.9}, {"large", 0.1}}, 0.5)
}

func drawModel(r *rand.Rand, c chances) string {
	x := r.Float64()
	for _, one := range c {
		if x -= one.probability; x < 0 {
			return one.model
		}
	}
	return c[len(c)-1].model
}

func TestMeasuredQualityIsUnbiasedAndCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	const runs = 1000
	var biasBefore, biasAfter float64
	missed := 0
	for run := range runs {
		m, before, after := syntheticLog(rand.New(rand.NewPCG(1, uint64(run))), 1000)
		got := m.report()
		biasBefore += (got.Before.Value - before) / runs
		biasAfter += (got.After.Value - after) / runs
		if got.After.Low > after || got.After.High < after || got.Change.Low > after-before || got.Change.High < after-before {
			missed++
		}
	}
	if math.Abs(biasBefore) > 0.01 || math.Abs(biasAfter) > 0.01 {
		t.Errorf("bias %.4f before, %.4f after; want at most 0.01", biasBefore, biasAfter)
	}
	if covered := 1 - float64(missed)/runs; covered < 0.95 {
		t.Errorf("the interval covers the quality in %.3f of the runs, want at least 0.95", covered)
	}
}

func TestEqualChoicesHaveNoMeasuredChange(t *testing.T) {
	t.Parallel()
	var m measured
	r := rand.New(rand.NewPCG(2, 2))
	same := chances{{"small", 0.7}, {"large", 0.3}}
	for range 100 {
		m.add(&evidence{model: drawModel(r, same), quality: r.Float64(), logged: same, predict: map[string]float64{"small": 0.4, "large": 0.9}}, same, same)
	}
	if got := m.report(); got.Change.Value != 0 || got.Change.Low != 0 || got.Change.High != 0 || got.Overlap != 1 || math.Abs(got.Effective-100) > 1e-6 {
		t.Errorf("report %+v, change %+v; want no change and full overlap", got, got.Change)
	}
}

func TestSmallOverlapHasAWarning(t *testing.T) {
	t.Parallel()
	small, large := chances{{"small", 1}}, chances{{"large", 1}}
	both := map[string]float64{"small": 0.5, "large": 0.9}
	for _, c := range []struct {
		name         string
		requests     int
		logged       chances
		draft        chances
		want         string
		hasEstimates bool
	}{
		{"never chosen", 200, small, large, "only 0 % of these choices", true},
		{"rarely chosen", 200, chances{{"small", 0.99}, {"large", 0.01}}, large, "equally weighted", true},
		{"few ratings", 20, small, small, "Only 20 rated requests", false},
		{"enough", 200, small, small, "", true},
	} {
		var m measured
		r := rand.New(rand.NewPCG(3, 3))
		for range c.requests {
			m.add(&evidence{model: drawModel(r, c.logged), quality: 0.5, logged: c.logged, predict: both}, c.logged, c.draft)
		}
		got := m.report()
		if !strings.Contains(got.Warning, c.want) || (c.want == "") != (got.Warning == "") || (got.Change != nil) != c.hasEstimates {
			t.Errorf("%s: report %+v, want warning %q, estimates %t", c.name, got, c.want, c.hasEstimates)
		}
	}
	if (&measured{}).report() != nil {
		t.Error("report without ratings is not nil")
	}
}

// rated holds the ratings of requests.
type rated map[string][]feedback.Rating

func (r rated) FeedbackOfAll(_ context.Context, _ string, ids []string) (map[string][]feedback.Rating, error) {
	found := map[string][]feedback.Rating{}
	for _, id := range ids {
		if list, ok := r[id]; ok {
			found[id] = list
		}
	}
	return found, nil
}

// TestBacktestMeasuresQualityFromRatings logs requests with exploration and rates the responses of each model equally.
func TestBacktestMeasuresQualityFromRatings(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	snap := trio(t)
	scores := map[string]float64{"small": 0.2, "middle": 0.5, "large": 0.9}
	r := rand.New(rand.NewPCG(4, 4))
	log := func(explore float64) (rows traffic, ratings rated) {
		ratings = rated{}
		for n := range 1500 {
			in := asked(n, 0.6)
			in.Explore, in.Draw = explore, r.Float64()
			in.Features.Skills = []float64{r.NormFloat64()}
			e := logged(t, n, in, snap, route.Conditions{})
			rows = append(rows, row(t, &e))
			ratings[e.ID] = []feedback.Rating{
				{Rated: feedback.Rated{Model: e.Model}, Score: scores[e.Model], Source: feedback.FromAPI},
				{Rated: feedback.Rated{Model: e.Model}, Score: 0, Source: feedback.FromSignal, Signal: feedback.Retry},
			}
		}
		return rows, ratings
	}
	live := Rules{Snapshot: snap}
	draft := Rules{Snapshot: snap, Policies: parse(t, snap, "policies:\n- name: pin\n  pin: large\n")}

	rows, ratings := log(0.6)
	report := run(t, rows, Options{Live: live, Draft: &draft, Predictor: predictor, Ratings: ratings})
	m := report.Logged.Measured
	if m == nil || m.Requests != 1500 || m.Change == nil {
		t.Fatalf("measured %+v, want 1500 requests with a change", m)
	}
	if math.Abs(m.After.Value-0.9) > 0.05 || m.After.Low > 0.9 || m.After.High < 0.9 {
		t.Errorf("after %+v, want about 0.9", m.After)
	}
	if m.Overlap < 0.9 || m.Warning != "" {
		t.Errorf("overlap %.3f, warning %q; want at least 0.9, none", m.Overlap, m.Warning)
	}
	if live := report.InLive.Measured; live == nil || live.Requests != 1500 {
		t.Errorf("measured with the active rules: %+v, want 1500 requests", live)
	}

	rows, ratings = log(0)
	m = run(t, rows, Options{Live: live, Draft: &draft, Predictor: predictor, Ratings: ratings}).Logged.Measured
	if m.Overlap > 0.9 || m.Warning == "" {
		t.Errorf("without exploration: overlap %.3f, warning %q; want at most 0.9 and a warning", m.Overlap, m.Warning)
	}
	if run(t, rows, Options{Live: live, Predictor: predictor}).Logged.Measured != nil {
		t.Error("Measured is set without ratings")
	}
	for _, list := range ratings {
		list[0].Model = "other" // a fallback responded
	}
	if run(t, rows, Options{Live: live, Predictor: predictor, Ratings: ratings}).Logged.Measured != nil {
		t.Error("Measured is set from responses of a fallback")
	}
}
