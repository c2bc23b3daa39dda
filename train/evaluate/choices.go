package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Pool is a set of models from which a router chooses for the prompts of the given sources.
type Pool struct {
	Name    string
	Sources []string
	Models  []string // names of the models, or nil for all models; only models with outcomes for nearly all prompts are used
}

// Chosen holds a router's choice for one prompt.
type Chosen struct {
	Model   string
	Costs   map[string]float64 // expected cost of each model in dollars, for data without recorded costs
	Flipped bool               // whether polite phrases around the prompt changed the choice
	Framed  bool               // whether the choice for the prompt with polite phrases was computed
}

// Spend holds the mean share of good responses and the mean cost in dollars.
type Spend struct {
	Quality float64 `json:"quality"`
	Cost    float64 `json:"cost_usd"`
}

// AutoResult compares the choices of a router with fixed choices.
type AutoResult struct {
	Name     string   `json:"name"`
	Prompts  int      `json:"prompts"`
	Models   []string `json:"models"`
	Recorded bool     `json:"recorded_costs"` // whether costs are recorded; otherwise they are the costs that the router expects
	Auto     Spend    `json:"auto"`
	Cheapest Spend    `json:"cheapest"`
	Best     Spend    `json:"best"` // result of the single model with the highest mean score
	Random   Spend    `json:"random"`
	Oracle   Spend    `json:"oracle"` // result of choosing, for each prompt, the cheapest of the models with the highest score
	Mix      float64  `json:"mix"`    // quality of the best fixed mixture of models at the router's cost
	Gain     float64  `json:"gain"`   // quality of the router minus Mix
	Low      float64  `json:"gain_low"`
	High     float64  `json:"gain_high"` // 90 % of the bootstrap samples of Gain lie between Low and High
	Flips    float64  `json:"flips"`     // share of choices that polite phrases around the prompt change
}

// minCoverage is the minimum share of a pool's prompts for which a model must have outcomes.
const minCoverage = 0.95

// PoolRows returns the usable models of a pool, and the rows with outcomes for all these models.
func PoolRows(pool Pool, rows []Row, usable func(model string) bool) (kept []*Row, models []string) {
	counts, total := map[string]int{}, 0
	for i := range rows {
		if slices.Contains(pool.Sources, rows[i].Source) && !rows[i].Contaminated {
			total++
			for m := range rows[i].Scores {
				counts[m]++
			}
		}
	}
	for m, n := range counts {
		if float64(n) >= minCoverage*float64(total) && (pool.Models == nil || slices.Contains(pool.Models, m)) && usable(m) {
			models = append(models, m)
		}
	}
	slices.Sort(models)
	for i := range rows {
		r := &rows[i]
		if slices.Contains(pool.Sources, r.Source) && !r.Contaminated && !slices.ContainsFunc(models, func(m string) bool { _, ok := r.Scores[m]; return !ok }) {
			kept = append(kept, r)
		}
	}
	return kept, models
}

// HasCosts reports whether all rows have recorded costs for all models.
func HasCosts(rows []*Row, models []string) bool {
	return !slices.ContainsFunc(rows, func(r *Row) bool {
		return slices.ContainsFunc(models, func(m string) bool { _, ok := r.Costs[m]; return !ok })
	})
}

// EvaluateChoices compares the choices for the rows of a pool with fixed choices. It returns false for fewer than two
// models or too few prompts.
func EvaluateChoices(name string, rows []*Row, models []string, choices []Chosen) (AutoResult, bool) {
	if len(models) < 2 || len(rows) < minPrompts {
		return AutoResult{}, false
	}
	result := AutoResult{Name: name, Prompts: len(rows), Models: models, Recorded: HasCosts(rows, models)}
	quality := column(rows, models, func(r *Row) map[string]float64 { return r.Scores })
	cost := make([][]float64, len(rows))
	picked := make([]int, len(rows))
	flips, framed := 0.0, 0.0
	for i, r := range rows {
		costs := choices[i].Costs
		if result.Recorded {
			costs = r.Costs
		}
		for _, m := range models {
			cost[i] = append(cost[i], costs[m])
		}
		picked[i] = slices.Index(models, choices[i].Model)
		if choices[i].Framed {
			framed++
		}
		if choices[i].Flipped {
			flips++
		}
	}
	if framed > 0 {
		result.Flips = flips / framed
	}
	t := outcomeTable{quality, cost}
	all := make([]int, len(rows))
	for i := range all {
		all[i] = i
	}
	singles := t.singles(all)
	result.Auto = t.spend(func(i int) int { return picked[i] })
	result.Cheapest, result.Best = Spend{Cost: math.Inf(1)}, Spend{Quality: -1}
	for _, s := range singles {
		result.Random.Quality += s.quality / float64(len(singles))
		result.Random.Cost += s.cost / float64(len(singles))
		if s.cost < result.Cheapest.Cost {
			result.Cheapest = Spend{s.quality, s.cost}
		}
		if s.quality > result.Best.Quality {
			result.Best = Spend{s.quality, s.cost}
		}
	}
	result.Oracle = t.spend(func(i int) int {
		best := 0
		for k := range models {
			if quality[i][k] > quality[i][best] || quality[i][k] == quality[i][best] && cost[i][k] < cost[i][best] {
				best = k
			}
		}
		return best
	})
	result.Gain, result.Mix = t.gain(all, singles, picked)
	draw := rand.New(rand.NewPCG(seed, uint64(len(rows))))
	var gains []float64
	sample := make([]int, len(rows))
	for range samples {
		for i := range sample {
			sample[i] = draw.IntN(len(rows))
		}
		gain, _ := t.gain(sample, t.singles(sample), picked)
		gains = append(gains, gain)
	}
	slices.Sort(gains)
	result.Low, result.High = quantile(gains, 0.05), quantile(gains, 0.95)
	return result, true
}

// singles returns the mean cost and quality of each model over some rows.
func (f outcomeTable) singles(rows []int) []costPoint {
	points := make([]costPoint, len(f.quality[0]))
	n := float64(len(rows))
	for _, i := range rows {
		for k := range points {
			points[k].cost += f.cost[i][k]
			points[k].quality += f.quality[i][k]
		}
	}
	for k := range points {
		points[k].cost /= n
		points[k].quality /= n
	}
	return points
}

// gain returns the quality of the picked models minus that of the best mixture of single models at the same cost, and the quality of the
// mixture.
func (f outcomeTable) gain(rows []int, singles []costPoint, picked []int) (gain, mix float64) {
	var auto costPoint
	n := float64(len(rows))
	for _, i := range rows {
		auto.cost += f.cost[i][picked[i]]
		auto.quality += f.quality[i][picked[i]]
	}
	mix = heightAt(upperHull(singles), auto.cost/n)
	return auto.quality/n - mix, mix
}

func (f outcomeTable) spend(choose func(i int) int) Spend {
	p := f.mean(choose)
	return Spend{p.quality, p.cost}
}

// Calibration compares a model's predicted and observed success on a source.
type Calibration struct {
	Source    string  `json:"source"`
	Model     string  `json:"model"`
	Prompts   int     `json:"prompts"`
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
}

// Calibrate returns the calibration of every model on every source with predictions and enough outcomes.
func Calibrate(rows []Row, predictions Predictions) []Calibration {
	type key struct{ source, model string }
	sums := map[key]*Calibration{}
	for i := range rows {
		r := &rows[i]
		for m, p := range predictions[r.ID] {
			y, ok := r.Scores[m]
			if !ok || r.Contaminated {
				continue
			}
			c := sums[key{r.Source, m}]
			if c == nil {
				c = &Calibration{Source: r.Source, Model: m}
				sums[key{r.Source, m}] = c
			}
			c.Prompts++
			c.Predicted += p
			c.Observed += y
		}
	}
	var list []Calibration
	for _, c := range sums {
		if c.Prompts >= minPrompts {
			c.Predicted /= float64(c.Prompts)
			c.Observed /= float64(c.Prompts)
			list = append(list, *c)
		}
	}
	slices.SortFunc(list, func(a, b Calibration) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Source, b.Source))
	})
	return list
}
