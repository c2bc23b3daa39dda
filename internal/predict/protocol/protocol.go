// Package protocol evaluates predictions against recorded outcomes of many models. For pairs of a strong and a weak model it measures how
// much of the quality gap a router recovers when it sends only a share of the prompts to the strong one; for outcomes with costs it
// measures the cost-quality frontier and compares it with the best mixture of single models. Random routing recovers half of the gap on
// average.
package protocol

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Row is a prompt with the outcomes of several models.
type Row struct {
	ID           string
	Source       string
	Scores       map[string]float64 // outcomes by model, from 0 to 1
	Costs        map[string]float64 // costs in dollars by model, if recorded
	Chars        map[string]float64 // response lengths in characters by model, if recorded
	Group        string             // group of near-duplicate prompts; empty if unknown
	Contaminated bool               // whether the prompt may be in training data; such prompts are not used for pairs, pools and calibration
}

// Predictions are success probabilities by prompt and model.
type Predictions map[string]map[string]float64

// Pair names a strong and a weak model that are compared on the prompts of one source.
type Pair struct {
	Source    string  `json:"source"`
	Strong    string  `json:"strong"`
	Weak      string  `json:"weak"`
	Published float64 `json:"published,omitempty"` // best published APGR, if any
}

// Costed is a group of sources whose outcomes have costs.
type Costed struct {
	Name    string
	Sources []string
}

// Plan selects the sources and pairs to evaluate.
type Plan struct {
	Pairs  []Pair
	Costed []Costed
	Pools  []Pool // model pools for evaluating the choices of the model auto
	// Lengths are sources whose prompts are complete requests. They are used to evaluate the expected output length and cost.
	Lengths []string
	// Pooled is the pair whose sources form the mixture. NotPooled are sources excluded from it because their scores
	// are preferences or similarities rather than correctness.
	Pooled    Pair
	NotPooled []string
}

// PairResult holds the result of a router for one pair of models.
type PairResult struct {
	Pair
	Gap
	Prompts int     `json:"prompts"`
	Lead    float64 `json:"lead"` // mean score of the strong model minus the mean score of the weak model
	Low     float64 `json:"apgr_low"`
	High    float64 `json:"apgr_high"` // 90 % of the bootstrap samples of APGR lie between Low and High
	Skipped bool    `json:"skipped,omitempty"`
}

// PoolResult holds the result of a router for a mixture of sources.
type PoolResult struct {
	Gap
	Prompts int `json:"prompts"`
}

// Report holds the results of an evaluation.
type Report struct {
	Pairs  []PairResult     `json:"pairs"`
	Pooled *PoolResult      `json:"pooled,omitempty"`
	Costed []FrontierResult `json:"costed,omitempty"`

	Calibration []Calibration `json:"calibration,omitempty"`
	Auto        []AutoResult  `json:"auto,omitempty"`

	Lengths   []LengthResult    `json:"lengths,omitempty"`
	Behaviour []BehaviourResult `json:"behaviour,omitempty"`
}

const (
	minPrompts = 40  // minimum number of prompts for a pair
	samples    = 100 // number of bootstrap samples
	poolShare  = 300 // number of prompts per source in the mixture
	poolDraws  = 20  // number of mixtures to average, because the results of single mixtures vary by a percentage point
	poolFewest = 100
	seed       = 20261115
)

// Evaluate computes the report. Equal input gives an equal report.
func Evaluate(rows []Row, predictions Predictions, plan Plan) Report {
	draw := rand.New(rand.NewPCG(seed, 0))
	bySource := map[string][]*Row{}
	for i := range rows {
		bySource[rows[i].Source] = append(bySource[rows[i].Source], &rows[i])
	}
	var report Report
	var pools [][]outcome
	for _, pair := range plan.Pairs {
		used := outcomes(bySource[pair.Source], predictions, pair)
		report.Pairs = append(report.Pairs, evaluatePair(pair, used, draw))
		if pair.Strong == plan.Pooled.Strong && !slices.Contains(plan.NotPooled, pair.Source) && len(used) >= minPrompts {
			pools = append(pools, used)
		}
	}
	report.Pooled = evaluatePool(pools, draw)
	for _, field := range plan.Costed {
		var rows []*Row
		for _, source := range field.Sources {
			rows = append(rows, bySource[source]...)
		}
		if result, ok := evaluateFrontier(field.Name, rows, predictions); ok {
			report.Costed = append(report.Costed, result)
		}
	}
	report.Calibration = Calibrate(rows, predictions)
	return report
}

// outcome is one prompt of a pair: the predicted advantage of the strong model and both actual scores.
type outcome struct{ advantage, strong, weak float64 }

// outcomes returns the prompts for which both models have a score and a prediction.
func outcomes(rows []*Row, predictions Predictions, p Pair) []outcome {
	var used []outcome
	for _, r := range rows {
		strong, ok1 := r.Scores[p.Strong]
		weak, ok2 := r.Scores[p.Weak]
		s, ok3 := predictions[r.ID][p.Strong]
		w, ok4 := predictions[r.ID][p.Weak]
		if ok1 && ok2 && ok3 && ok4 && !r.Contaminated {
			used = append(used, outcome{s - w, strong, weak})
		}
	}
	return used
}

func evaluatePair(p Pair, used []outcome, draw *rand.Rand) PairResult {
	result := PairResult{Pair: p, Prompts: len(used)}
	if len(used) < minPrompts {
		result.Skipped = true
		return result
	}
	strong, weak := means(used)
	result.Lead = strong - weak
	if math.Abs(result.Lead) < noGap {
		result.Skipped = true // both models have equal quality
		return result
	}
	result.Gap = computeGap(used, draw)
	var areas []float64
	sample := make([]outcome, len(used))
	for range samples {
		for i := range sample {
			sample[i] = used[draw.IntN(len(used))]
		}
		if area := computeGap(sample, draw).APGR; !math.IsNaN(area) {
			areas = append(areas, area)
		}
	}
	slices.Sort(areas)
	result.Low, result.High = quantile(areas, 0.05), quantile(areas, 0.95)
	return result
}

func evaluatePool(pools [][]outcome, draw *rand.Rand) *PoolResult {
	var sum PoolResult
	for range poolDraws {
		var mixture []outcome
		for _, used := range pools {
			for i, k := range draw.Perm(len(used)) {
				if i == poolShare {
					break
				}
				mixture = append(mixture, used[k])
			}
		}
		if len(mixture) <= poolFewest {
			return nil
		}
		one := computeGap(mixture, draw)
		sum.Prompts = len(mixture)
		sum.APGR += one.APGR / poolDraws
		sum.CPT50 += one.CPT50 / poolDraws
		sum.CPT80 += one.CPT80 / poolDraws
	}
	return &sum
}
