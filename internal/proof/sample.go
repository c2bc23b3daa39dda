// Package proof measures the difference in quality between routed responses and baseline responses on a workspace's traffic.
package proof

import (
	"slices"
	"time"
)

// Sample is a comparison of a routed response with the baseline model's response to the same request.
type Sample struct {
	Request  string    // ID of the request whose response the client received
	Shadow   string    // ID of the shadow call's log entry
	At       time.Time // time at which the request was served
	Key      string    // ID of the API key
	Task     string    // task kind of the request
	Model    string    // name of the routed model
	Baseline string    // name of the baseline model

	// Difference is the quality of the routed response minus the quality of the baseline response, from -1 to 1. A win counts as 1, a tie
	// as 0 and a loss as -1. Hooks and checks with scores give intermediate values.
	Difference float64
	Propensity float64 // probability with which the request was chosen for comparison, above 0

	Method string // method that compared the responses: schema, tools, exact, code, hook or judge
	Reason string // explanation of the verdict
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
