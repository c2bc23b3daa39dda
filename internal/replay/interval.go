package replay

import "math"

// mean computes the mean of values and its confidence interval with Welford's algorithm, which is accurate even for millions of small
// values.
type mean struct {
	n       int64
	average float64
	squares float64 // sum of squared distances from the average
}

func (m *mean) add(x float64) {
	m.n++
	step := x - m.average
	m.average += step / float64(m.n)
	m.squares += step * (x - m.average)
}

// interval returns the 95 % confidence interval of the mean, based on the normal distribution. For fewer than two
// values, both bounds are the mean.
func (m *mean) interval() (low, high float64) {
	if m.n < 2 {
		return m.average, m.average
	}
	const quantile = 1.959963984540054 // 97.5th percentile of the standard normal distribution
	half := quantile * math.Sqrt(m.squares/float64(m.n-1)/float64(m.n))
	return m.average - half, m.average + half
}
