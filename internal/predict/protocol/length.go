package protocol

import "slices"

// ErrorFactor is the ratio between an expected and an actual length or cost: the larger value divided by the smaller one.
type ErrorFactor struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"` // 90th percentile of the factors
}

// LengthResult compares the expected and recorded output lengths or costs of one source.
type LengthResult struct {
	Source   string      `json:"source"`
	Unit     string      `json:"unit"` // unit of the values: output tokens or dollars
	Count    int         `json:"count"`
	Constant ErrorFactor `json:"constant"` // error when a constant output length is assumed
	Expected ErrorFactor `json:"expected"` // error of the router's expectation
	// Corrected is the error of the router's expectation after correction with one response to each earlier prompt of the source.
	Corrected ErrorFactor `json:"corrected"`
}

// Factors collects error factors.
type Factors []float64

// Add adds the factor between an expected and an actual value. It ignores values that are not positive.
func (f *Factors) Add(expected, real float64) {
	if expected > 0 && real > 0 {
		*f = append(*f, max(expected/real, real/expected))
	}
}

// Error returns the median and the 90th percentile.
func (f Factors) Error() ErrorFactor {
	sorted := slices.Sorted(slices.Values(f))
	return ErrorFactor{quantile(sorted, 0.5), quantile(sorted, 0.9)}
}
