package proof

// Difference returns the number of valid samples and the estimated quality difference, which is nil for fewer than MinSamples samples.
// Summarize reports the same difference together with other figures.
func Difference(samples []Sample) (int, *Estimate) {
	valid, floor := usable(samples, 0)
	if len(valid) < MinSamples {
		return len(valid), nil
	}
	all := differences(valid)
	e := all.estimate(-1, floor)
	return len(valid), &e
}
