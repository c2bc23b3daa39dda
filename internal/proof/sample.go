// Package proof measures the difference in quality between routed responses and baseline responses on a workspace's traffic.
package proof

import "time"

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
