package learn

import (
	"maps"
	"math"
	"slices"

	"fairlead.dev/internal/predict/ability"
)

// Minimum evidence for a signal to have a weight.
const (
	MinPairs = 20   // lower limit of Trust.With and of Trust.Without
	MinTrust = 0.10 // lower limit of Trust.Low
)

// certainty is the number of standard errors for a one-sided 95 % bound.
const certainty = 1.645

// Trust measures how well a signal agrees with verdicts on the same requests.
type Trust struct {
	Signal  string  `json:"signal"`
	With    int     `json:"with"`    // number of requests with the signal and a verdict
	Without int     `json:"without"` // number of requests with a verdict but without the signal
	Bad     float64 `json:"bad"`     // mean share of bad responses among those with the signal
	Usual   float64 `json:"usual"`   // mean share of bad responses among those without the signal
	Low     float64 `json:"low"`     // lower bound of Bad minus Usual
	Weight  float64 `json:"weight"`  // weight of the signal in learning; 0 if the agreement is too small or unknown

	// present and absent are the log-likelihood ratios of good to bad responses for requests with and without the signal.
	present, absent float64
}

// Trusts measures the signals that occur in the outcomes, sorted by name. The difference d of a comparison, from -1 to 1, counts as
// (1 - d) / 2 bad responses.
func Trusts(outcomes []Outcome) []Trust {
	verdicts := map[string]*mean{}
	signals := map[string]map[string]bool{} // request IDs by signal
	for i := range outcomes {
		x := &outcomes[i]
		if x.Kind == Signalled {
			if x.Signal != Quiet && signals[x.Signal] == nil {
				signals[x.Signal] = map[string]bool{}
			}
			if x.Signal != Quiet {
				signals[x.Signal][x.Request] = true
			}
			continue
		}
		if verdicts[x.Request] == nil {
			verdicts[x.Request] = &mean{}
		}
		bad := 1 - min(max(x.Value, 0), 1)
		if x.Kind == Compared {
			bad = (1 - min(max(x.Value, -1), 1)) / 2
		}
		verdicts[x.Request].add(bad)
	}
	requests := slices.Sorted(maps.Keys(verdicts))
	list := make([]Trust, 0, len(signals))
	for _, name := range slices.Sorted(maps.Keys(signals)) {
		var with, without mean
		for _, request := range requests {
			if signals[name][request] {
				with.add(verdicts[request].value())
			} else {
				without.add(verdicts[request].value())
			}
		}
		list = append(list, trustOf(name, with, without))
	}
	return list
}

// mean accumulates values from 0 to 1 and computes their mean.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m *mean) value() float64 { return m.sum / float64(max(m.n, 1)) }

// posterior returns the mean and the variance of the probability, with a uniform prior.
func (m *mean) posterior() (value, variance float64) {
	a, b := m.sum+1, float64(m.n)-m.sum+1
	return a / (a + b), a * b / ((a + b) * (a + b) * (a + b + 1))
}

func trustOf(name string, with, without mean) Trust {
	t := Trust{Signal: name, With: with.n, Without: without.n}
	bad, badVariance := with.posterior()
	usual, usualVariance := without.posterior()
	t.Bad, t.Usual = bad, usual
	t.Low = bad - usual - certainty*math.Sqrt(badVariance+usualVariance)
	if with.n < MinPairs || without.n < MinPairs || t.Low < MinTrust {
		return t
	}
	t.Weight = t.Low * t.Low
	// ofBad and ofGood are the shares of the bad and the good responses that have the signal.
	all := float64(with.n + without.n)
	withShare := float64(with.n) / all
	isBad := withShare*bad + (1-withShare)*usual
	ofBad, ofGood := withShare*bad/isBad, withShare*(1-bad)/(1-isBad)
	t.present, t.absent = math.Log(ofGood/ofBad), math.Log((1-ofGood)/(1-ofBad))
	return t
}

// signalLabels returns labels for requests with trusted signals and for requests without signals. A label is the static
// probability, updated with the evidence of all signals. Signals that occur as often as expected therefore do not change the
// abilities on average.
func (f *fitter) signalLabels(outcomes []Outcome) labels {
	quiet, weight := 0.0, 0.0
	trusted := map[string]*Trust{}
	for i := range f.trust {
		if t := &f.trust[i]; t.Weight > 0 {
			trusted[t.Signal] = t
			quiet += t.absent
			weight = max(weight, t.Weight)
		}
	}
	all := labels{}
	if len(trusted) == 0 {
		return all
	}
	seen := map[string]*Outcome{} // first signal of each request
	evidence := map[string]float64{}
	var order []string
	for i := range outcomes {
		x := &outcomes[i]
		if x.Kind != Signalled || x.Signal != Quiet && trusted[x.Signal] == nil {
			continue
		}
		if seen[x.Request] == nil {
			seen[x.Request], evidence[x.Request] = x, quiet
			order = append(order, x.Request)
		}
		if t := trusted[x.Signal]; t != nil {
			evidence[x.Request] += t.present - t.absent
		}
	}
	for _, request := range order {
		x := seen[request]
		base, _ := f.o.Base(x.Model)
		label := ability.Label{Skills: x.Skills, Weight: weight * x.Weight, Score: sigmoid(logitOf(base.Vector, x.Skills) + evidence[request])}
		if x.Signal == Quiet {
			label.Weight /= QuietShare
		}
		all.add(x.Model, x.Task, label)
	}
	return all
}
