// Package scenario defines the cases of the fault catalogue and the requests, load and measurements that they share.
package scenario

import (
	"testing"
)

// Size says how hard a case tries.
type Size int

// The sizes.
const (
	Fast Size = iota // a few seconds in all, on every change
	Full             // as the catalogue says
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

// Strict reports whether figures that need an idle machine are compared with the promise. The fast form runs beside other
// tests: it checks the responses and only reports the figures.
func (s Size) Strict() bool { return s == Full }
