package proof

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// runs is the number of simulated runs. The statements in docs/guides/proof.md hold for 1,000:
//
//	go test ./internal/proof -runs 1000
var runs = flag.Int("runs", 20, "number of simulated runs")

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// truth is simulated traffic with a known mean difference.
type truth struct {
	name   string
	mean   float64
	floor  float64 // smallest propensity
	sample func(r *rand.Rand) (difference, propensity float64)
}

// verdicts returns traffic with the given shares of losses and wins. All requests have the same propensity.
func verdicts(losses, wins, propensity float64) truth {
	return truth{fmt.Sprintf("losses %g wins %g", losses, wins), wins - losses, propensity, func(r *rand.Rand) (float64, float64) {
		return drawVerdict(r, losses, wins), propensity
	}}
}

func drawVerdict(r *rand.Rand, losses, wins float64) float64 {
	switch x := r.Float64(); {
	case x < losses:
		return -1
	case x < losses+wins:
		return 1
	}
	return 0
}

// scores returns traffic with score differences that are spread uniformly around the mean.
func scores(mean, spread float64) truth {
	return truth{fmt.Sprintf("scores %g ± %g", mean, spread), mean, 0.1, func(r *rand.Rand) (float64, float64) {
		return mean + spread*(2*r.Float64()-1), 0.1
	}}
}

// mixed returns traffic of two task kinds. The frequent kind has few losses and is rarely compared. The rare kind has many losses and
// is compared four times as often. Without weights, the mean would be too low.
func mixed() truth {
	return truth{"two task kinds", 0.7*-0.01 + 0.3*-0.15, 0.05, func(r *rand.Rand) (float64, float64) {
		for {
			losses, wins, propensity := 0.03, 0.02, 0.05
			if r.Float64() < 0.3 {
				losses, wins, propensity = 0.25, 0.10, 0.2
			}
			if r.Float64() < propensity/0.2 { // whether the request is compared
				return drawVerdict(r, losses, wins), propensity
			}
		}
	}}
}

func (w *truth) samples(r *rand.Rand, n int, day int) []Sample {
	list := make([]Sample, n)
	for i := range list {
		list[i].Difference, list[i].Propensity = w.sample(r)
		list[i].At = start.Add(time.Duration(i) * 24 * time.Hour / time.Duration(day))
	}
	return list
}

func wantCovered(t *testing.T, missed int) {
	t.Helper()
	covered := 1 - float64(missed)/float64(*runs)
	t.Logf("the interval covers the mean in %.3f of the runs", covered)
	if covered < 0.95 {
		t.Errorf("the interval covers the mean in %.3f of the runs, want at least 0.95", covered)
	}
}

func TestIntervalCoversAtAnyTime(t *testing.T) {
	t.Parallel()
	for _, w := range []truth{
		verdicts(0.04, 0.02, 0.05), verdicts(0.3, 0.3, 0.05), verdicts(0, 0, 0.05), verdicts(0.9, 0.05, 0.05), verdicts(0.01, 0.003, 1),
		scores(-0.02, 0.25), scores(0.4, 0.6), mixed(),
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			missed := 0
			for run := range *runs {
				r := rand.New(rand.NewPCG(1, uint64(run)))
				list := w.samples(r, 3000, 20)
				// Check the interval at six random times: an interval that is valid at any time covers the mean at all of them.
				for range 6 {
					s := differences(list[:MinSamples+r.IntN(3000-MinSamples)])
					if e := s.estimate(-1, w.floor); e.Low > w.mean || e.High < w.mean {
						missed++
						break
					}
				}
			}
			wantCovered(t, missed)
		})
	}
}

func TestSharesCoverAtAnyTime(t *testing.T) {
	t.Parallel()
	w := mixed()
	wins, losses := 0.7*0.02+0.3*0.10, 0.7*0.03+0.3*0.25
	missed := 0
	for run := range *runs {
		r := rand.New(rand.NewPCG(2, uint64(run)))
		f := figures(w.samples(r, MinSamples+r.IntN(2500), 20), 0.05)
		outside := func(e *Estimate, truth float64) bool { return e.Low > truth || e.High < truth }
		if outside(f.Wins, wins) || outside(f.Losses, losses) || outside(f.Ties, 1-wins-losses) {
			missed++
		}
	}
	wantCovered(t, missed)
}

// TestCoversWhileTheShareAdapts lowers the share because of earlier outcomes, as a person does who changes the setting.
func TestCoversWhileTheShareAdapts(t *testing.T) {
	t.Parallel()
	missed := 0
	for run := range *runs {
		r := rand.New(rand.NewPCG(3, uint64(run)))
		var list []Sample
		share := 0.2
		for n, stop := 0, 300+r.IntN(2000); len(list) < stop; n++ {
			losses, wins, propensity := 0.03, 0.02, share
			if r.Float64() < 0.3 {
				losses, wins, propensity = 0.25, 0.10, 0.2
			}
			if r.Float64() >= propensity {
				continue
			}
			list = append(list, Sample{Difference: drawVerdict(r, losses, wins), Propensity: propensity, At: start.Add(time.Duration(n) * time.Minute)})
			if len(list)%100 == 0 && share == 0.2 {
				if s := differences(list); s.mean(func(a *atom) float64 { return a.low }) > -0.05 {
					share = 0.1
				}
			}
		}
		if e := Summarize(list, 0).Difference; e.Low > -0.052 || e.High < -0.052 {
			missed++
		}
	}
	wantCovered(t, missed)
}

// TestDifferenceOfTwoPointsIsDetected uses traffic in which 94 % of the comparisons are ties: the variance of the difference is 0.06. With a variance
// of 0.12, about 4,300 samples are needed. A test at one fixed number of samples needs 2,500 samples for a variance of 0.12.
func TestDifferenceOfTwoPointsIsDetected(t *testing.T) {
	t.Parallel()
	for _, w := range []truth{verdicts(0.04, 0.02, 0.05), scores(-0.02, 0.42)} {
		found := 0
		for run := range *runs {
			list := w.samples(rand.New(rand.NewPCG(4, uint64(run))), 2500, 20)
			var s sequence
			for i := range list {
				s.add(list[i].Difference, list[i].Propensity)
				if i%50 == 49 && s.exceeds(side{-1, -1}, 0, list[0].Propensity, miss/2) {
					found++
					break
				}
			}
		}
		share := float64(found) / float64(*runs)
		t.Logf("%s: detected in %.3f of the runs", w.name, share)
		if share < 0.8 {
			t.Errorf("%s: detected in %.3f of the runs, want at least 0.8", w.name, share)
		}
	}
}

func TestEstimateIsWeighted(t *testing.T) {
	t.Parallel()
	w := mixed()
	list := w.samples(rand.New(rand.NewPCG(7, 7)), 40_000, 20)
	s := differences(list)
	e := s.estimate(-1, 0.05)
	if math.Abs(e.Value-w.mean) > 0.006 {
		t.Errorf("estimate %.4f, want about %.4f", e.Value, w.mean)
	}
	if e.Low > w.mean || e.High < w.mean || e.High-e.Low > 0.05 {
		t.Errorf("interval from %.4f to %.4f, want at most 0.05 wide around %.4f", e.Low, e.High, w.mean)
	}
	plain := 0.0
	for i := range list {
		plain += list[i].Difference / float64(len(list))
	}
	if plain >= e.Low {
		t.Errorf("the unweighted mean %.4f is inside the interval: the test does not distinguish the two", plain)
	}
}

func TestCapitalCrossesTheLimitAtTheBounds(t *testing.T) {
	t.Parallel()
	w := scores(0.1, 0.5)
	list := w.samples(rand.New(rand.NewPCG(8, 8)), 500, 20)
	s := differences(list)
	e := s.estimate(-1, 0.1)
	below := side{1, -1}
	if !s.exceeds(below, e.Low-2e-6, 0.1, miss/2) || s.exceeds(below, e.Low+2e-6, 0.1, miss/2) {
		t.Errorf("the capital does not cross the limit at the lower bound %v", e.Low)
	}
	above := side{-1, -1}
	if !s.exceeds(above, -e.High-2e-6, 0.1, miss/2) || s.exceeds(above, -e.High+2e-6, 0.1, miss/2) {
		t.Errorf("the capital does not cross the limit at the upper bound %v", e.High)
	}
}

func TestNothingIsReportedBelowTheMinimum(t *testing.T) {
	t.Parallel()
	w := verdicts(0.5, 0.1, 0.1)
	list := w.samples(rand.New(rand.NewPCG(10, 10)), MinSamples-1, 20)
	r := Summarize(list, 0)
	if r.Samples != MinSamples-1 || r.Difference != nil || r.Wins != nil || r.Days[len(r.Days)-1].Difference != nil {
		t.Errorf("figures from %d samples: %+v", len(list), r.QualityFigures)
	}
	extra := w.samples(rand.New(rand.NewPCG(11, 11)), 1, 20)
	if r := Summarize(append(list, extra...), 0); r.Difference == nil || r.Losses == nil {
		t.Error("no difference or losses at the minimum number of samples")
	}
}

func TestReportDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	w := mixed()
	r := rand.New(rand.NewPCG(12, 12))
	list := w.samples(r, 1000, 20)
	for i := range list {
		list[i].Request, list[i].Task, list[i].Model, list[i].Key = fmt.Sprintf("req_%04d", i), []string{"code", "chat"}[i%2], []string{"a", "b", "c"}[i%3], "key"
	}
	one := fmt.Sprintf("%+v", flat(Summarize(list, 0)))
	shuffled := slices.Clone(list)
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if other := fmt.Sprintf("%+v", flat(Summarize(shuffled, 0))); other != one {
		t.Errorf("the report depends on the order:\n%s\n%s", one, other)
	}
}

// flat replaces pointers by values for comparison.
func flat(r QualityReport) []any {
	all := []any{*r.Difference, *r.Wins, *r.Ties, *r.Losses, r.Best, r.Worst, r.Methods}
	for _, list := range [][]QualityGroup{r.Tasks, r.Models, r.Keys} {
		for _, g := range list {
			all = append(all, g.Name, g.Samples, *g.Difference)
		}
	}
	return all
}

func TestReportGroupsAndExamples(t *testing.T) {
	t.Parallel()
	var list []Sample
	for i := range 120 {
		s := Sample{
			Request: fmt.Sprintf("req_%03d", i), Shadow: fmt.Sprintf("req_s%03d", i), At: start.Add(time.Duration(i) * time.Hour), Key: "key_1",
			Task: "code", Model: "small", Baseline: "large", Propensity: 0.5, Method: "judge",
		}
		switch {
		case i == 7:
			s.Difference, s.Reason = -1, "wrong result"
		case i == 9:
			s.Difference = 0.5
		case i >= 100:
			s.Task, s.Method = "chat", "hook"
		}
		list = append(list, s)
	}
	list = append(list, Sample{Difference: math.NaN(), Propensity: 0.5}, Sample{Difference: 0, Propensity: 0}, Sample{Difference: 2, Propensity: 1})
	r := Summarize(list, 0)
	if r.Unusable != 3 || r.Samples != 120 {
		t.Errorf("%d samples, %d unusable; want 120 and 3", r.Samples, r.Unusable)
	}
	if len(r.Tasks) != 2 || r.Tasks[0].Name != "code" || r.Tasks[0].Samples != 100 || r.Tasks[0].Difference == nil || r.Tasks[1].Difference != nil {
		t.Errorf("tasks %+v", r.Tasks)
	}
	if len(r.Worst) != 1 || r.Worst[0].Request != "req_007" || r.Worst[0].Shadow != "req_s007" || r.Worst[0].Reason != "wrong result" {
		t.Errorf("worst %+v", r.Worst)
	}
	if len(r.Best) != 1 || r.Best[0].Request != "req_009" {
		t.Errorf("best %+v", r.Best)
	}
	if len(r.Days) != 5 || r.Days[1].Samples != 48 || r.Days[2].Difference == nil {
		t.Errorf("days %+v", r.Days)
	}
	if len(r.Methods) != 2 || r.Methods[0] != (MethodCount{"judge", 100}) || len(r.Baseline) != 1 || r.Baseline[0] != "large" {
		t.Errorf("methods %+v, baselines %v", r.Methods, r.Baseline)
	}
}
