package proof

import (
	"cmp"
	"math"
	"slices"
)

// Estimate is a mean with a 95 % interval that is valid at any time: the probability that the interval ever excludes the true mean, at any
// number of samples, is at most 5 %.
type Estimate struct {
	Value float64 `json:"value" doc:"Estimated mean, weighted by the inverse of the sampling probability."`
	Low   float64 `json:"low" doc:"Lower bound of the 95 % interval, valid at any time."`
	High  float64 `json:"high" doc:"Upper bound of the 95 % interval."`
}

// miss is the maximum probability that an interval ever excludes the true mean.
const miss = 0.05

// bets defines how the capital of a sequence is divided into parts. Each part bets a constant fraction of its capital, in units of the
// largest weight. Small bets are best for many samples, large bets for few samples with little variance. The bets near 0.2 have the largest
// shares because they are best for differences of a few points.
var bets = [...]struct{ fraction, share float64 }{
	{1.8, 0.05}, {0.9, 0.1}, {0.45, 0.2}, {0.225, 0.2}, {0.1125, 0.2}, {0.05625, 0.13}, {0.028125, 0.07}, {0.0140625, 0.05},
}

// maxLoss is the largest share of the capital that a bet may lose on one sample.
const maxLoss = 0.95

// levels is the number of rounding steps per unit. Rounding limits the number of distinct samples of a sequence. Values
// are rounded down for lower bounds and up for upper bounds, so that intervals only become wider.
const levels = 4096

// sequence is a confidence sequence for the mean of bounded values that are observed with known probabilities, after
// Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2023). For each candidate mean m,
// it bets against m: the capital is a product of factors 1 + bet·u·(x-m) with u = floor/propensity, a martingale if m is the
// mean of all requests, compared or not. By Ville's inequality the capital ever exceeds 1/a with a probability of at most a.
// The zero sequence has no samples.
type sequence struct {
	n     int
	atoms []atom // atoms in sorted order, so that sums do not depend on the order of samples
}

// atom is a group of equal samples.
type atom struct {
	propensity float64
	low, high  float64 // value rounded down and up
	count      float64
}

func (s *sequence) add(value, propensity float64) {
	s.n++
	a := atom{propensity, math.Floor(value*levels) / levels, math.Ceil(value*levels) / levels, 1}
	i, found := slices.BinarySearchFunc(s.atoms, a, func(x, y atom) int {
		return cmp.Or(cmp.Compare(x.propensity, y.propensity), cmp.Compare(x.low, y.low), cmp.Compare(x.high, y.high))
	})
	if !found {
		s.atoms = slices.Insert(s.atoms, i, a)
		return
	}
	s.atoms[i].count++
}

// mean returns the weighted mean of the rounded values.
func (s *sequence) mean(rounded func(*atom) float64) float64 {
	var sum, weights float64
	for i := range s.atoms {
		a := &s.atoms[i]
		sum += a.count / a.propensity * rounded(a)
		weights += a.count / a.propensity
	}
	return sum / weights
}

// side selects the lower or the upper bound of a mean. The upper bound of a mean is the negative lower bound of the negated values.
type side struct {
	sign float64 // 1 for lower bounds, -1 for upper bounds
	low  float64 // smallest possible value of a sample multiplied by sign
}

func (d side) value(a *atom) float64 {
	if d.sign > 0 {
		return a.low
	}
	return -a.high
}

// exceeds reports whether the capital of the bets that the mean is greater than m has grown by the factor 1/level. If so, m and all smaller
// values are excluded, because the capital does not increase with m.
func (s *sequence) exceeds(d side, m, floor, level float64) bool {
	var logs [len(bets)]float64
	top := math.Inf(-1)
	for j, bet := range bets {
		logs[j] = math.Inf(-1)
		if bet.fraction*(m-d.low) <= maxLoss { // otherwise one sample could cost the bet more than maxLoss
			logs[j] = math.Log(bet.share) + s.growth(d, m, bet.fraction*floor)
		}
		top = max(top, logs[j])
	}
	if math.IsInf(top, -1) {
		return false
	}
	var capital float64
	for _, log := range logs {
		capital += math.Exp(log - top)
	}
	return top+math.Log(capital) >= -math.Log(level)
}

// growth returns the logarithm of the product of all factors 1 + bet/propensity·(x-m). It multiplies many factors before computing a
// logarithm, because sequences of scores have thousands of different values.
func (s *sequence) growth(d side, m, bet float64) float64 {
	sum, product := 0.0, 1.0
	for i := range s.atoms {
		a := &s.atoms[i]
		gain := bet / a.propensity * (d.value(a) - m)
		if a.count > 1 {
			sum += a.count * math.Log1p(gain)
			continue
		}
		if product *= 1 + gain; product < 1e-200 || product > 1e200 {
			sum += math.Log(product)
			product = 1
		}
	}
	return sum + math.Log(product)
}

// bound returns the lower bound for the mean of the values multiplied by d.sign.
func (s *sequence) bound(d side, floor, level float64) float64 {
	excluded, included := d.low, s.mean(d.value)
	for range 40 {
		middle := (excluded + included) / 2
		if s.exceeds(d, middle, floor, level) {
			excluded = middle
		} else {
			included = middle
		}
	}
	return excluded
}

// digits is the precision of reported estimates. It hides differences in the last digits between processors, so that a
// statement can be verified on another machine.
const digits = 1e6

// estimate returns the mean of values from low to 1 with its interval, which is rounded outwards. floor is the smallest propensity that the
// sampler may use. The probability that the interval ever excludes the mean is at most miss.
func (s *sequence) estimate(low, floor float64) Estimate {
	below, above := side{1, low}, side{-1, -1}
	return Estimate{
		Value: math.Round(digits*s.mean(func(a *atom) float64 { return (a.low + a.high) / 2 })) / digits,
		Low:   math.Floor(digits*s.bound(below, floor, miss/2)) / digits,
		High:  math.Ceil(digits*-s.bound(above, floor, miss/2)) / digits,
	}
}
