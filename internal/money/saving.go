package money

import "math"

// maxSaved is the largest share that SavedPercent returns. A comparison of estimates never justifies 100 %.
const maxSaved = 99.9

// SavedPercent returns an amount saved as a percentage of the baseline cost with one decimal. It returns nil without a baseline cost.
// Every page, export and command takes its savings from this function.
func SavedPercent(saved, baseline Amount) *float64 {
	if baseline <= 0 {
		return nil
	}
	return new(min(maxSaved, math.Round(saved.Dollars()/baseline.Dollars()*1000)/10))
}
