package replay

import "math"

// mean collects differences for their mean and its interval. The sums are Welford's: they stay exact over millions of
// small numbers, and adding in the same order gives the same result to the last bit.
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

// interval is the range in which the true mean lies in 95 of 100 cases, by the normal distribution. One value alone tells
// nothing about its neighbours.
func (m *mean) interval() (low, high float64) {
	if m.n < 2 {
		return m.average, m.average
	}
	const both = 1.959963984540054 // 97.5 % of the normal distribution lie below
	half := both * math.Sqrt(m.squares/float64(m.n-1)/float64(m.n))
	return m.average - half, m.average + half
}
