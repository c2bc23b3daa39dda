package main

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
	Contaminated bool               // whether the prompt may be in training data; such prompts are not used for pairs, pools and calibration
}

// Predictions are success probabilities by prompt and model.
type Predictions map[string]map[string]float64

// Pair names a strong and a weak model that are compared on the prompts of one source.
type Pair struct {
	Source string `json:"source"`
	Strong string `json:"strong"`
	Weak   string `json:"weak"`
}

// Plan selects the sources and pairs to evaluate.
type Plan struct {
	Pairs []Pair
	Pools []Pool // model pools for evaluating the choices of the model auto
}

// PairResult holds the result of a router for one pair of models.
type PairResult struct {
	Pair
	Prompts int     `json:"prompts"`
	Lead    float64 `json:"lead"` // mean score of the strong model minus the mean score of the weak model
	APGR    float64 `json:"apgr"`
	Low     float64 `json:"apgr_low"`
	High    float64 `json:"apgr_high"` // 90 % of the bootstrap samples of APGR lie between Low and High
	Skipped bool    `json:"skipped,omitempty"`
}

// Report holds the results of an evaluation.
type Report struct {
	Pairs       []PairResult  `json:"pairs"`
	Calibration []Calibration `json:"calibration,omitempty"`
	Auto        []AutoResult  `json:"auto,omitempty"`

	Behaviour []BehaviourResult `json:"behaviour,omitempty"`
}

const (
	minPrompts = 40  // minimum number of prompts for a pair
	samples    = 100 // number of bootstrap samples
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
	for _, pair := range plan.Pairs {
		report.Pairs = append(report.Pairs, evaluatePair(pair, outcomes(bySource[pair.Source], predictions, pair), draw))
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
	result.APGR = gapRecovered(used, draw)
	var areas []float64
	sample := make([]outcome, len(used))
	for range samples {
		for i := range sample {
			sample[i] = used[draw.IntN(len(used))]
		}
		if area := gapRecovered(sample, draw); !math.IsNaN(area) {
			areas = append(areas, area)
		}
	}
	slices.Sort(areas)
	result.Low, result.High = quantile(areas, 0.05), quantile(areas, 0.95)
	return result
}

const (
	thresholds = 10
	tieNoise   = 1e-9 // random noise that breaks ties independently of the prompt order
	noGap      = 1e-9
)

// point is the result of one router setting: the share of prompts sent to the strong model, and the mean score.
type point struct{ share, quality float64 }

// gapRecovered returns the APGR: the share of the quality gap between the models that routing by the predicted advantage recovers,
// averaged over all shares of calls to the strong model. Random routing has 0.5.
func gapRecovered(used []outcome, draw *rand.Rand) float64 {
	strong, weak := means(used)
	if math.Abs(strong-weak) < noGap {
		return math.NaN()
	}
	points := settings(used, draw)
	area, span := 0.0, 0.0
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		width := b.share - a.share
		area += width * (a.quality + b.quality - 2*weak) / 2
		span += width * (strong - weak)
	}
	return area / span
}

func means(used []outcome) (strong, weak float64) {
	for _, o := range used {
		strong += o.strong
		weak += o.weak
	}
	n := float64(len(used))
	return strong / n, weak / n
}

// settings returns the router's points at the quantiles of the advantage, lowest share first. The highest threshold
// sends no prompt to the strong model.
func settings(used []outcome, draw *rand.Rand) []point {
	advantage := make([]float64, len(used))
	for i, o := range used {
		advantage[i] = o.advantage + tieNoise*draw.Float64()
	}
	sorted := slices.Sorted(slices.Values(advantage))
	points := make([]point, 0, thresholds+1)
	for step := thresholds; step >= 0; step-- {
		limit := math.Inf(1)
		if step < thresholds {
			limit = quantile(sorted, float64(step)/thresholds)
		}
		var p point
		for i, o := range used {
			if advantage[i] >= limit {
				p.share++
				p.quality += o.strong
			} else {
				p.quality += o.weak
			}
		}
		p.share /= float64(len(used))
		p.quality /= float64(len(used))
		points = append(points, p)
	}
	return points
}

// quantile returns a quantile of sorted values, with linear interpolation. It returns NaN for an empty slice.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}
