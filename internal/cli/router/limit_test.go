package router

import (
	"flag"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/learn"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/protocol"
	"fairlead.dev/internal/route"
)

var data = flag.String("data", "", "folder with recorded outcomes of models, such as mmlu_pro.jsonl")

// TestLimitOfLearning measures the gain over the static router with abilities that are fitted to the outcomes of all models. The
// abilities are fitted once to all prompts of a pool, by five-fold cross-validation, and once to the judged prompts themselves.
func TestLimitOfLearning(t *testing.T) {
	t.Parallel()
	if *data == "" {
		t.Skip("a measurement on recorded outcomes, which are not part of the repository; run it with -data DIR")
	}
	for _, s := range recordedPools(t) {
		prompts := slices.Concat(s.traffic, s.judged)
		const folds = 5
		var fitted [folds]*feedback.Corrections
		for k := range fitted {
			fitted[k] = s.fitAll(t, slices.DeleteFunc(slices.Clone(prompts), func(p simPrompt) bool { return foldOf(p.id, folds) == k }))
		}
		gain := func(corrections func(p *simPrompt) *feedback.Corrections) float64 {
			const steps = 9
			sum := 0.0
			for step := 1; step <= steps; step++ {
				var total protocol.Spend
				for i := range s.judged {
					p := &s.judged[i]
					part := s.spend(s.judged[i:i+1], float64(step)/(steps+1), corrections(p))
					total.Quality += part.Quality / float64(len(s.judged))
					total.Cost += part.Cost / float64(len(s.judged))
				}
				sum += (total.Quality - s.staticAt(total.Cost)) / steps
			}
			return sum
		}
		limit := gain(func(p *simPrompt) *feedback.Corrections { return fitted[foldOf(p.id, folds)] })
		itself := s.fitAll(t, s.judged)
		inSample := gain(func(*simPrompt) *feedback.Corrections { return itself })
		t.Logf("%s: limit %+.4f, fitted to the judged prompts themselves %+.4f", s.name, limit, inSample)
		if math.Max(limit, inSample) < -0.01 {
			t.Errorf("%s: abilities fitted to all outcomes lose", s.name)
		}
	}
}

func foldOf(id string, folds uint32) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int((h.Sum32() >> 8) % folds)
}

// fitAll learns from the outcomes of all models, with a wide prior.
func (s *simulation) fitAll(t *testing.T, prompts []simPrompt) *feedback.Corrections {
	t.Helper()
	var list []learn.Outcome
	for i := range prompts {
		f := &prompts[i].input.Features
		for k, model := range s.models {
			list = append(list, learn.Outcome{Request: strconv.Itoa(i), At: simStart, Kind: learn.Rated, Model: model, Task: f.Task, Skills: f.Skills, Value: prompts[i].scores[k], Weight: 1})
		}
	}
	wide := func(model string) (predict.Ability, bool) {
		a, ok := s.decider.snapshot.Ability(model)
		a.Precision, a.Spread = nil, 1.5
		return a, ok
	}
	state := learn.Fit(list, learn.Options{Base: wide, HalfLife: 30 * 24 * time.Hour, Today: simStart, MinVerdicts: 1})
	c, err := feedback.FromState(&state)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// recordedPools reads the recorded outcomes and returns a simulation for each pool of the plan.
func recordedPools(t *testing.T) []*simulation {
	t.Helper()
	f := learningFlags{evalFlags: evalFlags{tradeoff: 0.5}}
	prices, err := readPrices("../../../train/prices.csv")
	if err != nil {
		t.Fatal(err)
	}
	e := &evaluation{plan: protocol.Standard(), predictions: protocol.Predictions{}, prompts: map[string]asked{}}
	if e.names, err = readNames("../../../train/names.csv"); err != nil {
		t.Fatal(err)
	}
	if e.guess, err = f.guesser(); err != nil {
		t.Fatal(err)
	}
	paths, err := dataFiles([]string{*data})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := e.readOutcomes(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	var pools []*simulation
	for _, pool := range e.plan.Pools {
		s, err := newSimulation(e, pool, route.Objective{Name: "auto", Tradeoff: 0.5}, prices)
		if err != nil {
			t.Fatal(err)
		}
		if s != nil {
			pools = append(pools, s)
		}
	}
	return pools
}
