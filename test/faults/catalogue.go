// Package faults contains the fault catalogue as tests of the built binary: each case injects a fault and checks what
// must hold during and after it. Each case has two sizes: the fast form, which `make test` runs of some cases and
// `make verify` of all, and the full form of `make faults`.
package faults

import (
	"slices"
	"time"
)

// Quick reports whether `make test` runs the fast form of a case: it takes a few seconds, measures no time and does not
// depend on what else the machine does.
func Quick(id string) bool {
	return slices.Contains([]string{
		"F06", "F10", "F13", "F16", "F17", "F19", "F20", "F21", "F21r", "F22", "F23", "F25", "F29", "F32p", "F33", "F44", "F46",
		"F50", "F51", "F53", "F54", "F55", "P03c", "P13",
	}, id)
}

// Total is the time limit for the complete catalogue.
const Total = 60 * time.Minute

// Bound returns the time limit of a case in its full form. A case that exceeds the limit is ended and counts as failed. The default of two
// minutes is several times the duration of most cases. Cases that wait or repeat something have a longer limit.
func Bound(id string) time.Duration {
	long := map[string]time.Duration{
		"F01":  5 * time.Minute, // twenty kills and restarts
		"F03":  5 * time.Minute, // a minute without the database, and a minute to catch up
		"F09":  4 * time.Minute, // the case simulates two hundred power cuts
		"F15r": 4 * time.Minute, // a thousand edits
		"F34":  4 * time.Minute, // a thousand revocations
		"F36":  5 * time.Minute, // Redis is slow for three minutes
		"F47":  6 * time.Minute,
		"F48":  4 * time.Minute, // a minute of overload, with normal load before and after
		"F60":  4 * time.Minute, // a kill at every statement
		"F61":  8 * time.Minute, // the case makes two clean builds
		"F62":  6 * time.Minute, // fifty kills and restarts
	}
	if bound, ok := long[id]; ok {
		return bound
	}
	return 2 * time.Minute
}
