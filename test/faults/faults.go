// Package faults is the fault catalogue as tests of the built binary: what breaks, and what must hold while it does and
// afterwards. Each case has a size: the fast form runs with every change, the full form with `make faults`.
package faults

import (
	"slices"
	"strings"
	"testing"
)

// Size says how hard a case tries.
type Size int

// The sizes.
const (
	Fast Size = iota // a few seconds in all, on every change
	Full             // as the catalogue says
)

// of picks the number for the size.
func (s Size) of(fast, full int) int {
	if s == Full {
		return full
	}
	return fast
}

// Case is one fault of the catalogue.
type Case struct {
	ID   string
	Name string
	// Run tries the fault and returns what was measured, in a few words. It fails the test where a promise is broken.
	Run func(t *testing.T, size Size) string
}

// Cases lists the catalogue in its order.
func Cases() []Case {
	return inOrder(hostile(), stores(), accountingCases(), replicaCases(), []Case{
		{"F01", "kill -9 under load", killUnderLoad},
		{"F05", "spool full while the database is away", spoolFull},
		{"F07", "SIGTERM under load", stopUnderLoad},
		{"F10", "many at once on a small budget", budgetRace},
		{"F16", "absurd limits in requests", absurdLimits},
		{"F17", "no budget on every billable route", noBudget},
		{"F19", "failure before the first token", fallbackBeforeFirstToken},
		{"F20", "every target fails before the first token", allFail},
		{"F21", "cut after the first token", cutStream},
		{"F21r", "cut after the first token, and rescued", rescuedStream},
		{"F22", "the client leaves", clientLeaves},
		{"F23", "event streams in every form", eventCorpus},
		{"F24", "a silent provider", silentProvider},
		{"F25", "a 200 that is no answer", noAnswer},
		{"F26", "goroutines and files after mixed traffic", noLeaks},
		{"F29", "429 in every form", retryAfterForms},
		{"F31", "a refused credential", refusedCredential},
		{"F33", "revocation", revocation},
		{"F38", "junk keys", junkKeys},
		{"F47", "the usual load for a long time", steadyLoad},
	})
}

// inOrder joins lists of cases, sorted by their ids.
func inOrder(lists ...[]Case) []Case {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	return all
}
