// Package faults contains the fault catalogue as tests of the built binary: each case injects a fault and checks what
// must hold during and after it. Each case has two sizes: the fast form, which `make test` runs of some cases and
// `make verify` of all, and the full form of `make faults`.
package faults

import (
	"slices"
	"strings"

	"fairlead.dev/test/faults/providers"
	"fairlead.dev/test/faults/replicas"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/faults/sessions"
	"fairlead.dev/test/faults/stores"
	"fairlead.dev/test/faults/streams"
)

// Quick reports whether `make test` runs the fast form of a case: it takes a few seconds, measures no time and does not
// depend on what else the machine does.
func Quick(id string) bool {
	return slices.Contains([]string{
		"F04", "F06", "F10", "F13", "F16", "F17", "F19", "F20", "F21", "F21r", "F22", "F23", "F25", "F29", "F29r", "F33", "F44", "F46",
		"F50", "F51", "F53", "F54", "F55", "F59", "P03c", "P13", "P15",
	}, id)
}

// Cases lists the catalogue in order.
func Cases() []scenario.Case {
	return sortByID(hostileCases(), stores.Cases(), replicas.AccountingCases(), replicas.Cases(), sessions.Cases(), []scenario.Case{
		{ID: "F01", Name: "kill -9 under load", Run: stores.KillUnderLoad},
		{ID: "F05", Name: "spool full during a database outage", Run: stores.SpoolFull},
		{ID: "F07", Name: "SIGTERM under load", Run: stores.StopUnderLoad},
		{ID: "F10", Name: "concurrent requests on a small budget", Run: providers.BudgetRace},
		{ID: "F13", Name: "charges for every class of failure", Run: providers.FailedCharges},
		{ID: "F14", Name: "a failure after usage", Run: providers.PaidTwice},
		{ID: "F16", Name: "absurd limits in requests", Run: providers.AbsurdLimits},
		{ID: "F17", Name: "no budget, on every billable route", Run: providers.NoBudget},
		{ID: "F19", Name: "failure before the first token", Run: streams.FallbackBeforeFirstToken},
		{ID: "F20", Name: "every target fails before the first token", Run: streams.AllFail},
		{ID: "F21", Name: "stream interrupted after the first token", Run: streams.CutStream},
		{ID: "F21r", Name: "stream interrupted after the first token, and continued", Run: streams.RescuedStream},
		{ID: "F22", Name: "client disconnect", Run: streams.ClientDisconnects},
		{ID: "F23", Name: "event streams in every framing", Run: streams.EventCorpus},
		{ID: "F24", Name: "a silent provider", Run: streams.SilentProvider},
		{ID: "F25", Name: "a 200 without a valid response", Run: streams.InvalidContent},
		{ID: "F26", Name: "goroutines and files after mixed traffic", Run: providers.NoLeaks},
		{ID: "F27", Name: "one provider down", Run: providers.OneDown},
		{ID: "F28", Name: "every provider down", Run: providers.AllDown},
		{ID: "F29", Name: "429 in every form", Run: providers.RetryAfterForms},
		{ID: "F29r", Name: "a rate limit that is used up", Run: providers.QuotaUsedUp},
		{ID: "F30", Name: "one tenant's bad requests", Run: providers.BadRequests},
		{ID: "F31", Name: "a rejected credential", Run: providers.RefusedCredential},
		{ID: "F32", Name: "a slow provider", Run: providers.SlowProvider},
		{ID: "F33", Name: "revocation", Run: providers.Revocation},
		{ID: "F38", Name: "invalid keys", Run: providers.JunkKeys},
		{ID: "F47", Name: "the standard load for a long time", Run: providers.SteadyLoad},
		{ID: "F48", Name: "a flood from one key", Run: providers.FloodOfOne},
	})
}

// sortByID joins lists of cases, sorted by their ids.
func sortByID(lists ...[]scenario.Case) []scenario.Case {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b scenario.Case) int { return strings.Compare(a.ID, b.ID) })
	return all
}
