package gateway

import (
	"time"

	"fairlead/internal/health"
	"fairlead/internal/route"
)

// Health knows how targets and credentials fare.
type Health interface {
	// State is what routing should know of a target.
	State(target string) route.State
	// Admit asks whether a call to the target may be made now, which may be the last that could serve the request; probe says
	// that it is the one test of an open circuit.
	Admit(target string, last bool) (probe, ok bool)
	// Pick chooses a credential that is not resting; wait tells how long all of them rest.
	Pick(provider string, credentials []string) (id string, wait time.Duration)
	// Report tells how a call went.
	Report(r health.Report)
}

// Retries keeps retries a small share of traffic.
type Retries interface {
	// Request counts one request.
	Request()
	// AllowRetry asks whether traffic leaves room for one more retry, and takes it.
	AllowRetry() bool
}
