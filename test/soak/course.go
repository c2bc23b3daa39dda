package soak

import (
	"math"
	"slices"
	"time"
)

// Course summarises how a figure changes after the warm-up of the gateway.
type Course struct {
	Early, Late float64 // medians of the first and of the last quarter
	Most        float64
	Slope       float64 // growth per minute, by least squares
	Doubt       float64 // twice the standard error of the slope, computed from means of adjacent samples
}

// samples holds a figure over time.
type samples struct {
	at    []time.Duration
	value []float64
}

func (s *samples) add(at time.Duration, value float64) {
	s.at, s.value = append(s.at, at), append(s.value, value)
}

func (s *samples) course() Course {
	n := len(s.value)
	if n == 0 {
		return Course{}
	}
	quarter := max(1, n/4)
	slope, doubt := s.slope()
	return Course{
		Early: median(s.value[:quarter]), Late: median(s.value[n-quarter:]), Most: slices.Max(s.value), Slope: slope, Doubt: doubt,
	}
}

// blocks is the number of means from which the slope is computed. Single samples are not used, because adjacent samples are not
// independent: they belong to the same garbage collection cycle.
const blocks = 12

// slope returns the growth per minute, by least squares over the means of blocks, and twice its standard error.
func (s *samples) slope() (perMinute, doubt float64) {
	x, y := s.means()
	n := float64(len(x))
	if n < 3 {
		return 0, math.Inf(1)
	}
	mx, my := mean(x), mean(y)
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	perMinute = sxy / sxx
	var rest float64
	for i := range x {
		d := y[i] - my - perMinute*(x[i]-mx)
		rest += d * d
	}
	return perMinute, 2 * math.Sqrt(rest/(n-2)/sxx)
}

// means returns the times of the blocks in minutes and their means.
func (s *samples) means() (x, y []float64) {
	size := max(1, len(s.value)/blocks)
	for from := 0; from+size <= len(s.value); from += size {
		x = append(x, (s.at[from]+s.at[from+size-1]).Minutes()/2)
		y = append(y, mean(s.value[from:from+size]))
	}
	return x, y
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
