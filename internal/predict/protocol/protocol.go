// Package protocol judges predictions against recorded outcomes of many models. For pairs of a strong and a weak model it
// measures how much of the quality gap a router recovers when it sends only a share of the prompts to the strong one; for
// outcomes with costs it measures the quality of the cost-quality frontier. Random routing scores one half on the first,
// the best mixture of single models is the floor of the second.
package protocol

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Row is a prompt with what models made of it.
type Row struct {
	ID           string
	Source       string
	Scores       map[string]float64 // outcome by model, 0 to 1
	Costs        map[string]float64 // dollars by model, where they were recorded
	Contaminated bool               // the prompt was in somebody's training data: not for pairs
}

// Predictions are chances by prompt and model.
type Predictions map[string]map[string]float64

// Pair is a strong and a weak model on the prompts of one source.
type Pair struct {
	Source    string  `json:"source"`
	Strong    string  `json:"strong"`
	Weak      string  `json:"weak"`
	Published float64 `json:"published,omitempty"` // the best published APGR, where there is one
}

// Costed is a field of sources whose outcomes have costs.
type Costed struct {
	Name    string
	Sources []string
}

// Plan is what is judged.
type Plan struct {
	Pairs  []Pair
	Costed []Costed
	// Pooled is the pair whose sources make the mixture; NotPooled are sources that stay out of it because their scores
	// are preferences or similarities and not correctness.
	Pooled    Pair
	NotPooled []string
}

// PairResult is what a router does for a pair.
type PairResult struct {
	Pair
	Gap
	Prompts int     `json:"prompts"`
	Lead    float64 `json:"lead"` // the strong model's mean score less the weak one's
	Low     float64 `json:"apgr_low"`
	High    float64 `json:"apgr_high"` // low to high: ninety per cent of bootstrap samples
	Skipped bool    `json:"skipped,omitempty"`
}

// PoolResult is what a router does for a mixture of sources.
type PoolResult struct {
	Gap
	Prompts int `json:"prompts"`
}

// Report is the judgement.
type Report struct {
	Pairs  []PairResult     `json:"pairs"`
	Pooled *PoolResult      `json:"pooled,omitempty"`
	Costed []FrontierResult `json:"costed,omitempty"`
}

const (
	fewest     = 40  // prompts below which a pair says nothing
	samples    = 100 // of the bootstrap
	poolShare  = 300 // prompts of each source in the mixture
	poolDraws  = 20  // mixtures whose mean is reported: one alone moves by a point
	poolFewest = 100
	seed       = 20261115
)

// Judge computes the report. The same input gives the same report.
func Judge(rows []Row, predictions Predictions, plan Plan) Report {
	draw := rand.New(rand.NewPCG(seed, 0))
	bySource := map[string][]*Row{}
	for i := range rows {
		bySource[rows[i].Source] = append(bySource[rows[i].Source], &rows[i])
	}
	var report Report
	var pools [][]outcome
	for _, pair := range plan.Pairs {
		used := outcomes(bySource[pair.Source], predictions, pair)
		report.Pairs = append(report.Pairs, judgePair(pair, used, draw))
		if pooled(pair, plan) && len(used) >= fewest {
			pools = append(pools, used)
		}
	}
	report.Pooled = judgePool(pools, draw)
	for _, field := range plan.Costed {
		var rows []*Row
		for _, source := range field.Sources {
			rows = append(rows, bySource[source]...)
		}
		if result, ok := judgeFrontier(field.Name, rows, predictions); ok {
			report.Costed = append(report.Costed, result)
		}
	}
	return report
}

func pooled(p Pair, plan Plan) bool {
	return p.Strong == plan.Pooled.Strong && !slices.Contains(plan.NotPooled, p.Source)
}

// outcome is one prompt of a pair: the predicted advantage of the strong model and what both really scored.
type outcome struct{ advantage, strong, weak float64 }

// outcomes are the prompts where both models have a score and a prediction.
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

func judgePair(p Pair, used []outcome, draw *rand.Rand) PairResult {
	result := PairResult{Pair: p, Prompts: len(used)}
	if len(used) < fewest {
		result.Skipped = true
		return result
	}
	strong, weak := means(used)
	result.Lead = strong - weak
	if math.Abs(result.Lead) < noGap {
		result.Skipped = true // there is nothing to recover
		return result
	}
	result.Gap = gap(used, draw)
	var areas []float64
	sample := make([]outcome, len(used))
	for range samples {
		for i := range sample {
			sample[i] = used[draw.IntN(len(used))]
		}
		if area := gap(sample, draw).APGR; !math.IsNaN(area) {
			areas = append(areas, area)
		}
	}
	slices.Sort(areas)
	result.Low, result.High = quantile(areas, 0.05), quantile(areas, 0.95)
	return result
}

func judgePool(pools [][]outcome, draw *rand.Rand) *PoolResult {
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
		one := gap(mixture, draw)
		sum.Prompts = len(mixture)
		sum.APGR += one.APGR / poolDraws
		sum.CPT50 += one.CPT50 / poolDraws
		sum.CPT80 += one.CPT80 / poolDraws
	}
	return &sum
}
