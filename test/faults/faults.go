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
	// Run injects the fault and returns the measured figures. It fails the test if a promise is broken.
	Run func(t *testing.T, size Size) string
}

// Cases lists the catalogue in its order.
func Cases() []Case {
	return inOrder(hostileCases(), storeCases(), accountingCases(), replicaCases(), []Case{
		{"F01", "kill -9 under load", killUnderLoad},
		{"F05", "spool full while the database is away", spoolFull},
		{"F07", "SIGTERM under load", stopUnderLoad},
		{"F10", "many parallel requests on a small budget", budgetRace},
		{"F13", "every class of failure and its cost", failedCharges},
		{"F14", "a failure after usage, and a lost hedge", paidTwice},
		{"F16", "absurd limits in requests", absurdLimits},
		{"F17", "no budget on every billable route", noBudget},
		{"F19", "failure before the first token", fallbackBeforeFirstToken},
		{"F20", "every target fails before the first token", allFail},
		{"F21", "cut after the first token", cutStream},
		{"F21r", "cut after the first token, and rescued", rescuedStream},
		{"F22", "the client leaves", clientLeaves},
		{"F23", "event streams in every form", eventCorpus},
		{"F24", "a silent provider", silentProvider},
		{"F25", "a 200 without a valid response", noAnswer},
		{"F26", "goroutines and files after mixed traffic", noLeaks},
		{"F27", "one provider down", oneDown},
		{"F28", "every provider down", allDown},
		{"F29", "429 in every form", retryAfterForms},
		{"F30", "one tenant's bad requests", badRequests},
		{"F31", "a refused credential", refusedCredential},
		{"F32", "a slow provider", slowProvider},
		{"F32m", "an upstream that misbehaves, in every way", misbehaving},
		{"F32p", "a target that refuses a prefill", prefillRefused},
		{"F33", "revocation", revocation},
		{"F38", "junk keys", junkKeys},
		{"F47", "the usual load for a long time", steadyLoad},
		{"F48", "more load than there is capacity", overload},
		{"F48k", "a flood of one key", floodOfOne},
	})
}

// inOrder joins lists of cases, sorted by their ids.
func inOrder(lists ...[]Case) []Case {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	return all
}
