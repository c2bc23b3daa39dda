package protocol

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Gap measures the share of the quality gap between a weak and a strong model that is recovered by a router.
type Gap struct {
	APGR  float64 `json:"apgr"`  // mean recovered share of the gap, over all shares of calls to the strong model; 0.5 for random routing
	CPT50 float64 `json:"cpt50"` // share of calls to the strong model that recovers half the gap
	CPT80 float64 `json:"cpt80"` // share of calls to the strong model that recovers 80 % of the gap
}

const (
	thresholds = 10
	tieNoise   = 1e-9 // random noise that breaks ties independently of the prompt order
	noGap      = 1e-9
)

// point is the result of one router setting: the share of prompts sent to the strong model, and the mean score.
type point struct{ share, quality float64 }

// computeGap measures the quality for several thresholds of the predicted advantage.
func computeGap(used []outcome, draw *rand.Rand) Gap {
	strong, weak := means(used)
	if math.Abs(strong-weak) < noGap {
		return Gap{math.NaN(), math.NaN(), math.NaN()}
	}
	points := settings(used, draw)
	area, span := 0.0, 0.0
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		width := b.share - a.share
		area += width * (a.quality + b.quality - 2*weak) / 2
		span += width * (strong - weak)
	}
	return Gap{
		APGR:  area / span,
		CPT50: shareFor(points, weak+0.5*(strong-weak)),
		CPT80: shareFor(points, weak+0.8*(strong-weak)),
	}
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

// shareFor returns the share of strong calls at which the running maximum of the quality reaches the given value, with linear
// interpolation.
func shareFor(points []point, want float64) float64 {
	best := math.Inf(-1)
	risen := make([]point, len(points))
	for i, p := range points {
		best = max(best, p.quality)
		risen[i] = point{p.share, best}
	}
	last := len(risen) - 1
	for i := last; i >= 0; i-- {
		switch {
		case want < risen[i].quality:
			continue
		case i == last:
			return risen[last].share
		}
		a, b := risen[i], risen[i+1]
		return a.share + (want-a.quality)/(b.quality-a.quality)*(b.share-a.share)
	}
	return risen[0].share
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
