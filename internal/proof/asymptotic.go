package proof

import "math"

// Asymptotic returns the mean of n values without a known range, and a 95 % interval. If n is large, the interval is valid at any time,
// after Waudby-Smith et al., "Time-uniform central limit theory and asymptotic confidence sequences" (2024). Relative to a
// fixed-sample interval, it is narrowest at about 1,000 values.
func Asymptotic(n int64, mean, variance float64) Estimate {
	const narrowest = 1000
	tuning := (-2*math.Log(miss) + math.Log(1-2*math.Log(miss))) / narrowest
	scaled := float64(n)*tuning + 1
	half := math.Sqrt(variance * 2 * scaled / (float64(n) * float64(n) * tuning) * math.Log(math.Sqrt(scaled)/miss))
	return Estimate{Value: mean, Low: mean - half, High: mean + half}
}
