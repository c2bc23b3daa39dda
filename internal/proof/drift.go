package proof

import (
	"slices"
	"time"
)

// QualityChange describes a change of the quality difference.
type QualityChange struct {
	At     time.Time `json:"at" doc:"Time of the first sample after the change."`
	Before Estimate  `json:"before" doc:"Difference since the previous change."`
	After  Estimate  `json:"after" doc:"Difference after the change, until the next one."`
}

// block is the number of samples after which the drift test runs again.
const block = 50

// Changes returns the changes of the mean difference, oldest first. It compares the samples before each block with the samples of the next
// 1, 2, 4 … blocks. It reports a change if the two intervals do not overlap. Both intervals are valid at any time, and the levels of all
// comparisons sum to 5 %: if the mean never changes, the probability of ever reporting a change is at most 5 %, regardless of how often the
// test runs. It sorts the samples by time and ignores invalid samples.
func Changes(samples []Sample, floor float64) []QualityChange {
	samples, floor = usable(samples, floor)
	var starts []int
	level := miss
	for start := 0; ; level /= 2 {
		next := firstChange(samples[start:], floor, level/2)
		if next == 0 {
			break
		}
		start += next
		starts = append(starts, start)
	}
	changes := make([]QualityChange, len(starts))
	for i, start := range starts {
		from, to := 0, len(samples)
		if i > 0 {
			from = starts[i-1]
		}
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		before, after := differences(samples[from:start]), differences(samples[start:to])
		changes[i] = QualityChange{
			At: samples[start].At, Before: before.estimate(-1, floor, miss), After: after.estimate(-1, floor, miss),
		}
	}
	return changes
}

// firstChange returns the index of the first sample after a change, or 0 if it finds none.
func firstChange(samples []Sample, floor, level float64) int {
	below, above := side{1, -1}, side{-1, -1}
	var blocks, windows []sequence // windows[i] contains the last 1<<i blocks
	var before []Estimate          // intervals of the samples before each block
	var all sequence
	for end := block; end <= len(samples); end += block {
		if all.n == 0 {
			before = append(before, Estimate{Low: -1, High: 1})
		} else {
			before = append(before, all.estimate(-1, floor, level/2))
		}
		latest := differences(samples[end-block : end])
		all.merge(&latest, 1)
		blocks = append(blocks, latest)
		if len(blocks) >= 1<<len(windows) {
			windows = append(windows, sequence{})
			windows[len(windows)-1].merge(&all, 1)
			windows[len(windows)-1].merge(&latest, -1) // removed here, because the loop below adds latest to every window
		}
		for i := range windows {
			first := len(blocks) - 1<<i
			windows[i].merge(&latest, 1)
			if first == 0 {
				continue
			}
			windows[i].merge(&blocks[first-1], -1)
			share := level / 2 / float64(first*(first+1)) // over all values of first, the shares sum to level/2
			if windows[i].exceeds(below, before[first].High, floor, share/2) || windows[i].exceeds(above, -before[first].Low, floor, share/2) {
				return first * block
			}
		}
	}
	return 0
}

// differences returns the sequence of the quality differences.
func differences(samples []Sample) sequence {
	var s sequence
	for i := range samples {
		s.add(samples[i].Difference, samples[i].Propensity)
	}
	return s
}

// usable returns the valid samples in chronological order, and the floor of their propensities. A floor of 0 is replaced with the
// smallest propensity.
func usable(samples []Sample, floor float64) (list []Sample, used float64) {
	list = make([]Sample, 0, len(samples))
	smallest := 1.0
	for i := range samples {
		s := &samples[i]
		inRange := s.Difference >= -1 && s.Difference <= 1 && s.Propensity > 0 && s.Propensity <= 1 // the conditions are false for NaN
		if inRange && s.Propensity >= floor {
			list = append(list, *s)
			smallest = min(smallest, s.Propensity)
		}
	}
	slices.SortStableFunc(list, func(a, b Sample) int { return a.At.Compare(b.At) })
	if floor <= 0 {
		floor = smallest
	}
	return list, floor
}
