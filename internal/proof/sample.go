// Package proof measures how the quality of routed responses differs from the quality of the baseline model, on the
// traffic of a workspace.
package proof

import "time"

// Sample is one comparison of a routed response with a response of the baseline model to the same request.
type Sample struct {
	Request  string    // id of the request whose response the client received
	Shadow   string    // id of the entry of the shadow call
	At       time.Time // when the request was served
	Key      string    // id of the API key
	Task     string    // task kind of the request
	Model    string    // the routed model
	Baseline string    // the baseline model

	// Difference is the quality of the routed response minus the quality of the baseline response, from -1 to 1. A win
	// counts 1, a tie 0 and a loss -1; hooks and checks with scores give values in between.
	Difference float64
	Propensity float64 // probability with which the request was chosen for comparison, above 0

	Method string // method that compared the responses: schema, tools, exact, code, hook or judge
	Reason string // explanation of the verdict
}
