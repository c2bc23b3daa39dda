// Package scenario defines the cases of the fault catalogue and the requests, load and measurements that they share.
package scenario

import (
	"testing"
	"time"
)

// Size determines how thorough a case is.
type Size int

// Sizes of a case.
const (
	Fast Size = iota // a few seconds, on every change
	Full             // the size that the catalogue describes
)

// Of picks the number for the size.
func (s Size) Of(fast, full int) int {
	if s == Full {
		return full
	}
	return fast
}

// Case is one fault of the catalogue.
type Case struct {
	ID   string
	Name string
	// Run injects the fault and returns the measured figures. It fails the test if a promise is broken.
	Run func(t *testing.T, size Size) string
}

// Strict reports whether figures that need an idle machine are compared with their targets. The fast form runs
// concurrently with other tests, so it only reports the figures.
func (s Size) Strict() bool { return s == Full }

// Limit returns the limit for a measured time. The fast form adds a second, because other tests use the CPU at the same time. Its
// limit detects only requests that wait for the end of a fault. The limit of the full form also detects requests that are only slow.
func (s Size) Limit(full time.Duration) time.Duration {
	if s == Full {
		return full
	}
	return full + time.Second
}
